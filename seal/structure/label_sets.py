"""Candidates of the structure of label sets: known sets of the training data, and an instance's likeliest sets."""

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
    A classifier's scores of a batch of rows, from which a structure predicts.

    # Parameters

    logits : `torch.Tensor`, `(rows, labels)`
        Log-odds of each label.
    classes : `torch.Tensor`, `(classes, labels)`, optional
        0 or 1: the label sets that are classes of a classifier of whole sets.
    log_prob : `torch.Tensor`, `(rows, classes)`, optional
        Log-probabilities of that classifier, in nats; NaN where the copy that scored the row was fitted without it.
    labels : `torch.Tensor`, `(rows, labels)`, optional
        Boolean: the labels that the classifier of single labels predicts by its own rule.
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
        """`log_prob` of these sets, `(sets, labels)`: `(rows, sets)`, NaN for sets that are not classes."""
        if self.classes is None or self.log_prob is None:
            return None
        place = SetIndex(self.classes).of(sets).to(self.log_prob.device)
        return self.log_prob[:, place].masked_fill(place < 0, torch.nan)


@dataclass
class LabelSetCandidates:
    """
    The candidates of a batch: the known label sets, the same for all instances, and each instance's likeliest sets.

    # Parameters

    logits : `torch.Tensor`, `(batch, labels)`
        The task-net's log-odds of each label.
    sets : `torch.Tensor`, `(candidates, labels)`
        The known sets, 0 or 1, floating.
    counts : `torch.Tensor`, `(candidates,)`
        How often each known set occurs in the training data.
    gold : `torch.LongTensor`, `(batch,)`, optional
        The index of each instance's gold set, -1 where it is not a candidate; likely sets come after the known ones.
    excluded : `int` or `torch.Tensor`, `(batch,)`, optional (default = `0`)
        For training data, above 0: the number of rows (with weights, their sum) in each instance's group, itself
        included, that have its gold set. The counts exclude these rows. A gold set that occurs in no other row is then
        not a known set.
    likely : `LikelySets`, optional
    set_log_prob : `torch.Tensor`, `(batch, candidates)`, optional
        The log-probability of the known sets under a classifier of whole sets; NaN for sets that are not its classes.
    weights : `torch.Tensor`, `(batch,)`, optional
        How often each instance counts in the loss.
    """

    logits: torch.Tensor
    sets: torch.Tensor
    counts: torch.Tensor
    gold: torch.Tensor | None = None
    excluded: int | torch.Tensor = 0
    likely: "LikelySets | None" = None
    set_log_prob: torch.Tensor | None = None
    weights: torch.Tensor | None = None
    #: True for sets that the training data do not have (`LikelySets`).
    unseen = False

    def __post_init__(self) -> None:
        dropped = None
        if self.is_training_data:
            gold = require(self.gold, "gold")
            only_here = (gold >= 0) & (self.counts[gold] <= self.excluded)
            dropped = torch.where(only_here, gold, -1)
            self.gold = torch.where(only_here, -1, gold)
        # log P(y|x) = sum_l y_l z_l - softplus(z_l)
        self.log_prob = self.product(self.logits) - F.softplus(self.logits).sum(dim=1, keepdim=True)
        if dropped is not None:
            rows = (dropped >= 0).nonzero().squeeze(1)
            self.log_prob[rows, dropped[rows]] = -torch.inf
        if self.likely is not None:
            self.likely.mask_known_sets(dropped)
            if self.gold is not None:
                place = self.likely.gold_place()
                self.gold = torch.where((self.gold < 0) & (place >= 0), len(self.sets) + place, self.gold)

    @property
    def is_training_data(self) -> bool:
        """Whether the instances are training data."""
        return isinstance(self.excluded, torch.Tensor) or self.excluded > 0

    def parts(self) -> "list[AnyLabelSets]":
        """The known sets and the likely sets, which energies score separately."""
        return [self] if self.likely is None else [self, self.likely]

    def outputs(self, index: torch.Tensor) -> torch.Tensor:
        """The sets with the indices `(batch, some)`: `(batch, some, labels)`."""
        if self.likely is None:
            return self.sets[index]
        known = index < len(self.sets)
        outputs = self.sets[torch.where(known, index, 0)]
        rows, places = (~known).nonzero(as_tuple=True)
        outputs[rows, places] = self.likely.sets[rows, index[rows, places] - len(self.sets)]
        return outputs

    def marginals(self, q: torch.Tensor) -> torch.Tensor:
        """`sum_y q(y|x) y_l`: `(batch, candidates)` to `(batch, labels)`."""
        marginals = q[:, : len(self.sets)] @ self.sets
        if self.likely is not None:
            marginals = marginals + (q[:, len(self.sets) :].unsqueeze(1) @ self.likely.sets).squeeze(1)
        return marginals.clamp(0, 1)

    def expected_f1(self, q: torch.Tensor, empty_f1: float) -> torch.Tensor:
        """
        The expected F1 of each candidate `y`, over all candidates `y'` as gold: `(batch, candidates)`. With `m_s =
        sum_{|y'| = s} q(y'|x) y'` for the sets of `s` labels,

        `sum_y' q(y'|x) 2 |y & y'| / (|y| + |y'|) = sum_s 2 / (|y| + s) sum_l y_l m_sl`

        (Ye et al. 2012). The right side costs about two products of all instances with all sets.

        # Parameters

        q : `torch.Tensor`, `(batch, candidates)`
        empty_f1 : `float`
            The F1 of two empty sets.
        """
        known = len(self.sets)
        order = self.sizes().argsort(stable=True)
        sets, sizes, known_q = self.sets[order], self.sizes()[order], q[:, order]
        all_sizes = sizes if self.likely is None else torch.cat([sizes, self.likely.sizes().flatten()])
        distinct = all_sizes.unique()
        ends = torch.searchsorted(sizes, distinct, right=True).tolist()
        groups = [slice(start, end) for start, end in zip([0, *ends], ends)]
        # shape: (batch, sizes, labels)
        sums = torch.stack([known_q[:, group] @ sets[group] for group in groups], dim=1)
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
        """The known sets for constraints, `(1, candidates, labels)`, the same for all instances; no mask."""
        return self.sets.unsqueeze(0), None

    def with_gold(self) -> "LabelSetCandidates":
        """The instances whose gold is a candidate."""
        gold = require(self.gold, "gold")
        rows = (gold >= 0).nonzero().squeeze(1)
        if len(rows) == len(gold):
            return self
        subset = copy.copy(self)
        for name in ("log_counts", "log_counts_of_gold", "known_set_log_prob"):
            subset.__dict__.pop(name, None)
        subset.logits, subset.gold, subset.log_prob = self.logits[rows], gold[rows], self.log_prob[rows]
        subset.excluded = self.excluded[rows] if isinstance(self.excluded, torch.Tensor) else self.excluded
        subset.likely = None if self.likely is None else self.likely.of_rows(rows)
        subset.set_log_prob = None if self.set_log_prob is None else self.set_log_prob[rows]
        subset.weights = None if self.weights is None else self.weights[rows]
        return subset

    def total_weight(self) -> float:
        """The sum of the weights of the instances whose gold is a candidate; their number if there are no weights."""
        has_gold = require(self.gold, "gold") >= 0
        return float(has_gold.sum() if self.weights is None else self.weights[has_gold].sum())

    def product(self, weights: torch.Tensor) -> torch.Tensor:
        """`sum_l w_l y_l`: `(labels,)` to `(candidates,)`, `(batch, labels)` to `(batch, candidates)`."""
        return weights @ self.sets.T

    def sizes(self) -> torch.Tensor:
        """The number of labels of each candidate, `(candidates,)`."""
        return self.sets.sum(dim=1).long()

    @cached_property
    def log_counts(self) -> torch.Tensor:
        """
        The logarithm of the counts of the known sets: `(candidates,)`. For training data `(batch, candidates)`, as each
        instance's counts leave its group out.
        """
        logs = log_of_counts(self.counts)
        gold_logs = self.log_counts_of_gold
        if gold_logs is None:
            return logs
        logs = logs.repeat(len(self.logits), 1)
        gold = require(self.gold, "gold")
        rows = ((gold >= 0) & (gold < len(self.sets))).nonzero().squeeze(1)
        logs[rows, gold[rows]] = gold_logs[rows]
        return logs

    @cached_property
    def log_counts_of_gold(self) -> torch.Tensor | None:
        """
        For training data the logarithm of the count of each instance's gold, without its group: `(batch,)`, 0 where
        gold is not a known set. `None` for other data.
        """
        if not self.is_training_data:
            return None
        gold = require(self.gold, "gold")
        known = (gold >= 0) & (gold < len(self.sets))
        excluded = self.excluded if isinstance(self.excluded, torch.Tensor) else int(self.excluded)
        left = self.counts[torch.where(known, gold, 0)] - excluded
        return log_of_counts(left).masked_fill(~known, 0.0)

    @cached_property
    def known_set_log_prob(self) -> tuple[torch.Tensor, torch.Tensor]:
        """`set_log_prob` with 0 for sets that are not classes, and the indicator of these sets, 0 or 1."""
        log_prob = require(self.set_log_prob, "log_prob of ClassifierScores, by the energy 'powerset',")
        absent = log_prob.isnan()
        return log_prob.masked_fill(absent, 0.0), absent.to(log_prob)


