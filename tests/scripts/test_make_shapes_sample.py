"""The embedded segmentation sample: what the committed files have."""

from pathlib import Path

import numpy
import pytest
import torch

from seal.tasks.segmentation.images import read_masked_images
from seal.tasks.segmentation.mask_score import image_iou, overlap_of

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "data" / "shapes_sample"
SPLITS = ("train", "valid", "test")


@pytest.fixture(scope="module")
def sample():
    return {split: read_masked_images(str(DATA / f"{split}.npz")) for split in SPLITS}


def test_every_image_has_a_shape_and_none_comes_twice(sample):
    seen = set()
    for data in sample.values():
        assert data.images.shape[1:] == (32, 32, 3)
        shares = data.masks.reshape(len(data.masks), -1).mean(axis=1)
        assert shares.min() > 0.04 and shares.max() < 0.6
        seen.update(image.tobytes() for image in data.images)
    assert len(seen) == 120


def test_a_shape_is_whole(sample):
    """No row and no column of a convex shape has a gap."""
    for data in sample.values():
        for mask in data.masks:
            for lines in (mask, mask.T):
                starts = (numpy.diff(lines.astype(int), axis=1, prepend=0) == 1).sum(axis=1)
                assert starts.max() == 1


def test_neighbours_say_what_a_pixel_does_not(sample):
    """With the best of all thresholds for each image: warm pixels, and pixels of warm neighbourhoods."""
    data = sample["test"]
    warm = torch.tensor(data.images[..., 0].astype(float) - data.images[..., 2]).unsqueeze(1)
    around = torch.nn.functional.avg_pool2d(warm, 5, stride=1, padding=2, count_include_pad=False)
    gold, found = torch.tensor(data.masks).bool(), []
    for values in (warm, around):
        each = []
        for threshold in range(-120, 130, 10):
            intersection, union = overlap_of(values.squeeze(1) > threshold, gold)
            each.append(image_iou(intersection, union, 1.0))
        found.append(100 * torch.stack(each).amax(dim=0).mean().item())
    readme = " ".join((DATA / "README.md").read_text(encoding="utf-8").split())
    assert f"a mean IoU of {found[0]:.0f} on test, the mean of 5 x 5 pixels of {found[1]:.0f}" in readme
    assert found[0] < 60 and found[1] > found[0] + 4
