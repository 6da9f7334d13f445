"""The joint score of candidates, the base classes of energies, and the protocols of batches of candidates."""

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

import torch
from torch import nn

from seal.common.setting_checks import require
from seal.registry import Registrable
from seal.structure.serialization import resize_buffers


class CandidateGroup(Protocol):
    """
    Candidates of a batch of instances, all of them or some, as an energy gets them. Each task has its class.

    `log_prob` is `(batch, candidates)`, in nats under the task-net, `-inf` for fillers.
    """

    log_prob: torch.Tensor

    def outputs_and_mask(self) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The candidates, `(batch or 1, candidates, ...)`, and the mask of their tokens."""


class CandidateBatch(CandidateGroup, Protocol):
    """
    All candidates of a batch of instances.

    `gold`, `(batch,)`, is the index of the gold output, -1 where it is unknown or not a candidate.
    """

    gold: torch.Tensor | None

    def parts(self) -> Sequence[CandidateGroup]:
        """The groups of candidates that energies score separately, in the order of the candidates; mostly `[self]`."""

    def with_gold(self) -> "CandidateBatch":
        """The instances to learn from. Those whose gold is not a candidate may be left out: their loss is 0."""


def has_gold(candidates: CandidateBatch) -> torch.Tensor:
    """Whether each instance's gold is a candidate, `(batch,)`."""
    return require(candidates.gold, "gold") >= 0


def log_prob_of(candidates: CandidateBatch) -> torch.Tensor:
    """The task-net's log-probability of all candidates, `(batch, candidates)`."""
    return torch.cat([part.log_prob for part in candidates.parts()], dim=1)


def mask_rule_breakers(score: torch.Tensor, broken: torch.Tensor) -> torch.Tensor:
    """
    `score`, `(batch, candidates)`, with `-inf` for each candidate that breaks rules more than another candidate of its
    instance. `broken`, `(batch, candidates)`, is the violation of each, at least 0.
    """
    broken = broken.to(score).expand_as(score).masked_fill(score.isneginf(), torch.inf)
    return score.masked_fill(broken > broken.amin(dim=1, keepdim=True), -torch.inf)


Seen = TypeVar("Seen", bound=CandidateGroup)


class CandidateEnergy(nn.Module, Registrable, Generic[Seen]):
    """
    A term of the energy of whole, discrete outputs: low is good. It has few parameters. At first all are 0, and so is
    the energy.
    """

    #: The names of parameters that are factors of a product; the gradient of the product is 0 where all of them are 0.
    factors: tuple[str, ...] = ()
    #: The names of parameters without the L2 penalty, such as the weight of a further score.
    without_prior: tuple[str, ...] = ()
    #: Whether the energy reads the task-net's log-probability of each token, which takes time to compute.
    reads_token_scores = False

    def prepare(self, gold: Seen) -> None:
        """Counts statistics of the training data. `gold` has the gold outputs as the only candidates."""

    def _load_from_state_dict(self, state_dict, prefix, *args, **kwargs) -> None:
        resize_buffers(self, state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def forward(self, candidates: Seen) -> torch.Tensor:
        """`E(x, y)` of each candidate, of a shape that broadcasts to `(batch, candidates)`."""
        raise NotImplementedError


class Features(NamedTuple):
    """
    Sparse features `f_j`. Their owners are the candidates, or parts that several candidates share, such as spans.

    # Parameters

    place : `torch.LongTensor`, `(owners, width)`
        `j`: indices into the energy's parameters, flattened and concatenated.
    value : `torch.Tensor`, `(owners, width)`, optional (default = 1)
        `f_j`. Values of an owner with equal indices are added.
    candidate, owner : `torch.LongTensor`, `(n,)`, optional
        Pairs of a candidate, numbered instance after instance, and an owner that it has. By default the owners are the
        candidates.
    """

    place: torch.Tensor
    value: torch.Tensor | None = None
    candidate: torch.Tensor | None = None
    owner: torch.Tensor | None = None


class LinearEnergy(CandidateEnergy[Seen]):
    """The base of energies that are linear in their parameters: `E(x, y) = sum_j theta_j f_j(x, y)`."""

    def features(self, candidates: Seen) -> list[Features]:
        """The features `f_j(x, y)` that may differ from 0. With an empty list the energy is 0."""
        raise NotImplementedError

    def forward(self, candidates: Seen) -> torch.Tensor:
        parameters = [parameter.flatten() for parameter in self.parameters()]
        theta = parameters[0] if len(parameters) == 1 else torch.cat(parameters)
        shape, terms = candidates.log_prob.shape, []
        for place, value, candidate, owner in self.features(candidates):
            cost = theta.index_select(0, place.flatten()).view(place.shape)
            cost = cost.sum(dim=1) if value is None else (cost * value.to(cost)).sum(dim=1)
            if candidate is not None and owner is not None:
                cost = cost.new_zeros(shape.numel()).index_add(0, candidate, cost[owner])
            terms.append(cost.view(shape))
        return sum(terms[1:], terms[0]) if terms else theta.new_zeros(1, 1)


class JointScore(nn.Module):
    """
    `score(x, y) = s log P(y|x) - sum_i E_i(x, y)` of the candidates; a softmax over them gives `q(y|x)`.

    The scale `s` is learned too. Trained nets are overconfident on their training data: `s` comes out above 1 when it
    is learned on scores of training data, and below 1 on held-out scores.
    """

    energies: Sequence[CandidateEnergy]

    def __init__(self, energies: Sequence[CandidateEnergy]) -> None:
        super().__init__()
        self.energies = cast(Any, nn.ModuleList(energies))
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, candidates: CandidateBatch) -> torch.Tensor:
        """The joint scores, `(batch, candidates)`; `-inf` for fillers."""
        scores = [self._score_group(part) for part in candidates.parts()]
        return scores[0] if len(scores) == 1 else torch.cat(scores, dim=1)

    def _score_group(self, candidates: CandidateGroup) -> torch.Tensor:
        log_prob, absent = candidates.log_prob, candidates.log_prob.isneginf()
        some_absent = bool(absent.any())
        if some_absent:
            # 0 in place of -inf, with which the scale's gradient would be NaN.
            log_prob = log_prob.masked_fill(absent, 0.0)
        # Add small tensors first: those that do not depend on the instance.
        energies = sorted((energy(candidates) for energy in self.energies), key=torch.numel)
        score = self.scale * log_prob - sum(energies)
        return score.masked_fill(absent, -torch.inf) if some_absent else score

    def probabilities(self, candidates: CandidateBatch) -> torch.Tensor:
        """`q(y|x)`: `(batch, candidates)`, each row sums to 1."""
        return self(candidates).softmax(dim=1)

    def loss(self, candidates: CandidateBatch) -> torch.Tensor:
        """
        `sum_i -log q(gold_i | x_i)` in nats, a scalar, over the instances whose gold is a candidate; weighted by
        `candidates.weights`, if there are any.
        """
        rows = has_gold(candidates).nonzero().squeeze(1)
        score, gold = self(candidates), require(candidates.gold, "gold")[rows].unsqueeze(1)
        score = score if len(rows) == len(score) else score[rows]
        losses = score.logsumexp(dim=1) - score.gather(1, gold).squeeze(1)
        weights = getattr(candidates, "weights", None)
        return (losses if weights is None else losses * weights[rows]).sum()
