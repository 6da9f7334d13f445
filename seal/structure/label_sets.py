import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import torch
from torch.nn import functional as F

from seal.common.setting_checks import require
from seal.structure.k_best_sets import k_best_sets


@dataclass
class ClassifierScores:
    """
    What a structure chooses by.

    # Parameters

    logits : `torch.Tensor`, `(rows, labels)`
        Log-odds of each label.
    classes : `torch.Tensor`, `(classes, labels)`, optional
        0 or 1: label sets of which a classifier of whole sets has given probabilities.
    log_prob : `torch.Tensor`, `(rows, classes)`, optional
        In nats; NaN where the classifier that has not seen the row does not know the set.
    labels : `torch.Tensor`, `(rows, labels)`, optional
        Boolean: what the classifier itself predicts, by its own threshold or rule.
    """

    logits: torch.Tensor
    classes: torch.Tensor | None = None
    log_prob: torch.Tensor | None = None
    labels: torch.Tensor | None = None

    @classmethod
    def of(cls, scores: "torch.Tensor | ClassifierScores") -> "ClassifierScores":
        return scores if isinstance(scores, ClassifierScores) else cls(scores)

    def __len__(self) -> int:
        return len(self.logits)

    def __getitem__(self, rows: torch.Tensor) -> "ClassifierScores":
        log_prob, labels = (None if value is None else value[rows] for value in (self.log_prob, self.labels))
        return ClassifierScores(self.logits[rows], self.classes, log_prob, labels)

    def split(self, size: int) -> "list[ClassifierScores]":
        return [self[rows] for rows in torch.arange(len(self), device=self.logits.device).split(size)]

    def of_sets(self, sets: torch.Tensor) -> torch.Tensor | None:
        """`log_prob` of these sets, `(sets, labels)`: `(rows, sets)`, NaN of those that are no class."""
        if self.classes is None or self.log_prob is None:
            return None
        place = SetIndex(self.classes).of(sets).to(self.log_prob.device)
        return self.log_prob[:, place].masked_fill(place < 0, torch.nan)


