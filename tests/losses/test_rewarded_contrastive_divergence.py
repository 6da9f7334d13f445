import math

import pytest
import torch

from seal.losses import Comparison, ContrastiveDivergenceLoss, RewardedContrastiveDivergenceLoss
from seal.output_spaces import RewardedCandidates
from seal.scores import L1Cost, OneMinusScore, TokenAccuracy
from tests.spine import mask_of, tag_sequence


def problem():
    torch.manual_seed(0)
    mask, gold = mask_of([4, 3, 2]), torch.randint(3, (3, 4))
    return {
        "gold_energy": torch.randn(3, dtype=torch.double),
        "energy": torch.randn(3, 5, dtype=torch.double),
        "gold": gold,
        "output_space": tag_sequence(3),
        "mask": mask,
    }


def candidates_of(target, labelled, gap, log_count=None):
    torch.manual_seed(1)
    return RewardedCandidates(
        torch.randint(3, (3, 5, 4)),
        log_count=log_count,
        target=target,
        labelled=torch.tensor(labelled),
        reward_gap=gap,
    )


def test_rows_with_gold_have_the_plain_loss():
    given = problem()
    candidates = candidates_of(given["gold"], [True] * 3, torch.zeros(3, 5), torch.rand(3, 5))
    plain = ContrastiveDivergenceLoss(OneMinusScore(TokenAccuracy()))(Comparison(candidates=candidates, **given))
    assert torch.equal(RewardedContrastiveDivergenceLoss()(Comparison(candidates=candidates, **given)), plain)
    chosen = RewardedContrastiveDivergenceLoss(L1Cost())(Comparison(candidates=candidates, **given))
    assert torch.equal(chosen, ContrastiveDivergenceLoss(L1Cost())(Comparison(candidates=candidates, **given)))
    assert not torch.isclose(chosen, plain).any()


def test_other_rows_have_the_reward_for_a_cost_and_ties_say_nothing():
    given = problem()
    gap = torch.tensor([[0.0] * 5, [0.1, 0.4, 0.0, 0.2, 0.3], [0.0] * 5])
    candidates = candidates_of(given["gold"], [True, False, False], gap)
    energy = given["energy"].requires_grad_()
    loss = RewardedContrastiveDivergenceLoss()(Comparison(candidates=candidates, **given))
    right = (candidates.outputs[0] == given["gold"][0]).float().mean(dim=1)
    for row, cost in ((0, 1 - right), (1, gap[1])):
        ranks = [-float(given["gold_energy"][row])] + (cost - energy[row]).tolist()
        assert float(loss[row].detach()) == pytest.approx(math.log(sum(map(math.exp, ranks))) - ranks[0], abs=1e-6)
    (gradient,) = torch.autograd.grad(loss.sum(), energy)
    assert loss[2] == 0 and not gradient[2].any() and gradient[:2].all()


def test_costs_of_rows_with_gold_have_gradients_and_rewards_have_none():
    given = problem()
    gap = torch.tensor([[0.0] * 5, [0.1] * 5, [0.2] * 5])
    candidates = candidates_of(given["gold"], [True, False, False], gap)
    relaxed = torch.nn.functional.one_hot(candidates.outputs, 3).double().requires_grad_()
    candidates.outputs = relaxed
    (gradient,) = torch.autograd.grad(
        RewardedContrastiveDivergenceLoss()(Comparison(candidates=candidates, **given)).sum(), relaxed
    )
    assert gradient[0].any() and not gradient[1:].any()
