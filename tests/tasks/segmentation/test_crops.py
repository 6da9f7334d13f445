import pytest
import torch

from seal.tasks.segmentation.model import CropGrid


def test_the_36_crops_of_the_protocol():
    grid = CropGrid((32, 32), (24, 24), 6)
    assert len(grid) == 36
    assert sorted({top for top, _ in grid.corners}) == [0, 2, 3, 5, 6, 8]


@pytest.mark.parametrize(
    "image, crop, per_side", [((7, 9), (4, 4), 3), ((10, 5), (3, 5), 1), ((8, 8), (8, 8), 6), ((9, 4), (8, 4), 6)]
)
def test_every_pixel_is_seen_and_means_are_those_of_its_crops(image, crop, per_side):
    grid = CropGrid(image, crop, per_side)
    assert len(set(grid.corners)) == len(grid)
    torch.manual_seed(0)
    pictures = torch.randn(2, 3, *image)
    parts = grid.cut(pictures)
    assert parts.shape == (2 * len(grid), 3, *crop)
    # Cutting and averaging gives the image back.
    assert torch.allclose(grid.mean(parts[:, 0]), pictures[:, 0], atol=1e-6)
    values = torch.randn(2 * len(grid), *crop)
    found = grid.mean(values)
    for b, y, x in ((0, 0, 0), (1, image[0] - 1, image[1] - 1), (1, image[0] // 2, image[1] // 2)):
        inside = [
            values[b * len(grid) + place, y - top, x - left]
            for place, (top, left) in enumerate(grid.corners)
            if 0 <= y - top < crop[0] and 0 <= x - left < crop[1]
        ]
        assert inside and found[b, y, x].item() == pytest.approx((sum(inside) / len(inside)).item(), abs=1e-6)


def test_more_crops_than_asked_for_where_pixels_would_be_left_out():
    assert CropGrid((9, 9), (9, 9), 1).corners == [(0, 0)]
    assert len(CropGrid((9, 9), (4, 9), 1)) == 3