@dataclass
class LabelSetCandidates:
    """
    Label sets that compete: known ones, the same for all instances, and of each instance those that are likely.

    # Parameters

    logits : `torch.Tensor`, `(batch, labels)`
        The task-net's log-odds of each label.
    sets : `torch.Tensor`, `(candidates, labels)`
        The known ones, 0 or 1, floating.
    counts : `torch.Tensor`, `(candidates,)`
        How often each known set occurs in the training data.
    gold : `torch.LongTensor`, `(batch,)`, optional
        The index of each instance's gold set, -1 where it does not compete; likely sets come after the known ones.
    own : `int` or `torch.Tensor`, `(batch,)`, optional (default = `0`)
        How many of the occurrences of each instance's gold are its own, at least 1 in training data: its own row, and
        those of its group. They are left out: gold counts so many less, and gold that occurs nowhere else is not known.
    likely : `LikelySets`, optional
    set_log_prob : `torch.Tensor`, `(batch, candidates)`, optional
        Of the known sets, by a classifier of whole sets; NaN of those that it does not know.
    weights : `torch.Tensor`, `(batch,)`, optional
        How often each instance counts in the loss.
    """

    logits: torch.Tensor
    sets: torch.Tensor
    counts: torch.Tensor
    gold: torch.Tensor | None = None
    own: int | torch.Tensor = 0
    likely: "LikelySets | None" = None
    set_log_prob: torch.Tensor | None = None
    weights: torch.Tensor | None = None
    #: Whether the training data have none of them, the instance itself left out.
    unseen = False

    def __post_init__(self) -> None:
        dropped = None
        if self.is_own:
            gold = require(self.gold, "gold")
            alone = (gold >= 0) & (self.counts[gold] <= self.own)
            dropped = torch.where(alone, gold, -1)
            self.gold = torch.where(alone, -1, gold)
        # log P(y|x) = sum_l y_l z_l - softplus(z_l)
        self.log_prob = self.product(self.logits) - F.softplus(self.logits).sum(dim=1, keepdim=True)
        if dropped is not None:
            rows = (dropped >= 0).nonzero().squeeze(1)
            self.log_prob[rows, dropped[rows]] = -torch.inf
        if self.likely is not None:
            self.likely.leave_out_known(dropped)
            if self.gold is not None:
                place = self.likely.gold_place()
                self.gold = torch.where((self.gold < 0) & (place >= 0), len(self.sets) + place, self.gold)

    @property
    def is_own(self) -> bool:
        """Whether the instances are training data."""
        return isinstance(self.own, torch.Tensor) or self.own > 0

    def parts(self) -> "list[AnyLabelSets]":
        """The known sets and the likely ones, which energies see apart."""
        return [self] if self.likely is None else [self, self.likely]

    def outputs(self, index: torch.Tensor) -> torch.Tensor:
        """The sets with the indices `(batch, some)`: `(batch, some, labels)`."""
        if self.likely is None:
            return self.sets[index]
        known = index < len(self.sets)
        found = self.sets[torch.where(known, index, 0)]
        rows, places = (~known).nonzero(as_tuple=True)
        found[rows, places] = self.likely.sets[rows, index[rows, places] - len(self.sets)]
        return found

    def marginals(self, q: torch.Tensor) -> torch.Tensor:
        """`sum_y q(y|x) y_l`: `(batch, candidates)` to `(batch, labels)`."""
        found = q[:, : len(self.sets)] @ self.sets
        if self.likely is not None:
            found = found + (q[:, len(self.sets) :].unsqueeze(1) @ self.likely.sets).squeeze(1)
        return found.clamp(0, 1)

    def expected_f1(self, q: torch.Tensor, empty_f1: float) -> torch.Tensor:
        """
        `sum_y' q(y'|x) 2 |y & y'| / (|y| + |y'|)` of each candidate `y`, over all candidates `y'`: `(batch,
        candidates)`. The sets of `s` labels enter by `m_s = sum_{|y'| = s} q(y'|x) y'` alone, as

        `sum_y' ... = sum_s 2 / (|y| + s) sum_l y_l m_sl`

        (Ye et al. 2012), so that it costs about two products of all instances with all sets.

        # Parameters

        q : `torch.Tensor`, `(batch, candidates)`
        empty_f1 : `float`
            The F1 of two empty sets.
        """
        known = len(self.sets)
        order = self.sizes().argsort(stable=True)
        sets, sizes, of_known = self.sets[order], self.sizes()[order], q[:, order]
        every = sizes if self.likely is None else torch.cat([sizes, self.likely.sizes().flatten()])
        distinct = every.unique()
        ends = torch.searchsorted(sizes, distinct, right=True).tolist()
        groups = [slice(start, end) for start, end in zip([0, *ends], ends)]
        # shape: (batch, sizes, labels)
        sums = torch.stack([of_known[:, group] @ sets[group] for group in groups], dim=1)
        if self.likely is not None:
            place = torch.searchsorted(distinct, self.likely.sizes())
            weighted = q[:, known:].unsqueeze(2) * self.likely.sets
            sums.scatter_add_(1, place.unsqueeze(2).expand_as(weighted), weighted)
        total = distinct.unsqueeze(1) + distinct
        sums = torch.einsum("as,bsl->bal", 2 / total.clamp(min=1).to(sums), sums)
        expected = torch.empty_like(q)
        expected[:, order] = torch.cat([sums[:, a] @ sets[group].T for a, group in enumerate(groups)], dim=1)
        empty = F.pad(self.sizes() == 0, (0, q.shape[1] - known)).expand_as(q)
        if self.likely is not None:
            rows = torch.arange(len(q), device=q.device).unsqueeze(1)
            expected[:, known:] = (sums[rows, place] * self.likely.sets).sum(dim=2)
            empty = torch.cat([empty[:, :known], self.likely.sizes() == 0], dim=1)
        return expected + empty * empty_f1 * (q * empty).sum(dim=1, keepdim=True)

    def outputs_and_mask(self) -> tuple[torch.Tensor, None]:
        """What constraints are asked about, the same for all instances."""
        return self.sets.unsqueeze(0), None

    def with_gold(self) -> "LabelSetCandidates":
        """The instances whose gold competes."""
        gold = require(self.gold, "gold")
        rows = (gold >= 0).nonzero().squeeze(1)
        if len(rows) == len(gold):
            return self
        some = copy.copy(self)
        for name in ("log_counts", "log_counts_of_gold", "known_set_log_prob"):
            some.__dict__.pop(name, None)
        some.logits, some.gold, some.log_prob = self.logits[rows], gold[rows], self.log_prob[rows]
        some.own = self.own[rows] if isinstance(self.own, torch.Tensor) else self.own
        some.likely = None if self.likely is None else self.likely.of_rows(rows)
        some.set_log_prob = None if self.set_log_prob is None else self.set_log_prob[rows]
        some.weights = None if self.weights is None else self.weights[rows]
        return some

    def total_weight(self) -> float:
        """How many instances these count for whose gold competes."""
        there = require(self.gold, "gold") >= 0
        return float(there.sum() if self.weights is None else self.weights[there].sum())

    def product(self, weights: torch.Tensor) -> torch.Tensor:
        """`sum_l w_l y_l`: `(labels,)` to `(candidates,)`, `(batch, labels)` to `(batch, candidates)`."""
        return weights @ self.sets.T

    def sizes(self) -> torch.Tensor:
        """The number of labels of each candidate, `(candidates,)`."""
        return self.sets.sum(dim=1).long()

    @cached_property
    def log_counts(self) -> torch.Tensor:
        """
        The logarithm of the candidates' counts, an instance's own occurrence left out: `(candidates,)`, or `(batch,
        candidates)` for training data.
        """
        logs = log_of_counts(self.counts)
        of_gold = self.log_counts_of_gold
        if of_gold is None:
            return logs
        logs = logs.repeat(len(self.logits), 1)
        gold = require(self.gold, "gold")
        rows = ((gold >= 0) & (gold < len(self.sets))).nonzero().squeeze(1)
        logs[rows, gold[rows]] = of_gold[rows]
        return logs

    @cached_property
    def log_counts_of_gold(self) -> torch.Tensor | None:
        """
        The logarithm of the count of each instance's gold, its own occurrences left out, 0 where it is no known set:
        `(batch,)`; `None` for data that is no training data.
        """
        if not self.is_own:
            return None
        gold = require(self.gold, "gold")
        known = (gold >= 0) & (gold < len(self.sets))
        own = self.own if isinstance(self.own, torch.Tensor) else int(self.own)
        left = self.counts[torch.where(known, gold, 0)] - own
        return log_of_counts(left).masked_fill(~known, 0.0)

    @cached_property
    def known_set_log_prob(self) -> tuple[torch.Tensor, torch.Tensor]:
        """`set_log_prob` with 0 for sets that the classifier does not know, and 1 for these and 0 for the others."""
        log_prob = require(self.set_log_prob, "log_prob of ClassifierScores, by the energy 'powerset',")
        absent = log_prob.isnan()
        return log_prob.masked_fill(absent, 0.0), absent.to(log_prob)


