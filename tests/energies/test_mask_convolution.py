import pytest
import torch
from allennlp.nn import Activation
from torch.nn import functional as F

from seal.energies import LocalEnergy, MaskConvolutionEnergy
from seal.nets.encoders import ImageConvolution
from seal.output_spaces import BinaryMask

SPACE = BinaryMask([6, 5])


def parts(seed=0, **settings):
    """The encoder and the energy of a loss-net, with two images."""
    torch.manual_seed(seed)
    encoder = ImageConvolution(3, kernel_size=3).double()
    settings = {"channels": [4], "hidden_dims": [5], "kernel_size": 3, **settings}
    energy = MaskConvolutionEnergy(3, SPACE, **settings).double()
    images = torch.randn(2, 3, 6, 5, dtype=torch.double)
    return encoder, energy, images


def test_it_is_a_net_of_image_and_mask_together():
    """The slow and obvious way: one picture of four colours, a candidate at a time."""
    encoder, energy, images = parts()
    masks = torch.rand(2, 3, 6, 5, dtype=torch.double)
    found = energy(energy.condition(encoder({"image": images})), masks)
    assert found.shape == (2, 3)
    weights = {**dict(energy.named_parameters())}
    kernel = torch.cat([encoder._convolution.weight, weights["_first.weight"]], dim=1)
    for b in range(2):
        for k in range(3):
            picture = torch.cat([images[b], masks[b, [k]]]).unsqueeze(0)
            hidden = F.silu(F.conv2d(picture, kernel, encoder._convolution.bias, padding=1))
            weight, bias = weights["_convolutions.0.weight"], weights["_convolutions.0.bias"]
            hidden = F.silu(F.conv2d(hidden, weight, bias, stride=2, padding=1)).flatten()
            hidden = F.silu(weights["_layers.0.weight"] @ hidden + weights["_layers.0.bias"])
            value = weights["_last.weight"][0] @ hidden + weights["_last.bias"][0]
            assert found[b, k].item() == pytest.approx(value.item())


def test_an_activation_of_choice():
    """Under the identity the energy is affine in the mask."""
    encoder, energy, images = parts(activation=Activation.by_name("linear")())
    condition, masks = energy.condition(encoder({"image": images})), torch.rand(2, 2, 6, 5, dtype=torch.double)
    middle = energy(condition, masks.mean(dim=1, keepdim=True)).squeeze(1)
    assert torch.allclose(middle, energy(condition, masks).mean(dim=1))
    curved = parts()[1]
    assert not torch.allclose(
        curved(condition, masks.mean(dim=1, keepdim=True)).squeeze(1), curved(condition, masks).mean(dim=1)
    )


def test_dropout_is_of_training():
    encoder, energy, images = parts(dropout=0.5)
    condition, masks = energy.condition(encoder({"image": images})), torch.rand(2, 3, 6, 5, dtype=torch.double)
    first, second = energy(condition, masks), energy(condition, masks)
    assert not torch.isclose(first, second).any()
    # The same weights without it.
    assert torch.equal(energy.eval()(condition, masks), parts()[1](condition, masks))


def test_dropout_is_one_mask_for_all_candidates_of_an_image():
    encoder, energy, images = parts(dropout=0.5)
    same_image = energy.condition(encoder({"image": images[[0, 0]]}))
    one_mask = torch.rand(1, 1, 6, 5, dtype=torch.double).expand(2, 3, 6, 5)
    first, second = energy(same_image, one_mask)
    assert torch.allclose(first, first[0].expand(3)) and torch.allclose(second, second[0].expand(3))
    assert not torch.isclose(first[0], second[0])


def test_discrete_masks_of_any_type():
    encoder, energy, images = parts()
    condition = energy.condition(encoder({"image": images}))
    masks = (torch.rand(2, 4, 6, 5) < 0.5).double()
    expected = energy(condition, masks)
    for dtype in (torch.bool, torch.long):
        assert torch.equal(energy(condition, masks.to(dtype)), expected)


def test_first_and_second_derivatives():
    encoder, energy, images = parts()
    condition = energy.condition(encoder({"image": images})).detach()
    masks = torch.rand(2, 2, 6, 5, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda y: energy(condition, y), (masks,))
    few = torch.rand(1, 1, 6, 5, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda y: energy(condition[:1], y), (few,))


def test_the_image_counts_and_each_instance_for_itself():
    encoder, energy, images = parts()
    masks = torch.rand(2, 3, 6, 5, dtype=torch.double)
    both = energy(energy.condition(encoder({"image": images})), masks)
    second = energy(energy.condition(encoder({"image": images[1:]})), masks[1:])
    assert torch.allclose(both[1:], second)
    other = energy(energy.condition(encoder({"image": images.flip(0)})), masks)
    assert not torch.allclose(both, other)


def test_a_local_energy_of_masks():
    """`local` serves masks as it is: a weight a pixel from the vectors of `image_convolution`."""
    encoder, _, images = parts()
    energy = LocalEnergy(3, SPACE).double()
    hidden, masks = encoder({"image": images}), torch.rand(2, 3, 6, 5, dtype=torch.double)
    weights = (hidden @ energy.label_embeddings.weight[0]).unsqueeze(1)
    assert torch.allclose(energy(energy.condition(hidden), masks), (weights * masks).sum(dim=(2, 3)))


def test_candidates_of_a_large_energy_differ_in_mixed_precision():
    _, energy, _ = parts()
    energy.float()
    with torch.no_grad():
        energy._last.bias.fill_(300.0)
    features, masks = energy.condition(torch.randn(2, 6, 5, 3)), torch.rand(2, 8, 6, 5).round()
    expected = energy(features, masks)
    with torch.autocast("cpu", dtype=torch.half):
        found = energy(features, masks)
    assert torch.allclose(found.diff(dim=1), expected.diff(dim=1), atol=2e-3)
    assert not torch.allclose(expected.half().diff(dim=1).float(), expected.diff(dim=1), atol=2e-3)
