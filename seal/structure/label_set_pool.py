"""`LabelSetPool`, which makes the candidates of rows from known label sets, in batches that fit into memory."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import torch

from seal.structure.k_best_sets import k_best_sets
from seal.structure.label_sets import ClassifierScores, LabelSetCandidates, LikelySets, SetIndex

# The most joint scores in memory at a time: rows times candidates.
_CELLS = 2**22


@dataclass
class LabelSetPool:
    """
    The known label sets, and the number of likely sets of each row, which are its other candidates.

    # Parameters

    sets : `torch.Tensor`, `(sets, labels)`
    counts : `torch.Tensor`, `(sets,)`
        As for `LabelSetCandidates`.
    num_likely : `int`
        The number of each row's likeliest sets under independent labels.
    index : `Callable[[], SetIndex]`
        Returns the index of `sets`. It is called only if needed, as the index takes long to make for many sets.
    """

    sets: torch.Tensor
    counts: torch.Tensor
    num_likely: int
    index: Callable[[], SetIndex]

    @property
    def batch_size(self) -> int:
        """The number of rows whose candidates fit into memory together, at least 1."""
        # The numbers in memory for each row: one for each known set, one for each label of each likely set, and for the
        # expected F1, one for each label and set size.
        num_labels = self.sets.shape[1]
        sizes = len(self.sets.sum(dim=1).unique()) + self.num_likely
        cells = max(len(self.sets) + self.num_likely * num_labels, sizes * num_labels)
        return max(_CELLS // max(cells, 1), 1)

    def candidates(
        self,
        scores: ClassifierScores,
        index: torch.Tensor | None = None,
        excluded: int | torch.Tensor = 0,
        gold: torch.Tensor | None = None,
    ) -> LabelSetCandidates:
        """
        The candidates of some rows. `index`, `(rows,)`, is the index of each row's gold among the known sets; `gold`,
        `(rows, labels)`, is for likely sets; `excluded` is as for `LabelSetCandidates`.
        """
        likely = LikelySets(scores.logits, self.num_likely, self.index(), gold) if self.num_likely else None
        whole = scores.of_sets(self.sets)
        return LabelSetCandidates(scores.logits, self.sets, self.counts, index, excluded, likely, whole)

    def with_gold(self, scores: ClassifierScores, gold: torch.Tensor) -> LabelSetCandidates:
        """The candidates of some rows whose gold sets are `gold`, `(rows, labels)`."""
        return self.candidates(scores, self.index().of(gold), gold=gold)

    def batches(
        self,
        scores: ClassifierScores,
        gold: torch.Tensor,
        excluded: torch.Tensor | None = None,
        weights: torch.Tensor | None = None,
    ) -> list[LabelSetCandidates]:
        """The candidates of all rows with gold, in batches; `excluded` and `weights` as for `LabelSetCandidates`."""
        index, size = self.index().of(gold), self.batch_size
        counts = itertools.repeat(0) if excluded is None else excluded.split(size)
        batches = [
            self.candidates(*batch) for batch in zip(scores.split(size), index.split(size), counts, gold.split(size))
        ]
        if weights is not None:
            for batch, batch_weights in zip(batches, weights.float().split(size), strict=True):
                batch.weights = batch_weights
        return batches

    def has(self, logits: torch.Tensor, gold: torch.Tensor) -> torch.Tensor:
        """Whether gold is a candidate of each row: `(rows,)`."""
        is_candidate = self.index().of(gold) >= 0
        if self.num_likely:
            size = self.batch_size
            parts = zip(logits.split(size), gold.split(size))
            likely = [(k_best_sets(part, self.num_likely) == sets.unsqueeze(1)).all(dim=2) for part, sets in parts]
            is_candidate |= torch.cat([found.any(dim=1) for found in likely])
        return is_candidate
