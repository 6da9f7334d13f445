"""The loss of a joint score over known label sets and its gradient, by two matrix products for each evaluation."""

from typing import Any, cast

import torch

from seal.common.setting_checks import require
from seal.structure.energies.labels import LabelSetEnergy, Terms
from seal.structure.fitting import BatchObjective
from seal.structure.joint_score import JointScore
from seal.structure.label_sets import LabelSetCandidates


class LabelSetObjective(BatchObjective):
    """
    `sum_i w_i (log sum_y exp score(x_i, y) - score(x_i, gold_i))` over instances whose gold is a candidate, with the
    weights `w_i` of the instances. The scores of an instance are

    `score(x, y) = sum_l y_l u_l(x) + v(y) + sum_k c_k M_k(x, y) + [y = gold] g(x)`,

    where `u`, `v`, `c` and `g` are small and depend on the parameters (`Terms`). The gradients of the loss with respect
    to them are sums of `q(y|x) - [y = gold]`: for `u_l` it is `sum_y q(y|x) y_l - gold_l`. Each evaluation computes the
    scores of all sets once, and autograd keeps no tensor of that size.

    # Parameters

    joint : `JointScore`
        All of its energies are `LabelSetEnergy`.
    parts : `Sequence[LabelSetCandidates]`
        Batches without likely sets.
    """

    def _weight(self, part: LabelSetCandidates) -> float:
        return part.total_weight()

    def _loss(self, part: LabelSetCandidates) -> torch.Tensor:
        return loss_of_gold(terms_of(self._joint, part), part)


def is_factored(joint: JointScore) -> bool:
    """Whether all energies are `LabelSetEnergy`, as `LabelSetObjective` needs."""
    return all(isinstance(energy, LabelSetEnergy) for energy in joint.energies)


def terms_of(joint: JointScore, candidates: LabelSetCandidates) -> Terms:
    """The `Terms` of the joint score, without `s log Z`, which all sets of a row share."""
    terms = Terms(labels=joint.scale * candidates.logits)
    for energy in joint.energies:
        terms = terms + cast(LabelSetEnergy, energy).terms(candidates)
    return terms


def loss_of_gold(terms: Terms, candidates: LabelSetCandidates) -> torch.Tensor:
    """The loss of instances whose gold is a candidate, in nats: a scalar with gradient."""
    matrices = [matrix for _, matrix in terms.matrices]
    factors = [factor for factor, _ in terms.matrices]
    zero = candidates.logits.new_zeros(())
    return _LossOfGold.apply(
        candidates,
        matrices,
        require(terms.labels, "labels"),
        zero if terms.sets is None else terms.sets,
        zero if terms.gold is None else terms.gold,
        *factors,
    )


class _LossOfGold(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, candidates: LabelSetCandidates, matrices, labels, sets, of_gold, *factors) -> torch.Tensor:
        gold = require(candidates.gold, "gold").unsqueeze(1)
        score = labels @ candidates.sets.T
        score += sets
        for factor, matrix in zip(factors, matrices):
            score.addcmul_(factor, matrix)
        if of_gold.dim():
            score.scatter_add_(1, gold, of_gold.unsqueeze(1))
        log_sum = score.logsumexp(dim=1, keepdim=True)
        losses = (log_sum - score.gather(1, gold)).squeeze(1)
        if candidates.weights is not None:
            losses = losses * candidates.weights
        # q(y|x) - [y = gold], in place
        by_score = score.sub_(log_sum).exp_()
        by_score.scatter_add_(1, gold, torch.full_like(log_sum, -1.0))
        if candidates.weights is not None:
            by_score *= candidates.weights.unsqueeze(1)
        ctx.gradients = (
            by_score @ candidates.sets,
            by_score.sum(dim=0) if sets.dim() else None,
            by_score.gather(1, gold).squeeze(1) if of_gold.dim() else None,
            *((by_score * matrix).sum() for matrix in matrices),
        )
        return losses.sum()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor):
        return None, None, *(None if one is None else gradient * one for one in ctx.gradients)
