import pytest
import torch

from seal.output_spaces import CONSTANT
from seal.samplers.gradient_based_inference import BestPoint, LastPoint, Trajectory, of_each

NAN, INF = float("nan"), float("inf")
# Iterates 0 to 3 of two starts of each of two instances, with four variables: (4, 2, 2, 4).
ITERATES = torch.arange(64, dtype=torch.double).view(4, 2, 2, 4)
# (4, 2, 2)
VALUES = torch.tensor(
    [
        [[5.0, NAN], [INF, NAN]],
        [[4.0, -INF], [NAN, INF]],
        [[6.0, INF], [-INF, 2.0]],
        [[7.0, 3.0], [1.0, NAN]],
    ],
    dtype=torch.double,
)


def recorded(record, values=VALUES, outputs=ITERATES):
    asked = []

    def objective(last):
        asked.append(last)
        return values[-1]

    for now, value in zip(outputs[:-1], values[:-1]):
        record.see(now, value)
    found = record.result(outputs[-1], objective)
    assert set(found.sources) == {CONSTANT} and len(found.sources) == found.outputs.shape[1]
    assert all(torch.equal(last, outputs[-1]) for last in asked) and len(asked) == isinstance(record, BestPoint)
    return found.outputs


@pytest.mark.parametrize("structure", [(4,), (2, 2)])
def test_the_last_point_of_a_start_that_met_a_finite_objective(structure):
    outputs = ITERATES.view(4, 2, 2, *structure)
    found = recorded(LastPoint(outputs[0]), outputs=outputs)
    for instance, start in ((0, 0), (1, 1)):
        assert torch.equal(found[instance, start], outputs[3, instance, start])
    # Finite at the last iterate alone, whose objective is not asked for.
    assert found[0, 1].isnan().all() and found[1, 0].isnan().all()


def test_the_best_point_of_all_starts():
    found = recorded(BestPoint(ITERATES[0]))
    # The second is the last iterate of its first start.
    assert torch.equal(found, torch.stack([ITERATES[3, 0, 1], ITERATES[3, 1, 0]]).unsqueeze(1))
    lower = VALUES.clone()
    lower[1, 0, 0] = 2.0
    lower[2, 1, 1] = 0.5
    assert torch.equal(
        recorded(BestPoint(ITERATES[0]), lower), torch.stack([ITERATES[1, 0, 0], ITERATES[2, 1, 1]]).unsqueeze(1)
    )


def test_the_first_of_equal_points_is_the_best():
    assert torch.equal(recorded(BestPoint(ITERATES[0]), torch.zeros(4, 2, 2)), ITERATES[0][:, :1])


def test_no_point_is_the_best_where_none_is_finite():
    values = VALUES.clone()
    values[:, 1] = NAN
    found = recorded(BestPoint(ITERATES[0]), values)
    assert found[1].isnan().all() and found[0].isfinite().all()


def test_a_trajectory_in_order_filled_with_its_last_point():
    found = recorded(Trajectory(ITERATES[0], 6))
    assert found.shape == (2, 12, 4)
    steps = found.view(2, 6, 2, 4)
    for step in range(6):
        now = ITERATES[min(step, 3)]
        assert torch.equal(steps[0, step, 0], now[0, 0]) and torch.equal(steps[1, step, 1], now[1, 1])
    assert steps[0, :, 1].isnan().all() and steps[1, :, 0].isnan().all()


def test_flags_stand_over_the_variables_of_their_candidates():
    flags = torch.tensor([[True, False], [False, True]])
    chosen = torch.ones(2, 2, 3, 5) * of_each(flags, torch.ones(2, 2, 3, 5))
    assert chosen.flatten(2).sum(dim=2).tolist() == [[15, 0], [0, 15]]
