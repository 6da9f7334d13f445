"""
Scores that are ratios of sums over examples.
"""

from collections import Counter
from typing import Any

from allennlp.training.metrics import Metric

from seal.metrics.workers import gathered


class SummedScore(Metric):
    """
    A score that is known from sums over examples, `_sums` by name. Each process keeps its own; `get_metric(reset=True)`
    adds them up over distributed workers, which must then all call it, as AllenNLP's trainer does.
    """

    supports_distributed = True

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets everything counted so far."""
        self._sums: Counter = Counter()

    def get_metric(self, reset: bool = False) -> Any:
        """The scores of all examples since the last reset, of all workers if this is one."""
        scores = self._scores(sum(gathered(self._sums), Counter()) if reset else self._sums, reset)
        if reset:
            self.reset()
        return scores

    def _scores(self, sums: Counter, reset: bool) -> Any:
        raise NotImplementedError


def percent(part: float, whole: float) -> float:
    """0 where the whole is."""
    return 100.0 * part / whole if whole else 0.0


def f1_scores(sums: Counter) -> dict[str, float]:
    """`precision`, `recall` and `f1` in percent, of the sums `correct`, `predicted` and `gold`."""
    return {
        "precision": percent(sums["correct"], sums["predicted"]),
        "recall": percent(sums["correct"], sums["gold"]),
        "f1": percent(2 * sums["correct"], sums["predicted"] + sums["gold"]),
    }


def f1_by_name(sums: Counter) -> dict[str, float]:
    """`f1-NAME` in percent, of the sums `("correct", NAME)` and so on: of each name that is predicted or in gold."""
    names = sorted({key[1] for key in sums if isinstance(key, tuple)})
    return {
        f"f1-{name}": percent(2 * sums["correct", name], sums["predicted", name] + sums["gold", name]) for name in names
    }
