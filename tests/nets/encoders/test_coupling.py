import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from torch.nn import functional as F

from scripts.measure.configs import library_value
from seal.nets import Encoder
from seal.nets.encoders import CouplingConvolution, FullyConvolutional
from tests.nets.encoders.test_image import image


def started(net):
    """A net in double precision, none of whose layers is zero."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 8)
    return net.double()


@pytest.mark.parametrize("size", [(24, 24), (9, 14), (5, 5), (1, 3)])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_vector_for_every_pixel(size, levels):
    net = started(CouplingConvolution(4, 5, levels, depth=1))
    hidden = net(image(*size))
    assert hidden.shape == (2, *size, 4) == (2, *size, net.get_output_dim())


def squeezed(hidden):
    """A squeeze of 2 x 2 pixels, pixel by pixel: the four of a channel come one after the other."""
    batch, channels, height, width = hidden.shape
    result = hidden.new_zeros(batch, 4 * channels, height // 2, width // 2)
    for place in range(4):
        result[:, place::4] = hidden[:, :, place // 2 :: 2, place % 2 :: 2]
    return result


def unfolded(hidden):
    batch, channels, height, width = hidden.shape
    result = hidden.new_zeros(batch, channels // 4, 2 * height, 2 * width)
    for place in range(4):
        result[:, :, place // 2 :: 2, place % 2 :: 2] = hidden[:, place::4]
    return result


def test_the_layers_one_after_the_other():
    net = started(CouplingConvolution(2, 3, levels=2, depth=1))
    weights = dict(net.named_parameters())

    def convolved(hidden, name, padding=1):
        return F.conv2d(hidden, weights[f"{name}.weight"], weights[f"{name}.bias"], padding=padding)

    def step(hidden, name):
        inside = convolved(convolved(hidden, f"{name}.0._first").relu(), f"{name}.0._second", padding=0).relu()
        return hidden + convolved(inside, f"{name}.0._last")

    inputs = image(8, 4)
    first = step(squeezed(convolved(inputs["image"], "_first")), "_there.0")
    on, waiting = first[:, :4], first[:, 4:]
    last = step(squeezed(on), "_there.1")
    assert last.shape == (2, 16, 2, 1)
    back = torch.cat([unfolded(step(last, "_back.1")), waiting], dim=1)
    expected = unfolded(step(back, "_back.0")).permute(0, 2, 3, 1)
    assert torch.allclose(net(inputs), expected)


def test_a_new_net_is_its_first_convolution():
    """Each step begins at zero, and what is squeezed and split comes back to its place."""
    torch.manual_seed(0)
    net = CouplingConvolution(4, 5).double()
    weights = dict(net.named_parameters())
    for height, width in ((16, 16), (11, 6)):
        inputs = image(height, width)
        first = F.conv2d(inputs["image"], weights["_first.weight"], weights["_first.bias"], padding=1)
        assert torch.allclose(net(inputs), first.permute(0, 2, 3, 1))


def test_a_pixel_sees_the_whole_image():
    net = started(CouplingConvolution(4, 5))
    inputs = image(32, 32, batch=1)
    inputs["image"].requires_grad_(True)
    net(inputs)[0, 0, 0].sum().backward()
    assert inputs["image"].grad[0].abs().sum(0)[-4:, -4:].gt(0).all()


@pytest.mark.parametrize(
    "net",
    [CouplingConvolution(4, 5, dropout=0.5), FullyConvolutional([4, 5], [3], dropout=0.5)],
    ids=lambda net: type(net).__name__,
)
def test_dropout_is_in_training_only(net):
    net, inputs = started(net), image(8, 8)
    assert not torch.equal(net(inputs), net(inputs))
    net.eval()
    assert torch.equal(net(inputs), net(inputs))


@pytest.mark.parametrize(
    "params",
    [
        {"type": "coupling_convolution", "channels": 2, "width": 2, "levels": 1},
        {"type": "fully_convolutional", "channels": [2, 2], "up_channels": [2]},
    ],
    ids=lambda params: params["type"],
)
def test_second_derivatives_with_a_smooth_activation(params):
    net = started(Encoder.from_params(Params({**params, "activation": "softplus"})))
    pixels = image(4, 4, batch=1)["image"].requires_grad_(True)
    assert torch.autograd.gradgradcheck(lambda x: net({"image": x}).square().sum(), (pixels,))


@pytest.mark.parametrize(
    "net, millions",
    [
        (CouplingConvolution, 2.12),
        (lambda: CouplingConvolution(width=256, depth=8), 36.21),
        (FullyConvolutional, 1.23),
    ],
)
def test_the_sizes_that_the_documents_name(net, millions):
    assert round(sum(parameter.numel() for parameter in net().parameters()) / 1e6, 2) == millions


def test_a_config_chooses_it_in_one_line():
    call = "lib.experiment(lib.data.weizmann, lib.encoder.coupling(width=8), lib.method.%s(), { crops: false })"
    config = library_value("segmentation.libsonnet", call % "cross_entropy")
    settings = config["model"]["task_net"]["encoder"]
    assert settings == {
        "type": "coupling_convolution", "channels": 16, "width": 8, "levels": 3, "depth": 2, "dropout": 0,
        "activation": "relu",
    }  # fmt: skip
    assert isinstance(Encoder.from_params(Params(dict(settings))), CouplingConvolution)
    assert library_value("segmentation.libsonnet", call % "implicit_cd")["model"]["task_net"]["encoder"] == {
        **settings, "activation": "swish"
    }  # fmt: skip


@pytest.mark.parametrize("size, most", [((1, 3), 3), ((8, 4), 3), ((9, 2), 4), ((16, 16), 4), ((17, 30), 5)])
def test_an_image_is_not_mostly_what_it_is_filled_up_with(size, most):
    assert CouplingConvolution(2, 1, most, depth=1)(_plain(*size)).shape == (1, *size, 2)
    with pytest.raises(ConfigurationError, match=f"encoder.levels: {most + 1} .*{size[0]} x {size[1]} .*{most}"):
        CouplingConvolution(2, 1, most + 1, depth=1)(_plain(*size))


def _plain(height, width):
    return {"image": torch.zeros(1, 3, height, width)}
