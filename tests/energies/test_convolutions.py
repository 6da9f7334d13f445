import pytest
import torch

from seal.energies.mask_convolution import check_convolutions, convolution, initialized


@pytest.mark.parametrize("kernel_size", [1, 3, 5])
@pytest.mark.parametrize("side, stride, wanted", [(7, 1, 7), (8, 2, 4), (7, 2, 4)])
def test_a_side_is_divided_by_the_stride_and_rounded_up(kernel_size, side, stride, wanted):
    layer = convolution(3, 5, kernel_size, stride)
    assert layer(torch.randn(2, 3, side, side)).shape == (2, 5, wanted, wanted)


def test_biases_start_at_0_and_weights_within_kaimings_bound():
    torch.manual_seed(0)
    layer = convolution(3, 50, 5)
    bound = (6 / (3 * 5 * 5)) ** 0.5
    assert not layer.bias.any()
    assert 0.99 * bound < layer.weight.abs().max() <= bound
    turned = torch.nn.ConvTranspose2d(3, 4, 3)
    assert initialized(turned) is turned and not turned.bias.any()


def test_what_is_right_passes():
    check_convolutions("the net", [1, 8], 1)
