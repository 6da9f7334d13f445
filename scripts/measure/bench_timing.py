"""Timing things against each other on a machine that is not always equally fast."""

import io
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from statistics import median
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode


class Timing(NamedTuple):
    """
    Seconds by the clock (`wall`), which other programs on the machine lengthen, and of the CPU, for this process alone.
    """

    wall: float
    cpu: float


def interleaved(cases: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[Timing]]:
    """
    The time of each case in each round. A round runs every case once, one after the other, so that a slow
    moment falls on all; the first round is not counted.
    """
    timings: dict[str, list[Timing]] = {name: [] for name in cases}
    for number in range(rounds + 1):
        for name, case in cases.items():
            timing = timed(case)
            if number:
                timings[name].append(timing)
    return timings


def timed(case: Callable[[], Any]) -> Timing:
    wall, cpu = time.perf_counter(), time.process_time()
    case()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return Timing(time.perf_counter() - wall, time.process_time() - cpu)


def counted_operations(case: Callable[[], Any]) -> int:
    """
    The number of multiplications and additions in the matrix products and convolutions of `case`. This is its cost
    apart from memory traffic, however it is implemented. PyTorch counts neither the products of an LSTM on a CPU nor
    element-wise operations.
    """
    with FlopCounterMode(display=False) as counter:
        case()
    return counter.get_total_flops()


class _CountedCalls(TorchDispatchMode):
    """Counts calls of PyTorch's operations, but for those that only look at memory in another way."""

    count = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.count += not operation.is_view
        return operation(*args, **(kwargs or {}))


def counted_calls(case: Callable[[], Any]) -> int:
    """The number of operations that `case` calls; each is at least one launch on a GPU."""
    with _CountedCalls() as counter:
        case()
    return counter.count


def ratios(seconds: list[float], baseline: list[float]) -> list[float]:
    """The ratio within each round."""
    return [ours / theirs for ours, theirs in zip(seconds, baseline)]


def median_ratio(seconds: list[float], baseline: list[float]) -> float:
    """The median over rounds of the ratio within a round."""
    return median(ratios(seconds, baseline))


def spread(seconds: list[float], baseline: list[float]) -> float:
    """How far the rounds' ratios lie apart: the highest less the lowest."""
    found = ratios(seconds, baseline)
    return max(found) - min(found)


def train_epoch(trainer: Any) -> None:
    """AllenNLP's own loop over the trainer's batches: everything of a training step, its progress bar too."""
    trainer._batches_in_epoch_completed = 0
    with redirect_stderr(io.StringIO()):
        trainer._train_epoch(0)


def epoch_of(trainer: Any) -> Callable[[], None]:
    """`train_epoch` of this trainer, as a case to be timed."""
    return lambda: train_epoch(trainer)
