from collections.abc import Sequence

import torch
from allennlp.training.metrics import Metric

from seal.metrics.workers import gathered
from seal.structure.scores import LABEL_SET_SCORES


class LabelSetScore(Metric):
    """
    A score of predicted label sets, in percent.

    # Parameters

    name : `str`
        `"f1"`, `"micro_f1"` or `"subset_accuracy"`, as in `seal.structure.scores`.
    """

    supports_distributed = True

    def __init__(self, name: str) -> None:
        self._score = LABEL_SET_SCORES[name]
        self.reset()

    def reset(self) -> None:
        self._numerator = self._denominator = 0.0

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
        self._numerator += float(ratio.numerators.sum())
        self._denominator += float(ratio.denominators.sum())

    def get_metric(self, reset: bool = False) -> float:
        """0 to 100; 0 where there is nothing to score. With `reset`, over all distributed workers."""
        mine = (self._numerator, self._denominator)
        numerator, denominator = map(sum, zip(*(gathered(mine) if reset else [mine])))
        if reset:
            self.reset()
        return 100.0 * numerator / denominator if denominator else 0.0
