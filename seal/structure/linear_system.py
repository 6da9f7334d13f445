"""The loss of a joint score with linear energies, as products of sparse matrices."""

import warnings
from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from torch.nn import functional as F

from seal.common.setting_checks import require
from seal.structure.joint_score import CandidateBatch, Features, JointScore, LinearEnergy, has_gold


class Entries(NamedTuple):
    """The entries of a sparse matrix, `(entries,)` each."""

    row: torch.Tensor
    column: torch.Tensor
    value: torch.Tensor


class Objective:
    """
    The loss of a joint score, `sum_i -log q(gold_i | x_i)` over instances whose gold is a candidate, as a function of
    `theta`, `(size,)`: the scale, and then the parameters of the energies, flattened and concatenated.
    """

    #: The number of instances, or the sum of their weights.
    count: float

    def __init__(self, joint: JointScore) -> None:
        # The scale comes first.
        self.parameters = list(joint.parameters())
        self.size = sum(parameter.numel() for parameter in self.parameters)

    def theta(self) -> torch.Tensor:
        """The present values of the parameters, `(size,)`."""
        return torch.cat([parameter.detach().flatten() for parameter in self.parameters])

    @torch.no_grad()
    def set_theta(self, theta: torch.Tensor) -> None:
        parts = theta.split([parameter.numel() for parameter in self.parameters])
        for parameter, part in zip(self.parameters, parts):
            parameter.copy_(part.view_as(parameter))

    def loss_and_gradient(self, theta: torch.Tensor) -> tuple[float, torch.Tensor]:
        """The loss in nats, summed over instances, and its gradient, `(size,)`."""
        raise NotImplementedError


