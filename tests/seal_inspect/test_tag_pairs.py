import math

import pytest
import torch

from seal_inspect.tag_pairs import bigrams, centred, cross_hessian, pointwise_mutual_information
from tests.tasks.tagging.test_model import ENCODER, LABELS, batch_of, model_of


def energy_model(*energies, encoder=ENCODER):
    net = model_of(
        loss_net={"encoder": encoder, "energies": [{"type": "local"}, *energies]},
        sampler={"type": "discrete", "num_samples": 2},
        energy_loss={"type": "nce_ranking"},
    )
    return net.double().eval()


def parts_of(net, rows=range(3)):
    state = net.task_state(**batch_of(rows))
    with torch.no_grad():
        outputs = net.output_space.relax(state.logits, state.mask).squeeze(1)
        return net.frozen_features(state), outputs, state


def by_differences(net, features, outputs, mask, step=1e-4):
    """For one pair of words and one pair of tags at a time: `(f(+, +) - f(+, -) - f(-, +) + f(-, -)) / 4 h^2`."""
    tags = outputs.shape[-1]
    total = torch.zeros(tags, tags, dtype=torch.double)

    def energy(row, place, first, second, one, other):
        moved = outputs.clone()
        moved[row, place, first] += one
        moved[row, place + 1, second] += other
        return net.loss_net(features, moved.unsqueeze(1), mask)[row, 0]

    with torch.no_grad():
        for row in range(len(outputs)):
            for place in range(int(mask[row].sum()) - 1):
                for first in range(tags):
                    for second in range(tags):
                        signs = [(one, other) for one in (step, -step) for other in (step, -step)]
                        total[first, second] += sum(
                            math.copysign(1, one * other) * energy(row, place, first, second, one, other)
                            for one, other in signs
                        ) / (4 * step * step)
    return total


def test_of_the_linear_chain_it_is_minus_the_transitions():
    net = energy_model({"type": "linear_chain", "with_start": True})
    features, outputs, state = parts_of(net)
    found = cross_hessian(net.loss_net, features, outputs, state.mask)
    pairs = int(state.mask[:, 1:].sum())
    assert pairs == 9 < outputs.shape[0] * (outputs.shape[1] - 1)
    assert torch.allclose(found / pairs, -net.loss_net.energies[1].transitions, rtol=1e-12)
    assert all(parameter.requires_grad and parameter.grad is None for parameter in net.parameters())


@pytest.mark.parametrize(
    "energy",
    [
        {"backward": False},
        {"backward": True},
        {"backward": True, "gamma": 0.7, "word_dim": 3},
        {"with_start": False, "with_end": False},
    ],
)
def test_of_tag_language_models_against_differences(energy, monkeypatch):
    net = energy_model({"type": "tag_language_model", "embedding_dim": 4, "hidden_dim": 5, **energy})
    with torch.no_grad():
        for parameter in net.loss_net.energies[1].parameters():
            parameter.mul_(2)
    features, outputs, state = parts_of(net, [1, 2])
    expected = by_differences(net, features, outputs, state.mask)
    assert expected.abs().max() > 1e-2
    found = cross_hessian(net.loss_net, features, outputs, state.mask)
    assert torch.allclose(found, expected, atol=1e-5 * float(expected.abs().max()))
    # The result is the same in pieces, and for a single sentence without its padding.
    monkeypatch.setattr("seal_inspect.tag_pairs._COPIES", 2)
    assert torch.allclose(cross_hessian(net.loss_net, features, outputs, state.mask), found)
    alone = [parts_of(net, [row]) for row in (0, 1, 2)]
    together = parts_of(net)
    total = sum(cross_hessian(net.loss_net, part[0], part[1], part[2].mask) for part in alone)
    assert torch.allclose(cross_hessian(net.loss_net, together[0], together[1], together[2].mask), total)


def test_a_local_energy_has_no_pairs():
    net = energy_model()
    features, outputs, state = parts_of(net)
    assert not cross_hessian(net.loss_net, features, outputs, state.mask).any()
    features, outputs, state = parts_of(net, [1])
    assert not cross_hessian(net.loss_net, features, outputs[:, :1], state.mask[:, :1]).any()


def test_bigrams_by_counting():
    batch = batch_of()
    mask = batch["tokens"]["tokens"]["tokens"] > 0
    found = bigrams(batch["tags"], mask, len(LABELS))
    expected = torch.zeros(len(LABELS), len(LABELS), dtype=torch.long)
    for sentence in batch["metadata"]:
        for first, second in zip(sentence["tags"], sentence["tags"][1:]):
            expected[LABELS.index(first), LABELS.index(second)] += 1
    assert torch.equal(found, expected) and found.sum() == 9


def test_pointwise_mutual_information_by_hand():
    found = pointwise_mutual_information(torch.tensor([[6, 2], [0, 2]]))
    assert found[0].tolist() == pytest.approx([math.log(0.6 / (0.8 * 0.6)), math.log(0.2 / (0.8 * 0.4))])
    assert found[1, 0].isnan() and found[1, 1].item() == pytest.approx(math.log(0.2 / (0.2 * 0.4)))
    # Independent tags, however frequent they are.
    assert torch.allclose(pointwise_mutual_information(torch.tensor([[2, 6], [3, 9]])), torch.zeros(2, 2).double())


def test_what_centring_takes_away_is_of_single_tags_alone():
    generator = torch.Generator().manual_seed(0)
    matrix = torch.randn(4, 4, generator=generator, dtype=torch.double)
    one, other = torch.randn(2, 4, generator=generator, dtype=torch.double)
    assert torch.allclose(centred(matrix + one.unsqueeze(1) + other), centred(matrix))
    rest = matrix - centred(matrix)
    # `rest` is an outer sum: `W[a, b] + W[c, d] = W[a, d] + W[c, b]`.
    assert torch.allclose(rest[0, 0] + rest[1:, 1:], rest[0, 1:] + rest[1:, :1])
