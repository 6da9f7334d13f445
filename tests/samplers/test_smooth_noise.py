import math

import pytest
import torch

from seal.samplers.perturbation import smooth_noise


@pytest.mark.parametrize("width", [0.0, 0.7, 2.0])
def test_every_pixel_is_standard_normal_and_neighbours_agree(width):
    torch.manual_seed(0)
    noise = smooth_noise(torch.zeros(2, 7, 9, dtype=torch.double), 20_000, width).flatten(0, 1)
    assert noise.shape == (40_000, 7, 9)
    # Also at the border and in the corners. The deviation of a mean of 40,000 is 0.005, of a square's 0.007.
    assert noise.mean(dim=0).abs().max() < 0.03
    assert (noise.square().mean(dim=0) - 1).abs().max() < 0.04
    for row, column, other in ((0, 0, (0, 1)), (3, 4, (5, 4)), (2, 2, (4, 5)), (6, 8, (6, 4))):
        squared = (row - other[0]) ** 2 + (column - other[1]) ** 2
        expected = math.exp(-squared / (4 * width**2)) if width else 0.0
        found = (noise[:, row, column] * noise[:, other[0], other[1]]).mean()
        # The sum over whole pixels in the place of the integral is a little off at a small width.
        assert found.item() == pytest.approx(expected, abs=0.03)


def test_fields_of_instances_differ_and_follow_the_generator():
    torch.manual_seed(3)
    one = smooth_noise(torch.zeros(2, 4, 4), 2, 1.0)
    torch.manual_seed(3)
    assert torch.equal(one, smooth_noise(torch.zeros(2, 4, 4), 2, 1.0))
    assert not torch.equal(one[0], one[1]) and not torch.equal(one[0, 0], one[0, 1])
    assert smooth_noise(torch.zeros(1, 3, 3, dtype=torch.double), 1, 1.0).dtype == torch.double