class LikelySets:
    """
    Each instance's `k` likeliest label sets under the task-net's independent labels. Those that are known sets, and so
    are candidates already, get the log-probability `-inf`. The interface equals the one of `LabelSetCandidates`, with
    the instances as a further dimension: `sets` is `(batch, candidates, labels)`.

    # Parameters

    logits : `torch.Tensor`, `(batch, labels)`
    k : `int`
    known : `SetIndex`
        The index of the known sets.
    gold : `torch.Tensor`, `(batch, labels)`, optional
        0 or 1.
    """

    unseen = True
    #: A classifier of whole sets has no class for these sets.
    set_log_prob: torch.Tensor | None = None

    def __init__(self, logits: torch.Tensor, k: int, known: "SetIndex", gold: torch.Tensor | None = None) -> None:
        sets = k_best_sets(logits, k)
        self.logits, self.sets = logits, sets.to(logits)
        self._known = known.of(sets.flatten(0, 1)).unflatten(0, sets.shape[:2])
        self._is_gold = None if gold is None else (sets == gold.bool().unsqueeze(1)).all(dim=2)
        self.log_prob = self.product(logits) - F.softplus(logits).sum(dim=1, keepdim=True)

    def mask_known_sets(self, dropped: torch.Tensor | None) -> None:
        """
        Sets the log-probability of known sets to `-inf`, except each instance's `dropped` one, `(batch,)`: a known set
        that occurs only in the instance's group, or -1.
        """
        known = self._known >= 0
        if dropped is not None:
            known &= self._known != dropped.unsqueeze(1)
        self.log_prob = self.log_prob.masked_fill(known, -torch.inf)

    def gold_place(self) -> torch.Tensor:
        """The index of gold among these sets, -1 where it is not one of them, or ruled out: `(batch,)`."""
        is_gold = require(self._is_gold, "gold") & ~self.log_prob.isneginf()
        return torch.where(is_gold.any(dim=1), is_gold.long().argmax(dim=1), -1)

    def of_rows(self, rows: torch.Tensor) -> "LikelySets":
        subset = copy.copy(self)
        subset.logits, subset.sets, subset.log_prob = self.logits[rows], self.sets[rows], self.log_prob[rows]
        return subset

    def outputs_and_mask(self) -> tuple[torch.Tensor, None]:
        return self.sets, None

    def product(self, weights: torch.Tensor) -> torch.Tensor:
        return (self.sets @ weights.expand(len(self.sets), -1).unsqueeze(2)).squeeze(2)

    def sizes(self) -> torch.Tensor:
        return self.sets.sum(dim=2).long()

    @property
    def log_counts(self) -> torch.Tensor:
        """0, as these sets do not occur in the training data (`unseen`)."""
        return self.log_prob.new_zeros(())


