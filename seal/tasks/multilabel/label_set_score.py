"""F1 scores and mean average precision of multi-label predictions."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional, Union

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training.metrics import Metric

from seal.common.setting_checks import check_range
from seal.structure.scores import label_set_scores
from seal.tasks.base.running_means import SummedScore, gathered, percent

# Rows scored at a time, which bounds the memory beside the rows themselves.
CHUNK = 2048

Thresholds = dict[str, Union[float, torch.Tensor]]
Tuner = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], Thresholds]


class Counts(NamedTuple):
    """
    Sums over rows.

    # Parameters

    example_f1 : `float`
        The sum of the rows' example F1.
    exact : `float`
        The number of rows with exactly their gold labels.
    correct, predicted, gold : `torch.Tensor`, `(labels,)`
        The number of rows that have each label in both prediction and gold, in the prediction, and in gold.
    """

    example_f1: float
    exact: float
    correct: torch.Tensor
    predicted: torch.Tensor
    gold: torch.Tensor


@Metric.register("multilabel_score")
class MultilabelScore(Metric):
    """
    Example, micro and macro F1 and mean average precision of rows with any number of labels, from the probabilities `p`
    of the labels. The predicted labels are given or, by default, those with `p >= 0.5`. With
    `F1 = 2 correct / (predicted + gold)`:

    - `f1` (example F1): the F1 of a row's labels, averaged over rows. This is the F1 that SEAL reports.
    - `micro_f1`: the F1 of all rows' labels together.
    - `macro_f1`: the F1 of a label's rows, averaged over the labels that occur in gold or prediction, as
      `sklearn.metrics.f1_score(average="macro", zero_division=nan)`. The F1 of the other labels is undefined.
    - `macro_f1_all`: the same over all labels, where an undefined F1 counts as 0, as sklearn's default
      `f1_score(average="macro", zero_division=0)`. Rare labels that do not occur lower it.
    - `subset_accuracy`: the share of rows with exactly their gold labels, as `sklearn.metrics.accuracy_score`.
    - `mean_average_precision`: the average precision of a row's labels ranked by probability,
      `sum_k (recall_k - recall_{k-1}) precision_k` over the distinct probabilities `k` of the row, averaged
      over rows that have a label. Labels of equal probability share one rank.

    Gold labels without a probability, because training lacked them, count as missed: every F1 counts them among gold,
    `macro_f1` gives each an F1 of 0, and the precision at their rank is 0.

    Ranks and further thresholds need every row. Rows are therefore stored until the pass over the data ends, in
    `5 * rows * labels` bytes. At the end of a distributed pass every worker holds the rows of all workers.

    # Parameters

    empty_f1 : `float`, optional (default = `1.0`)
        The example F1, 0 to 1, of a row without gold and predicted labels. 1 counts it as a perfect prediction; the
        code of SEAL's authors counts 0.

    # Raises

    `ConfigurationError` if `empty_f1` is not in [0, 1].
    """

    supports_distributed = True

    def __init__(self, empty_f1: float = 1.0) -> None:
        check_range("model.empty_f1", empty_f1, least=0, most=1)
        self._empty_f1 = empty_f1
        self.reset()

    def reset(self) -> None:
        """Forgets the rows."""
        self._rows = 0
        self._counts: Optional[Counts] = None
        # For each batch, or several: probabilities, gold and the number of gold labels without a column.
        self._kept: list[tuple[torch.Tensor, ...]] = []
        # The number of rows with each gold label that has no column.
        self._missed_labels: Counter = Counter()

    @torch.no_grad()
    def __call__(  # type: ignore[override]
        self,
        probabilities: torch.Tensor,
        gold: torch.Tensor,
        missed: Sequence[Sequence[str]] = (),
        predicted: Optional[torch.Tensor] = None,
    ) -> None:
        """
        Counts and stores a batch of rows.

        # Parameters

        probabilities : `torch.Tensor`
            `(batch, labels)`, floating, in [0, 1]. Compared with 0.5 in the given precision; stored, ranked and
            compared with other thresholds in single precision.
        gold : `torch.Tensor`
            `(batch, labels)`, 0 or 1 of any type.
        missed : `Sequence[Sequence[str]]`, optional (default = `()`)
            The gold labels of each row without a column; `()`: none in any row.
        predicted : `torch.Tensor`, optional (default = `None`)
            `(batch, labels)`, boolean: the predicted labels. `None`: the labels with a probability of at least 0.5.

        # Raises

        `ConfigurationError` if the shapes differ.
        """
        if probabilities.dim() != 2 or probabilities.shape != gold.shape:
            raise ConfigurationError(
                "MultilabelScore needs probabilities and gold of the same shape (batch, labels), found "
                f"{tuple(probabilities.shape)} and {tuple(gold.shape)}."
            )
        probabilities = probabilities.detach().cpu()
        # Copies: the stored rows must neither change with the caller's tensors nor keep a larger tensor alive.
        gold = gold.detach().to("cpu", torch.bool, copy=True)
        numbers = torch.tensor([len(labels) for labels in missed] or [0] * len(gold), dtype=torch.long)
        self._kept.append((probabilities.to(torch.float, copy=True), gold, numbers))
        self._missed_labels.update(label for labels in missed for label in labels)
        predicted = probabilities >= 0.5 if predicted is None else predicted.detach().to("cpu", torch.bool)
        counts = _count(predicted, gold, numbers, self._empty_f1)
        self._rows += len(gold)
        self._counts = counts if self._counts is None else _sum([self._counts, counts])

    @torch.no_grad()
    def get_metric(self, reset: bool = False, thresholds: Union[Thresholds, Tuner, None] = None) -> dict[str, float]:
        """
        The scores of the rows since the last reset. Every distributed worker must make the call with `reset`,
        as AllenNLP's trainer does, and gets the scores of all workers' rows.

        # Parameters

        reset : `bool`, optional (default = `False`)
            Whether the pass is over. Without it, as for a progress bar, only `f1` and `micro_f1` of this
            process are returned, from running sums.
        thresholds : `dict[str, Union[float, torch.Tensor]]`, or a function that returns such, optional
            Further thresholds by name: one for all labels, or `(labels,)`. They are only used with `reset`. A function
            gets the rows of all workers on the CPU, if there are any: single-precision probabilities and boolean gold,
            `(rows, labels)`, and the number of each row's gold labels without a column, `(rows,)`.

        # Returns

        `dict[str, float]`
            `f1` and `micro_f1`; with `reset` also `macro_f1`, `macro_f1_all`, `subset_accuracy`,
            `mean_average_precision` and, for each of the `thresholds`, all but the last as `f1_<name>` and so on. In
            percent (0 to 100); 0 without rows.
        """
        if not reset:
            scores = _f1_scores(self._counts, self._rows, self._missed_labels)
            return {name: scores[name] for name in ("f1", "micro_f1")}
        rows, counts, missed_labels, kept = self._gather()
        if callable(thresholds):
            thresholds = thresholds(*kept) if kept else None
        limits = {}
        for name, threshold in (thresholds or {}).items():
            limits[name] = limit = torch.as_tensor(threshold, dtype=torch.float, device="cpu")
        chunks = list(zip(*(column.split(CHUNK) for column in kept)))
        scores = _f1_scores(counts, rows, missed_labels)
        precision = [average_precision(*chunk) for chunk in chunks] or [torch.zeros(0)]
        scores["mean_average_precision"] = _mean(torch.cat(precision))
        for name, limit in limits.items():
            chunk_counts = [_count(p >= limit, y, numbers, self._empty_f1) for p, y, numbers in chunks]
            threshold_scores = _f1_scores(_sum(chunk_counts) if chunk_counts else None, rows, missed_labels)
            scores.update({f"{key}_{name}": value for key, value in threshold_scores.items()})
        self.reset()
        return scores

    def _gather(self) -> tuple[int, Optional[Counts], Counter, tuple[torch.Tensor, ...]]:
        """
        Gathers the rows of all workers: their number, their counts, the counts of gold labels without a column, and
        the stored tensors. Without rows, `(0, None, Counter(), ())`.
        """
        own = None
        if self._rows:
            # Replaces the batches, so that rows are not in memory twice.
            self._kept = [_joined(self._kept)]
            own = (self._rows, self._counts, self._missed_labels, self._kept[0])
        parts = [worker for worker in gathered(own) if worker is not None]
        if not parts:
            return 0, None, Counter(), ()
        rows, counts, missed_labels, kept = zip(*parts)
        return sum(rows), _sum(list(counts)), sum(missed_labels, Counter()), _joined(kept)


def _joined(parts: Sequence[tuple[torch.Tensor, ...]]) -> tuple[torch.Tensor, ...]:
    return parts[0] if len(parts) == 1 else tuple(map(torch.cat, zip(*parts)))


def average_precision(
    probabilities: torch.Tensor, gold: torch.Tensor, missed: Optional[torch.Tensor] = None
) -> torch.Tensor:
    """
    The average precision of each row that has a gold label.

    Its mean is `sklearn.metrics.average_precision_score(average="samples")`, which loops over rows in Python: on one
    core it takes about 250 times as long for 159 labels, and 50 times as long for 983.

    # Parameters

    probabilities, gold : `torch.Tensor`, `(rows, labels)`
        Floating and boolean, on the CPU.
    missed : `torch.Tensor`, `(rows,)`, optional
        The number of each row's gold labels without a probability.

    # Returns

    `torch.Tensor`, `(rows with a gold label,)`: 0 to 1.
    """
    if missed is None:
        missed = torch.zeros(len(gold), dtype=torch.long)
    has_label = gold.any(dim=1) | (missed > 0)
    probabilities, gold, missed = probabilities[has_label], gold[has_label], missed[has_label]
    if len(gold) == 0:
        return torch.zeros(0, dtype=torch.double)
    # The mean over gold labels of the precision among the labels at least as probable, from two ranks.
    num_gold = gold.sum(dim=1)
    filled = torch.arange(int(num_gold.max())) < num_gold.unsqueeze(1)
    # shape: (rows, most gold labels), padded with a value below all probabilities
    gold_probabilities = probabilities.new_full(filled.shape, -1.0)
    gold_probabilities[filled] = probabilities[gold]
    # NumPy's sort takes a tenth of the time of torch's.
    correct, predicted = (
        values.shape[1] - torch.searchsorted(torch.from_numpy(numpy.sort(values.numpy(), axis=1)), gold_probabilities)
        for values in (gold_probabilities, probabilities)
    )
    return (correct.double() / predicted).masked_fill(~filled, 0.0).sum(dim=1) / (num_gold + missed)


def example_f1(
    predicted: torch.Tensor, gold: torch.Tensor, empty_f1: float, missed: Optional[torch.Tensor] = None
) -> torch.Tensor:
    """
    The F1 of each row's labels, `2 correct / (predicted + gold)`.

    # Parameters

    predicted, gold : `torch.Tensor`, `(rows, labels)`
        Boolean.
    empty_f1 : `float`
        The F1 of a row without gold and predicted labels.
    missed : `torch.Tensor`, `(rows,)`, optional
        The number of each row's gold labels without a column.

    # Returns

    `torch.Tensor`, `(rows,)`: 0 to 1, in double precision.
    """
    correct = (predicted & gold).sum(dim=1)
    total = predicted.sum(dim=1) + gold.sum(dim=1)
    if missed is not None:
        total = total + missed
    return (2.0 * correct.double() / total).masked_fill(total == 0, empty_f1)


def _count(predicted: torch.Tensor, gold: torch.Tensor, missed: torch.Tensor, empty_f1: float) -> Counts:
    f1 = example_f1(predicted, gold, empty_f1, missed).sum().item()
    exact = float(((predicted == gold).all(dim=1) & (missed == 0)).sum())
    return Counts(f1, exact, (predicted & gold).sum(dim=0), predicted.sum(dim=0), gold.sum(dim=0))


def _sum(counts: list[Counts]) -> Counts:
    return Counts(*(sum(parts[1:], parts[0]) for parts in zip(*counts)))


def _f1_scores(counts: Optional[Counts], rows: int, missed: Counter) -> dict[str, float]:
    """The scores of `rows` rows in percent. `missed`: the number of rows with each gold label that has no column."""
    if counts is None or rows == 0:
        return {"f1": 0.0, "micro_f1": 0.0, "macro_f1": 0.0, "macro_f1_all": 0.0, "subset_accuracy": 0.0}
    total = torch.cat([counts.predicted + counts.gold, torch.tensor(list(missed.values()), dtype=torch.long)])
    correct = torch.cat([counts.correct, torch.zeros(len(missed), dtype=torch.long)]).double()
    label_f1 = (2.0 * correct / total).masked_fill(total == 0, 0.0)
    return {
        "f1": 100.0 * counts.example_f1 / rows,
        "micro_f1": 200.0 * correct.sum().item() / max(total.sum().item(), 1),
        "macro_f1": _mean(label_f1[total > 0]),
        "subset_accuracy": 100.0 * counts.exact / rows,
        "macro_f1_all": _mean(label_f1),
    }


def _mean(shares: torch.Tensor) -> float:
    return 100.0 * shares.mean().item() if len(shares) else 0.0


class LabelSetScore(SummedScore):
    """
    A score of predicted label sets, in percent; 0 without rows.

    # Parameters

    name : `str`
        `"f1"`, `"micro_f1"` or `"subset_accuracy"`, as in `seal.structure.scores`.
    empty_f1 : `float`, optional (default = `1.0`)
        The F1, 0 to 1, of a row without gold and predicted labels.
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
            The gold labels of each row without a column; `()`: none in any row.
        """
        predicted, gold = predicted.bool().cpu(), gold.bool().cpu()
        if any(missed):
            # Additional columns for the missed labels, which are never predicted.
            numbers = torch.tensor([len(labels) for labels in missed])
            further = torch.arange(int(numbers.max())) < numbers.unsqueeze(1)
            predicted = torch.cat([predicted, torch.zeros_like(further)], dim=1)
            gold = torch.cat([gold, further], dim=1)
        ratio = self._score(predicted, gold)
        sums: dict[str, Any] = {"part": float(ratio.numerators.sum()), "whole": float(ratio.denominators.sum())}
        self._sums.update(sums)

    def _scores(self, sums: Counter, reset: bool) -> float:
        return percent(sums["part"], sums["whole"])
