import pytest
import torch
from torch.nn import functional as F

from seal.nets.encoders import FullyConvolutional, ImageConvolution


def image(height, width, batch=2):
    generator = torch.Generator().manual_seed(0)
    return {"image": torch.randn(batch, 3, height, width, generator=generator, dtype=torch.double)}


@pytest.mark.parametrize("size", [(24, 24), (9, 14), (5, 5)])
def test_a_vector_for_every_pixel(size):
    torch.manual_seed(0)
    net = FullyConvolutional([4, 5, 6], [7, 3]).double()
    hidden = net(image(*size))
    assert hidden.shape == (2, *size, 3) == (2, *size, net.get_output_dim())
    assert ImageConvolution(4).double()(image(*size)).shape == (2, *size, 4)


def test_the_layers_one_after_the_other():
    torch.manual_seed(1)
    net = FullyConvolutional([4, 5], [3], kernel_size=3).double()
    inputs = image(6, 8)
    weights = dict(net.named_parameters())
    first = F.conv2d(inputs["image"], weights["_down.0.weight"], weights["_down.0.bias"], padding=1).relu()
    second = F.conv2d(first, weights["_down.1.weight"], weights["_down.1.bias"], padding=1, stride=2).relu()
    assert second.shape[2:] == (3, 4)
    third = F.conv_transpose2d(
        second, weights["_up.0.weight"], weights["_up.0.bias"], stride=2, padding=1, output_padding=1
    ).relu()
    assert torch.allclose(net(inputs), third.permute(0, 2, 3, 1))


def test_a_pixel_is_seen_where_it_is():
    """No layer moves the picture: the vector that changes most with a pixel stands at that pixel."""
    torch.manual_seed(2)
    encoder = ImageConvolution(6).double()
    inputs = image(9, 9, batch=1)
    before = encoder(inputs)
    inputs["image"][0, :, 2, 7] += 1
    changed = (encoder(inputs) - before).abs().sum(dim=-1)[0]
    rows, columns = changed.nonzero(as_tuple=True)
    assert (rows.min(), rows.max()) == (0, 4) and (columns.min(), columns.max()) == (5, 8)