class LinearSystem(Objective):
    """
    The loss of a joint score whose energies are linear in their parameters: candidate `c` of instance `i` has the score
    `x_ic . theta`, and

    `loss = sum_i (log sum_c exp(x_ic . theta) - x_i,gold . theta)`.

    The sparse matrix `x` is computed once. Features that all candidates of an instance share do not change the loss, so
    the features of the first candidate are subtracted from each row, and few entries are left.

    # Parameters

    joint : `JointScore`
        Each of its energies is a `LinearEnergy`.
    parts : `Sequence[CandidateBatch]`
        Instances whose gold is not a candidate are left out.
    """

    def __init__(self, joint: JointScore, parts: Sequence[CandidateBatch]) -> None:
        super().__init__(joint)
        self._energies = cast(Sequence[LinearEnergy], joint.energies)
        width = max((part.log_prob.shape[1] for part in parts), default=1)
        entries, present, gold, count = [], [], [], 0
        for part in parts:
            rows, is_candidate = has_gold(part).nonzero().squeeze(1), ~part.log_prob.isneginf()
            batch_entries = self._batch_entries(part, rows)
            row = _widened(batch_entries.row, part.log_prob.shape[1], width) + count * width
            entries.append(batch_entries._replace(row=row))
            present.append(F.pad(is_candidate[rows], (0, width - is_candidate.shape[1]), value=False))
            gold.append(require(part.gold, "gold")[rows])
            count += len(rows)
        self.count = count
        if count == 0:
            return
        self._present, self._gold = torch.cat(present), torch.cat(gold).unsqueeze(1)
        row, column, value = map(torch.cat, zip(*entries))
        self._x = _sparse(row, column, value, (count * width, self.size))
        order = column.argsort(stable=True)
        self._x_transposed = _sparse(column[order], row[order], value[order], (self.size, count * width))

    def _batch_entries(self, part: CandidateBatch, rows: torch.Tensor) -> Entries:
        """The entries of these instances of a batch; rows are numbered from 0, candidate after candidate."""
        batch, candidates = part.log_prob.shape
        log_prob = part.log_prob.masked_fill(part.log_prob.isneginf(), 0.0).reshape(-1, 1)
        entries, start = (
            [_candidate_entries(Features(torch.zeros_like(log_prob).long(), log_prob), candidates, rows)],
            1,
        )
        for energy in self._energies:
            for features in energy.features(part):
                if features.owner is None:
                    row, column, value = _candidate_entries(features, candidates, rows)
                else:
                    row, column, value = _owner_entries(features, candidates, rows, batch)
                entries.append(Entries(row, column + start, -value))
            start += sum(parameter.numel() for parameter in energy.parameters())
        row, column, value = map(torch.cat, zip(*entries))
        place, inverse = (row * self.size + column).unique(return_inverse=True)
        value = torch.zeros(len(place), dtype=value.dtype).index_add(0, inverse, value)
        place, value = place[value != 0], value[value != 0]
        return Entries(place // self.size, place % self.size, value)

    def theta(self) -> torch.Tensor:
        return super().theta().double()

    def loss_and_gradient(self, theta: torch.Tensor) -> tuple[float, torch.Tensor]:
        score = (self._x @ theta.unsqueeze(1)).view(self._present.shape)
        score = score.masked_fill(~self._present, -torch.inf)
        log_sum = score.logsumexp(dim=1, keepdim=True)
        loss = float((log_sum - score.gather(1, self._gold)).sum())
        by_score = (score - log_sum).exp()
        by_score.scatter_add_(1, self._gold, torch.full_like(log_sum, -1.0))
        return loss, (self._x_transposed @ by_score.view(-1, 1)).squeeze(1)


def _candidate_entries(features: Features, candidates: int, rows: torch.Tensor) -> Entries:
    """The entries of features whose owners are the candidates, minus those of the first candidate."""
    place = features.place.view(-1, candidates, features.place.shape[1])[rows]
    value = torch.ones(()) if features.value is None else features.value.view(-1, *place.shape[1:])[rows]
    value = value.double().expand(place.shape)
    # Most entries are those of the first candidate, too.
    differs = ((place != place[:, :1]) | (value != value[:, :1])).nonzero(as_tuple=True)
    instance, candidate, number = differs
    first = instance, torch.zeros_like(candidate), number
    row = instance * candidates + candidate
    return Entries(row.repeat(2), torch.cat([place[differs], place[first]]), torch.cat([value[differs], -value[first]]))


def _owner_entries(features: Features, candidates: int, rows: torch.Tensor, batch: int) -> Entries:
    """`_candidate_entries` for features whose owners several candidates may share."""
    number = torch.full((batch,), -1).index_put((rows,), torch.arange(len(rows)))
    instance = number[require(features.candidate, "candidate") // candidates]
    pairs = (instance >= 0).nonzero().squeeze(1)
    instance, owner = instance[pairs], require(features.owner, "owner")[pairs]
    candidate = require(features.candidate, "candidate")[pairs] % candidates
    first = (candidate == 0).nonzero().squeeze(1)
    first_rows = instance[first].unsqueeze(1) * candidates + torch.arange(candidates)
    row = torch.cat([instance * candidates + candidate, first_rows.flatten()])
    owner = torch.cat([owner, owner[first].repeat_interleave(candidates)])
    sign = torch.ones(len(row), dtype=torch.double).index_fill(0, torch.arange(len(pairs), len(row)), -1)
    # Owners that a candidate shares with the first one cancel.
    code, inverse = (row * len(features.place) + owner).unique(return_inverse=True)
    sign = torch.zeros(len(code), dtype=sign.dtype).index_add(0, inverse, sign)
    code, sign = code[sign != 0], sign[sign != 0].unsqueeze(1)
    owner = code % len(features.place)
    place = features.place[owner]
    value = sign.expand(place.shape) if features.value is None else sign * features.value[owner]
    return Entries((code // len(features.place)).repeat_interleave(place.shape[1]), place.flatten(), value.flatten())


def _sparse(row: torch.Tensor, column: torch.Tensor, value: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """A sparse matrix of entries with ascending rows. Its products take a third of the time of `index_add`."""
    ends = torch.bincount(row, minlength=size[0]).cumsum(0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(
            torch.cat([ends.new_zeros(1), ends]), column, value, size=size, check_invariants=True
        )


def _widened(row: torch.Tensor, before: int, after: int) -> torch.Tensor:
    """Renumbers candidates, for `after` candidates in each instance in place of `before`."""
    return row // before * after + row % before
