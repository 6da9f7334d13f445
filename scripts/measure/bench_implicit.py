"""The benchmark of implicit gradients: what a step costs, how much of it is the solver, and the solvers alone."""

from collections.abc import Callable
from statistics import median
from typing import Any

import seal  # noqa: F401
from scripts.measure import bench_implicit_parts as parts
from scripts.measure.bench_base import Benchmark
from scripts.measure.bench_rows import Row, memory_rows, seconds_rows
from scripts.measure.bench_timing import Stopwatch, interleaved, train_epoch
from scripts.measure.own_process import in_own_process

CASES = {
    "step": "seconds of a training step, one update of each net, against an alternating margin step's",
    "solver": "seconds of one solve by each solver, against ours of the Neumann series",
    "memory": "peak memory of training steps, against an alternating margin step's",
}


class ImplicitBenchmark(Benchmark):
    cases, methods, baseline = CASES, parts.VARIANTS, parts.BASELINE

    def __init__(self, *arguments: Any, **rounds: int) -> None:
        super().__init__(*arguments, **rounds)
        self._batches = parts.random_batches(self._num_batches)
        rows = len(self._batches[0]["labels"])
        self.description = f"batches of {rows} rows, {parts.FEATURES} features, {parts.LABELS} labels"

    def step(self) -> list[Row]:
        """`solver_seconds` is the part of `seconds` that the solver takes: the products, and its own arithmetic."""
        epochs, solving = {}, {}
        for name in self._methods:
            trainer = parts.build_trainer(name, self._batches)
            solving[name] = []
            epochs[name] = _measured_epoch(trainer, solving[name])
        timings = interleaved(epochs, self._repeats)
        count = len(self._batches)
        rows = seconds_rows("implicit", "step", timings, count, parts.BASELINE)
        for name, seconds in solving.items():
            # The first round is not counted.
            value = median(seconds[1:]) / count
            rows.append(Row("implicit", "step", name, "solver_seconds", value, None, None))
        return rows

    def solver(self) -> list[Row]:
        problem = parts.LinearProblem(self._batches[0])
        timings = interleaved(problem.solvers(), self._repeats)
        return seconds_rows("implicit", f"solver, {parts.STEPS} products", timings, 1, "neumann")

    def memory(self) -> list[Row]:
        arguments = ("bench_multilabel_memory", "implicit", str(self._threads))
        found = {name: in_own_process(*arguments, name) for name in self._methods}
        return memory_rows("implicit", found, parts.BASELINE)


def _measured_epoch(trainer: Any, seconds: list[float]) -> Callable[[], None]:
    """A function that trains an epoch and appends to `seconds` those that were spent inside the solver."""
    watch = Stopwatch()
    implicit = getattr(trainer, "implicit", None)
    solver = None if implicit is None else implicit.settings.solver
    if solver is not None:
        solver.solve = watch.wrap(solver.solve)

    def epoch() -> None:
        before = watch.seconds
        train_epoch(trainer)
        seconds.append(watch.seconds - before)

    return epoch