#: The candidates that an energy of label sets gets.
AnyLabelSets: TypeAlias = LabelSetCandidates | LikelySets


def log_of_counts(counts: torch.Tensor) -> torch.Tensor:
    """The logarithm of each count; 0 for a count of 0."""
    return counts.clamp(min=1).log()


def known_sets(
    gold: torch.Tensor, limit: int = 20000, weights: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """
    The `limit` most frequent label sets of the training data, the most frequent first.

    # Parameters

    gold : `torch.Tensor`, `(rows, labels)`, 0 or 1
    limit : `int`, optional (default = `20000`)
    weights : `torch.Tensor`, `(rows,)`, optional (default = 1)
        How often each row counts.

    # Returns

    `sets`, `(sets, labels)`, and `counts`, `(sets,)`, both floating
    """
    sets, place, counts = gold.bool().unique(dim=0, return_inverse=True, return_counts=True)
    if weights is not None:
        counts = torch.zeros(len(sets), dtype=weights.dtype).index_add(0, place, weights)
    order = counts.argsort(descending=True, stable=True)[:limit]
    return sets[order].float(), counts[order].float()


class SetIndex:
    """A dictionary from label sets to their index among known sets, `(sets, labels)`."""

    def __init__(self, sets: torch.Tensor) -> None:
        self._places = {row.tobytes(): i for i, row in enumerate(sets.bool().cpu().numpy())}

    def of(self, gold: torch.Tensor) -> torch.Tensor:
        """The index among the known sets of each row of `gold (rows, labels)`, -1 if it is not one: `(rows,)`."""
        indices = [self._places.get(row.tobytes(), -1) for row in gold.bool().cpu().numpy()]
        return torch.tensor(indices, dtype=torch.long, device=gold.device)
