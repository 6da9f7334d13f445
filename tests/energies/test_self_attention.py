import math

import pytest
import torch
from torch.nn import functional as F

from seal.energies import SelfAttentionEnergy
from tests.spine import mask_of, one_hot, tag_sequence


def energy_of(num_heads=2, num_layers=1, hidden_dim=6, num_tags=4, **more):
    torch.manual_seed(0)
    energy = SelfAttentionEnergy(9, tag_sequence(num_tags), hidden_dim, num_heads, num_layers, **more).double()
    # Sharp attention: with the small start it would be close to a mean.
    with torch.no_grad():
        for layer in energy.layers:
            layer.query.weight.mul_(4)
            layer.key.weight.mul_(4)
        energy.tag_vectors.weight.mul_(2)
    return energy


def slow_energy(energy, output):
    """The printed formulas for one relaxed output `(tokens, tags)` without padding, a token and a head at a time."""
    tokens, size = len(output), energy.tag_vectors.weight.shape[0]
    rows = []
    for t in range(tokens):
        position = [0.0] * size
        for i in range(size // 2):
            angle = t / 10_000 ** (2 * i / size)
            position[i] = math.sin(angle) * math.sqrt(2 / size)
            position[size // 2 + i] = math.cos(angle) * math.sqrt(2 / size)
        rows.append(energy.tag_vectors.weight @ output[t] + torch.tensor(position, dtype=torch.double))
    for number, layer in enumerate(energy.layers):
        heads, width = layer.num_heads, size // layer.num_heads
        mixed = []
        for i in range(tokens):
            parts = []
            for h in range(heads):
                part = slice(h * width, (h + 1) * width)
                query = (layer.query.weight @ rows[i])[part]
                keys = [(layer.key.weight @ rows[j])[part] for j in range(tokens)]
                weights = [torch.exp(query @ key / math.sqrt(width)) for key in keys]
                values = [(layer.value.weight @ rows[j])[part] for j in range(tokens)]
                parts.append(sum(w * v for w, v in zip(weights, values)) / sum(weights))
            mixed.append(rows[i] + layer.out.weight @ torch.cat(parts))
        rows = mixed
        if number < len(energy.norms):
            norm = energy.norms[number]
            rows = [
                (row - row.mean()) / torch.sqrt(row.var(unbiased=False) + norm.eps) * norm.weight + norm.bias
                for row in rows
            ]
    pooled = sum(rows) / {"mean": tokens, "sum": 1}[energy.pooling]
    return (energy.direction.weight @ F.softplus(energy.output.weight @ pooled + energy.output.bias))[0]


def test_an_instance_without_a_token():
    energy, mask = energy_of(pooling="mean"), mask_of([3, 0])
    for outputs in (torch.randint(4, (2, 2, 3)), torch.full((2, 2, 3, 4), 0.25, dtype=torch.double)):
        found = energy(None, outputs, mask)
        assert torch.isfinite(found).all() and torch.equal(found[1, 0], found[1, 1])


def gradients(energy, values):
    return torch.autograd.grad(values, list(energy.parameters()), allow_unused=True)


@pytest.mark.parametrize("pooling", ["mean", "sum"])
@pytest.mark.parametrize("num_heads", [1, 2, 3])
def test_tables_equal_the_dense_path_and_the_printed_formulas(num_heads, pooling):
    energy, lengths = energy_of(num_heads, pooling=pooling), [4, 1, 3]
    mask, outputs = mask_of(lengths), torch.randint(4, (3, 5, 4))
    weights = torch.randn(3, 5, dtype=torch.double)
    dense = one_hot(outputs, 4)
    by_table, by_dense = energy(None, outputs, mask), energy(None, dense, mask)
    slow = torch.stack(
        [torch.stack([slow_energy(energy, dense[b, k, :n]) for k in range(5)]) for b, n in enumerate(lengths)]
    )
    assert by_table.std() > 1e-3
    for found in (by_table, by_dense):
        assert torch.allclose(found, slow, atol=1e-6)
    expected = gradients(energy, (slow * weights).sum())
    for found in (by_table, by_dense):
        for one, other in zip(gradients(energy, (found * weights).sum()), expected):
            assert other.abs().max() > 0 and torch.allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("pooling", ["mean", "sum"])
@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_relaxed_outputs_and_several_layers(num_layers, pooling):
    energy, lengths = energy_of(num_layers=num_layers, pooling=pooling), [4, 2]
    with torch.no_grad():
        for norm in energy.norms:
            norm.weight.normal_(mean=1.0, std=0.3)
            norm.bias.normal_(std=0.3)
    mask = mask_of(lengths)
    relaxed = torch.randn(2, 3, 4, 4, dtype=torch.double).softmax(-1)
    discrete = torch.randint(4, (2, 3, 4))
    for outputs, dense in ((relaxed, relaxed), (discrete, one_hot(discrete, 4))):
        found = energy(None, outputs, mask)
        for b, n in enumerate(lengths):
            slow = torch.stack([slow_energy(energy, dense[b, k, :n]) for k in range(3)])
            assert torch.allclose(found[b], slow, atol=1e-6)


@pytest.mark.parametrize("pooling", ["mean", "sum"])
@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("relaxed", [False, True])
def test_padding_changes_nothing(num_layers, relaxed, pooling):
    energy, lengths = energy_of(num_layers=num_layers, pooling=pooling), [5, 1, 3]
    outputs = torch.randint(4, (3, 4, 5))  # Noise at padding.
    if relaxed:
        outputs = torch.randn(3, 4, 5, 4, dtype=torch.double).softmax(-1)
    together = energy(None, outputs, mask_of(lengths))
    for b, n in enumerate(lengths):
        assert torch.allclose(together[b], energy(None, outputs[b, None, :, :n])[0])


def test_gradient_with_respect_to_relaxed_outputs():
    energy, mask = energy_of(hidden_dim=4), mask_of([3, 2])
    outputs = torch.rand(2, 2, 3, 4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda y: energy(None, y, mask), outputs)
    (gradient,) = torch.autograd.grad(energy(None, outputs, mask).sum(), outputs)
    assert gradient[1, :, 2].abs().max() == 0 < gradient[1, :, 1].abs().max()


@pytest.mark.parametrize("num_layers", [1, 2])
def test_dropout_is_one_mask_for_all_candidates(num_layers):
    energy = energy_of(num_layers=num_layers, dropout=0.5)
    tags = torch.randint(4, (1, 1, 5))
    for outputs in (tags.expand(2, 3, 5), one_hot(tags, 4).expand(2, 3, 5, 4)):
        energy.train()
        draws = [energy(None, outputs) for _ in range(5)]
        for values in draws:
            assert torch.allclose(values, values[0, 0].expand(2, 3))
        assert len({round(values[0, 0].item(), 9) for values in draws}) > 1
        energy.eval()
        assert torch.equal(energy(None, outputs), energy(None, outputs))


def test_positions_matter():
    energy = energy_of()
    outputs = torch.tensor([[[0, 1, 2, 3], [3, 1, 2, 0], [0, 2, 1, 3]]])
    values = energy(None, outputs)[0].tolist()
    assert min(abs(a - b) for i, a in enumerate(values) for b in values[:i]) > 1e-4


def test_extreme_attention_is_finite():
    energy = energy_of()
    with torch.no_grad():
        energy.layers[0].query.weight.mul_(1e3)
    values = energy(None, torch.randint(4, (2, 3, 5)), mask_of([5, 1]))
    assert torch.isfinite(values).all()
    assert all(torch.isfinite(gradient).all() for gradient in gradients(energy, values.sum()))


def test_float32_agrees_with_float64():
    energy, outputs = energy_of(), torch.randint(4, (2, 3, 5))
    exact = energy(None, outputs, mask_of([5, 3]))
    rounded = energy.float()(None, outputs, mask_of([5, 3]))
    assert rounded.dtype == torch.float and torch.allclose(rounded.double(), exact, atol=1e-5)