class LikelySets:
    """
    Of each instance the `k` likeliest sets under the task-net's independent labels, whether training has them or not.
    Those that are known compete already, and are ruled out here. Energies see them like known sets, but for a dimension
    more: `(batch, candidates)`.

    # Parameters

    logits : `torch.Tensor`, `(batch, labels)`
    k : `int`
    known : `SetIndex`
        That of the known ones.
    gold : `torch.Tensor`, `(batch, labels)`, optional
        0 or 1.
    """

    unseen = True
    #: They are no classes.
    set_log_prob: torch.Tensor | None = None

    def __init__(self, logits: torch.Tensor, k: int, known: "SetIndex", gold: torch.Tensor | None = None) -> None:
        found = k_best_sets(logits, k)
        self.logits, self.sets = logits, found.to(logits)
        self._known = known.of(found.flatten(0, 1)).unflatten(0, found.shape[:2])
        self._is_gold = None if gold is None else (found == gold.bool().unsqueeze(1)).all(dim=2)
        self.log_prob = self.product(logits) - F.softplus(logits).sum(dim=1, keepdim=True)

    def leave_out_known(self, dropped: torch.Tensor | None) -> None:
        """Rules known sets out; `dropped (batch,)` has the index of one that the instance does not know, or -1."""
        known = self._known >= 0
        if dropped is not None:
            known &= self._known != dropped.unsqueeze(1)
        self.log_prob = self.log_prob.masked_fill(known, -torch.inf)

    def gold_place(self) -> torch.Tensor:
        """The place of gold among those that compete, -1 where it is none: `(batch,)`."""
        is_gold = require(self._is_gold, "gold") & ~self.log_prob.isneginf()
        return torch.where(is_gold.any(dim=1), is_gold.long().argmax(dim=1), -1)

    def of_rows(self, rows: torch.Tensor) -> "LikelySets":
        some = copy.copy(self)
        some.logits, some.sets, some.log_prob = self.logits[rows], self.sets[rows], self.log_prob[rows]
        return some

    def outputs_and_mask(self) -> tuple[torch.Tensor, None]:
        return self.sets, None

    def product(self, weights: torch.Tensor) -> torch.Tensor:
        return (self.sets @ weights.expand(len(self.sets), -1).unsqueeze(2)).squeeze(2)

    def sizes(self) -> torch.Tensor:
        return self.sets.sum(dim=2).long()

    @property
    def log_counts(self) -> torch.Tensor:
        """0: none of them occurs elsewhere in the training data, which `unseen` says."""
        return self.log_prob.new_zeros(())


#: What energies of label sets see.
AnyLabelSets: TypeAlias = LabelSetCandidates | LikelySets


def log_of_counts(counts: torch.Tensor) -> torch.Tensor:
    """0 for what does not occur, as for what occurs once."""
    return counts.clamp(min=1).log()


def known_sets(
    gold: torch.Tensor, limit: int = 20000, weights: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """
    The label sets that occur in `gold (rows, labels)`, at most `limit`, the most frequent first: `(sets (sets, labels),
    counts (sets,))`, both floating. Rows count as `weights (rows,)` say, by default 1.
    """
    sets, place, counts = gold.bool().unique(dim=0, return_inverse=True, return_counts=True)
    if weights is not None:
        counts = torch.zeros(len(sets), dtype=weights.dtype).index_add(0, place, weights)
    order = counts.argsort(descending=True, stable=True)[:limit]
    return sets[order].float(), counts[order].float()


class SetIndex:
    """Finds label sets among known ones, `(sets, labels)`."""

    def __init__(self, sets: torch.Tensor) -> None:
        self._places = {row.tobytes(): i for i, row in enumerate(sets.bool().cpu().numpy())}

    def of(self, gold: torch.Tensor) -> torch.Tensor:
        """The place among the known sets of each row of `gold (rows, labels)`, -1 where it is not there: `(rows,)`."""
        found = [self._places.get(row.tobytes(), -1) for row in gold.bool().cpu().numpy()]
        return torch.tensor(found, dtype=torch.long, device=gold.device)
