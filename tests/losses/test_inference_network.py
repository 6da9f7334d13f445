import pytest
import torch

from seal.losses import InferenceNetworkLoss, NetTerms, TaskLoss
from seal.scores import HammingCost, L1Cost
from tests.spine import mask_of, tag_sequence

DOUBLE = {"dtype": torch.double, "requires_grad": True}


def terms(supervised, energy=None, cost=None):
    return NetTerms(*(None if part is None else torch.tensor(part, **DOUBLE) for part in (supervised, energy, cost)))


def loss_and_gradients(task_net, cost_augmented, gold_energy=None, **settings):
    """The loss of the batch, and the gradient of every number there is, in the order of the arguments."""
    loss = InferenceNetworkLoss(**settings)(task_net, cost_augmented, gold_energy).mean()
    numbers = [part for net in (task_net, cost_augmented) if net is not None for part in net if part is not None]
    found = torch.autograd.grad(loss, numbers, allow_unused=True)
    return loss.item(), [None if part is None else part.tolist() for part in found]


def test_compound_by_hand():
    """Two instances; A then F^c."""
    loss, gradients = loss_and_gradients(
        terms([1.0, 2.0], [-1.0, 0.5], [9.0, 9.0]),
        terms([3.0, 0.5], [0.25, -2.0], [4.0, 1.0]),
        perceptron_weight=0.5,
        cross_entropy_weight=2.0,
        energy_weight=3.0,
    )
    first = 3 * (-4.0 + 0.25 + 0.5 * -1.0) + 2 * (1.0 + 3.0)
    second = 3 * (-1.0 - 2.0 + 0.5 * 0.5) + 2 * (2.0 + 0.5)
    assert loss == pytest.approx((first + second) / 2)
    # Half of: supervised 2, E(A) 3 * .5, its cost unused; supervised 2, E(F) 3, cost -3.
    assert gradients == [[1, 1], [0.75, 0.75], None, [1, 1], [1.5, 1.5], [-1.5, -1.5]]


def test_the_cost_augmented_network_has_a_weight_of_its_own():
    nets = terms([1.0, 2.0], [-1.0, 0.5]), terms([3.0, 0.5], [0.25, -2.0], [4.0, 1.0])
    for own in (0.0, 0.25):
        loss, gradients = loss_and_gradients(*nets, cross_entropy_weight=2.0, cost_augmented_cross_entropy_weight=own)
        energies = -4.0 + 0.25 - 1.0 + -1.0 - 2.0 + 0.5
        assert loss == pytest.approx((energies + 2 * (1.0 + 2.0) + own * (3.0 + 0.5)) / 2)
        assert gradients[0] == [1, 1] and gradients[2] == [own / 2, own / 2]


def test_one_network_is_both():
    """lambda = 0 is Tu & Gimpel (2018); above 0 it is the margin-style loss of implicit training."""
    net = terms([1.0], [-2.0], [0.5])
    assert loss_and_gradients(net, None, perceptron_weight=0.0)[0] == pytest.approx(1.0 - 0.5 - 2.0)
    loss, gradients = loss_and_gradients(net, None, perceptron_weight=0.25, cross_entropy_weight=0.0)
    assert loss == pytest.approx(-0.5 + 1.25 * -2.0) and gradients == [[0], [1.25], [-1]]


@pytest.mark.parametrize(
    "gold_energy, gradients",
    [
        # Delta - E(F) + E(gold) = 2 - 1 + gold; E(gold) - E(A) = gold - 3.
        (-5.0, [[0], [0], [0], [0], [0]]),
        (0.0, [[0], [0], [0], [1], [-1]]),
        (4.0, [[0], [0.5], [0], [1], [-1]]),
    ],
)
def test_truncation_silences_an_inactive_hinge(gold_energy, gradients):
    """The gradient is exactly 0 with truncation where there is one without."""
    nets = terms([1.0], [3.0]), terms([1.0], [1.0], [2.0])
    settings = {"perceptron_weight": 0.5, "cross_entropy_weight": 0.0}
    gold = torch.tensor([gold_energy], dtype=torch.double)
    loss, found = loss_and_gradients(*nets, gold, zero_truncation=True, **settings)
    assert loss == -max(0.0, 1.0 + gold_energy) - 0.5 * max(0.0, gold_energy - 3.0)
    assert found == gradients
    assert loss_and_gradients(*nets, **settings)[1] == [[0], [0.5], [0], [1], [-1]]


def test_the_perceptron_has_no_margin():
    net = terms([1.0], [3.0], [2.0])
    assert loss_and_gradients(net, None, margin_weight=0.0)[0] == 1.0 + 3.0
    for gold_energy, hinge in ((5.0, 2.0), (1.0, 0.0)):
        gold = torch.tensor([gold_energy], dtype=torch.double)
        loss, gradients = loss_and_gradients(net, None, gold, margin_weight=0.0, zero_truncation=True)
        assert loss == 1.0 - hinge and gradients == [[1], [1 if hinge else 0], [0]]


def test_without_energy_it_is_cross_entropy_of_both():
    assert loss_and_gradients(terms([1.0, 2.0]), terms([3.0, 5.0]))[0] == pytest.approx(5.5)
    nets = terms([1.0], [7.0]), terms([3.0], [7.0], [7.0])
    assert loss_and_gradients(*nets, energy_weight=0.0)[0] == pytest.approx(4.0)


def test_its_cost_is_that_of_the_margin():
    torch.manual_seed(0)
    space, mask, gold = tag_sequence(3), mask_of([3, 2]), torch.tensor([[0, 1, 2], [2, 0, 0]])
    outputs = torch.randn(2, 2, 3, 3).softmax(dim=-1) * mask[:, None, :, None]
    found = InferenceNetworkLoss().cost(space, outputs, gold, mask)
    assert torch.equal(found, L1Cost()(space, outputs, gold, mask))
    # A wrong token counts once in place of twice.
    chosen = InferenceNetworkLoss(HammingCost()).cost(space, outputs, gold, mask)
    assert torch.allclose(2 * chosen, found) and found.any()
    assert TaskLoss().cost(space, outputs, gold, mask) is None
