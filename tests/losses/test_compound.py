import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from seal.losses import Comparison, CompoundLoss, EnergyLoss
from seal.output_spaces import Candidates
from tests.losses.test_margin import FixedCost
from tests.spine import all_sequences, one_hot, tag_sequence


def compound(gold_energy, energy, costs, log_count=None, **settings):
    """One instance: its loss, and the gradient of every energy, gold's first."""
    energies = torch.tensor([gold_energy, *energy], dtype=torch.double, requires_grad=True)
    candidates = Candidates(torch.zeros(1, len(energy), 2, dtype=torch.long), log_count=log_count)
    gold = torch.zeros(1, 2, dtype=torch.long)
    loss = CompoundLoss(FixedCost(*costs), **settings)(
        Comparison(energies[None, 0], energies[None, 1:], candidates, gold, tag_sequence(2))
    )
    assert loss.shape == (1,)
    return loss.item(), torch.autograd.grad(loss.sum(), energies)[0].tolist()


@pytest.mark.parametrize(
    "energy, loss, gradient",
    [
        # Both hinges at work: .4 + .2 - 1 + ... by hand: [.4 + .2 - 1]_+ = 0 and [-1 + 1.5]_+ = .5.
        ((-0.2, -1.5), 0.0 + 2 * 0.5, [2, 0, -2]),
        # [.4 + .9 - 1]_+ = .3 and [-1 + .5]_+ = 0.
        ((-0.9, -0.5), 0.3, [1, -1, 0]),
        # .3 and .5.
        ((-0.9, -1.5), 0.3 + 2 * 0.5, [3, -1, -2]),
        ((-0.1, -0.5), 0.0, [0, 0, 0]),
    ],
)
def test_two_networks_by_hand(energy, loss, gradient):
    # The cost of the second plays no part: 7 would open every hinge.
    value, found = compound(-1.0, energy, (0.4,), perceptron_weight=2.0, separate=True)
    assert value == pytest.approx(loss) and found == gradient


def test_one_network_enters_both_hinges():
    # [.4 + 1.2 - 1]_+ + .5 [1.2 - 1]_+
    value, gradient = compound(-1.0, [-1.2], (0.4,), perceptron_weight=0.5)
    assert value == pytest.approx(0.6 + 0.5 * 0.2) and gradient == [1.5, -1.5]
    # A draw counts as often as it was made.
    log_count = torch.tensor([[3.0]], dtype=torch.double).log()
    value, gradient = compound(-1.0, [-1.2], (0.4,), log_count, perceptron_weight=0.5)
    assert value == pytest.approx(3 * 0.7) and gradient == pytest.approx([4.5, -4.5])


def test_with_exact_inference_it_is_eq_5():
    """`max_y [Delta - E + E_gold]_+ + lambda max_y [-E + E_gold]_+` over all outputs there are."""
    torch.manual_seed(0)
    space, gold = tag_sequence(3), torch.tensor([[0, 1, 2]])
    outputs, energy = all_sequences(3, 3), torch.randn(27, dtype=torch.double)
    index = (outputs == gold).all(dim=1).nonzero().item()
    cost = 2.0 * (outputs != gold).sum(dim=1)
    best = [(energy - cost).argmin().item(), energy.argmin().item()]
    chosen = Candidates(one_hot(outputs[best], 3)[None])
    loss = CompoundLoss(perceptron_weight=0.7, separate=True)(
        Comparison(energy[index][None], energy[best][None], chosen, gold, space)
    )
    wanted = (cost - energy + energy[index]).max() + 0.7 * (energy[index] - energy).max()
    assert loss.item() == pytest.approx(wanted.item())


@pytest.mark.parametrize("settings, word", [({"perceptron_weight": -1}, "perceptron_weight")])
def test_bad_settings(settings, word):
    with pytest.raises(ConfigurationError, match=word):
        EnergyLoss.from_params(Params({"type": "compound", **settings}))


def test_two_networks_make_two_candidates():
    with pytest.raises(ConfigurationError, match="two candidates.*gives 3"):
        compound(-1.0, [0.0, 0.0, 0.0], (0.4,), separate=True)


def test_counts_of_two_candidates():
    """Each hinge has the count of its own candidate: 3 times .3 and 2 times .5."""
    log_count = torch.tensor([[3.0, 2.0]], dtype=torch.double).log()
    value, gradient = compound(-1.0, (-0.9, -1.5), (0.4,), log_count, perceptron_weight=2.0, separate=True)
    assert value == pytest.approx(3 * 0.3 + 2 * 2 * 0.5) and gradient == pytest.approx([7, -3, -4])
