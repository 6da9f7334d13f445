from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch

from seal.metrics.summed_score import SummedScore, percent
from seal.structure.scores import label_set_scores


class LabelSetScore(SummedScore):
    """
    A score of predicted label sets, in percent; 0 where there is nothing to score.

    # Parameters

    name : `str`
        `"f1"`, `"micro_f1"` or `"subset_accuracy"`, as in `seal.structure.scores`.
    empty_f1 : `float`, optional (default = `1.0`)
        The F1, 0 to 1, of a row without labels for which none is predicted.
    """

    def __init__(self, name: str, empty_f1: float = 1.0) -> None:
        self._score = label_set_scores(empty_f1)[name]
        super().__init__()

    def __call__(  # type: ignore[override]
        self, predicted: torch.Tensor, gold: torch.Tensor, missed: Sequence[Sequence[str]] = ()
    ) -> None:
        """
        # Parameters

        predicted, gold : `torch.Tensor`, `(rows, labels)`
            0 or 1 of any type.
        missed : `Sequence[Sequence[str]]`, optional (default = `()`)
            The gold labels of each row that no column stands for; `()`: no row has any.
        """
        predicted, gold = predicted.bool().cpu(), gold.bool().cpu()
        if any(missed):
            # Columns more, which nothing predicts.
            numbers = torch.tensor([len(labels) for labels in missed])
            further = torch.arange(int(numbers.max())) < numbers.unsqueeze(1)
            predicted = torch.cat([predicted, torch.zeros_like(further)], dim=1)
            gold = torch.cat([gold, further], dim=1)
        ratio = self._score(predicted, gold)
        sums: dict[str, Any] = {"part": float(ratio.numerators.sum()), "whole": float(ratio.denominators.sum())}
        self._sums.update(sums)

    def _scores(self, sums: Counter, reset: bool) -> float:
        return percent(sums["part"], sums["whole"])
