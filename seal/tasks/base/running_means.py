"""Sums over batches and workers: the running means of training, and scores that are ratios of sums over examples."""

from collections import Counter
from typing import Any, TypeVar, Union

import torch
import torch.distributed as dist
from allennlp.common.util import is_distributed
from allennlp.training.metrics import Metric

#: Scalars that wait before they are read; an epoch may have any number of batches.
_MOST_WAITING = 100


class RunningMeans:
    """
    Running means of the values that training reports by name.

    The sums stay in each worker until they are reset. AllenNLP's `Average` exchanges every single value between
    workers, which hang where one of them reports a name that the others do not (after a batch without a predicate,
    for example).
    """

    def __init__(self) -> None:
        # By name: the sum and the number of values.
        self._sums: dict[str, list[float]] = {}
        # Scalars of a device that are not in the sums yet: reading many at once waits for the device once.
        self._waiting: list[tuple[str, torch.Tensor]] = []

    def add(self, name: str, value: Union[float, torch.Tensor]) -> None:
        """Counts `value`, a number or a scalar tensor, into the mean of `name`."""
        if isinstance(value, torch.Tensor):
            # As it is now: a parameter changes before it is read.
            self._waiting.append((name, value.detach().clone()))
            if len(self._waiting) >= _MOST_WAITING:
                self._read()
            return
        total, count = self._sums.get(name, (0.0, 0))
        self._sums[name] = [total + value, count + 1]

    def _read(self) -> None:
        """Brings what waits into the sums."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            values = torch.stack([value for _, value in waiting]).tolist()
            for (name, _), value in zip(waiting, values):
                self.add(name, value)

    def means(self, reset: bool = False) -> dict[str, float]:
        """
        # Parameters

        reset : `bool`, optional (default = `False`)
            Whether to forget the values afterwards. The means are then over all distributed workers, which must all
            call this.

        # Returns

        The mean of each name that was reported.
        """
        self._read()
        workers = gathered(self._sums) if reset else [self._sums]
        if reset:
            self._sums = {}
        sums: dict[str, list[float]] = {}
        for worker in workers:
            for name, (total, count) in worker.items():
                before = sums.get(name, (0.0, 0))
                sums[name] = [before[0] + total, before[1] + count]
        return {name: total / count for name, (total, count) in sums.items()}

    def state_dict(self) -> dict[str, list[float]]:
        """This worker's sums, plain values."""
        self._read()
        return {name: list(values) for name, values in self._sums.items()}

    def load_state_dict(self, state: dict[str, list[float]]) -> None:
        self._waiting = []
        self._sums = {name: list(values) for name, values in state.items()}


T = TypeVar("T")


def gathered(value: T) -> list[T]:
    """
    The `value` of every worker, in the order of their ranks; the value of this process alone in a run that is not
    distributed. All workers must call it. Values are pickled, so they may differ in type and size: workers see
    different labels, and some of them no row at all, so that tensors of counts would not have the same shape.
    """
    if not is_distributed():
        return [value]
    workers: list = [None] * dist.get_world_size()
    dist.all_gather_object(workers, value)
    return workers


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
