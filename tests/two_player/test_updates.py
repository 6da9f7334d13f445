"""Updates of the two players: what they share in a batch, whom they blame, and updates on groups of batches."""

import math

import pytest
import torch

from seal.two_player import (
    LOSS_NET,
    TASK_NET,
    AlternatingUpdates,
    MicroBatch,
    NotFinite,
    Plan,
    RandomStream,
    TwoPlayerOptimizer,
)
from tests.training.runs import distance, weights
from tests.two_player.test_two_player_step import batches, two_nets

BOTH = Plan([LOSS_NET, TASK_NET])


def turns_of(nets, players=(TASK_NET, LOSS_NET)):
    parameters = {TASK_NET: nets.task_net_parameters(), LOSS_NET: nets.loss_net_parameters()}
    optimizer = TwoPlayerOptimizer({name: torch.optim.SGD(parameters[name], lr=0.1) for name in players})
    return AlternatingUpdates(nets, optimizer, RandomStream(7))


def loss_of(turns, player, part, plan):
    return next(turns.losses([(player, [part])], plan)).loss


def update(turns, player, group):
    for found in turns.losses([(player, group)], BOTH):
        found.loss.backward()
        if found.completes:
            turns.optimizer.step()
            turns.optimizer.zero_grad()
    assert found.is_last
    return found.loss


@pytest.mark.parametrize(
    "order, alone, kept",
    [
        ([LOSS_NET, TASK_NET], True, True),
        ([LOSS_NET, TASK_NET], False, False),
        ([TASK_NET, LOSS_NET], True, False),
        ([LOSS_NET], True, False),
    ],
)
def test_a_graph_of_the_loss_nets_turn_is_kept_for_the_task_nets(order, alone, kept):
    part = MicroBatch(batches(1)[0], alone)
    turns = turns_of(two_nets())
    loss_of(turns, LOSS_NET, part, Plan(order))
    assert part.has_graph == part.state.logits.requires_grad == kept
    state = part.state
    loss_of(turns, TASK_NET, part, Plan(order)).backward()
    assert part.state is None and state.logits.requires_grad == kept


def test_candidates_last_until_the_task_net_is_updated():
    part, turns = MicroBatch(batches(1)[0], alone=True), turns_of(two_nets())
    update(turns, LOSS_NET, [part])
    candidates = part.candidates
    update(turns, LOSS_NET, [part])
    assert part.candidates is candidates
    update(turns, TASK_NET, [part])
    assert part.candidates is None


@pytest.mark.parametrize("player", [TASK_NET, LOSS_NET])
def test_a_group_makes_the_update_of_its_mean_loss(player):
    """Without candidates of chance: the loss-net's are those of the first batch, given to both."""
    after, losses = [], []
    whole = batches(1, rows=8)[0]
    halves = [
        {"inputs": {"features": whole["inputs"]["features"][rows]}, "gold": whole["gold"][rows]}
        for rows in (slice(4), slice(4, 8))
    ]
    for group in ([whole], halves):
        nets = two_nets()
        turns, parts = turns_of(nets), [MicroBatch(batch) for batch in group]
        with torch.no_grad():
            torch.manual_seed(5)
            drawn = nets.sample(nets.task_state(**whole))
        for place, part in enumerate(parts):
            rows = slice(8 // len(parts) * place, 8 // len(parts) * (place + 1))
            part.candidates = type(drawn)(
                **{name: value[rows] if torch.is_tensor(value) else value for name, value in vars(drawn).items()}
            )
        losses.append(float(update(turns, player, parts)))
        after.append(weights(nets))
        assert all(parameter.grad is None for parameter in nets.parameters())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert 0 < distance(after[0], weights(two_nets())) and distance(*after) < 1e-6


def test_whom_a_gradient_that_is_not_finite_is_blamed_on():
    turns = turns_of(two_nets())
    assert turns.blamed(LOSS_NET, BOTH) == [LOSS_NET]
    assert turns.blamed(TASK_NET, BOTH) == [TASK_NET, LOSS_NET]
    assert turns.blamed(TASK_NET, Plan([TASK_NET], uses_energy=False)) == [TASK_NET]
    assert turns_of(two_nets(), [TASK_NET]).blamed(TASK_NET, BOTH) == [TASK_NET]


@pytest.mark.parametrize(
    "net, what",
    [("loss_net", "loss_net's energy of the task_net's output is nan"), ("task_net", "task_net's loss is nan")],
)
def test_a_loss_net_that_diverges_shows_in_the_task_nets_loss(net, what):
    nets = two_nets()
    with torch.no_grad():
        getattr(nets, net).encoder._layers._linear_layers[0].bias.fill_(math.nan)
    with pytest.raises(NotFinite) as error:
        loss_of(turns_of(nets), TASK_NET, MicroBatch(batches(1)[0]), BOTH)
    assert (error.value.what, error.value.players) == (what, (net,))
