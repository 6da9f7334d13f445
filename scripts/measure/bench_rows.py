"""The rows of a benchmark's table, from the timings of its rounds."""

from statistics import median
from typing import NamedTuple, Optional

from scripts.measure.bench_timing import Timing, median_ratio, spread

Timings = dict[str, list[Timing]]
"""By name, a timing a round."""


class Row(NamedTuple):
    """A number that was measured."""

    #: The suite of the benchmark, and its case: what is measured.
    suite: str
    case: str
    #: The measured method, solver, predictor or size.
    method: str
    #: The name of the number, with its unit, such as `"seconds"`.
    metric: str
    value: float
    #: What `value` is compared with, in the same unit, mostly the baseline method's; `None` without a comparison.
    baseline: Optional[float]
    #: For timings, the median over rounds of the ratio within a round: the method's time over the baseline's, or for a
    #: speed the inverse, so that above 1 is faster. For other numbers, `value / baseline`. `None` without a baseline.
    ratio: Optional[float]


def seconds_rows(suite: str, case: str, timings: Timings, steps: int, baseline: str) -> list[Row]:
    """The seconds of a step, by the clock and of the CPU, for everything that was timed."""
    return [row for name in timings for row in seconds_of(suite, case, name, timings, steps, baseline)]


def seconds_of(suite: str, case: str, name: str, timings: Timings, steps: int, baseline: str) -> list[Row]:
    """The seconds of a step for one name, with the ratio to the baseline and how far the rounds' ratios lie apart."""
    rows = []
    for kind, metric in (("wall", "seconds"), ("cpu", "cpu_seconds")):
        values, base = ([getattr(timing, kind) / steps for timing in timings[key]] for key in (name, baseline))
        ratio = median_ratio(values, base)
        rows.append(Row(suite, case, name, metric, median(values), median(base), ratio))
        rows.append(Row(suite, case, name, f"{metric}_spread", spread(values, base), None, None))
    return rows


def speed_rows(suite: str, case: str, timings: Timings, count: int, baseline: str, what: str = "examples") -> list[Row]:
    """The examples a second, of which a timing has `count`; a ratio above 1 is faster than the baseline."""
    rows = []
    for kind, metric in (("wall", f"{what}_per_second"), ("cpu", f"{what}_per_cpu_second")):
        seconds = {name: [getattr(timing, kind) for timing in timings[name]] for name in timings}
        base = seconds[baseline]
        for name, values in seconds.items():
            speed, ratio = count / median(values), median_ratio(base, values)
            rows.append(Row(suite, case, name, metric, speed, count / median(base), ratio))
            rows.append(Row(suite, case, name, f"{metric}_spread", spread(base, values), None, None))
    return rows


def operation_rows(suite: str, case: str, operations: dict[str, int], steps: int, baseline: str) -> list[Row]:
    """The operations of a step, in millions."""
    rows = []
    for name, count in operations.items():
        value, base = (number / steps / 1e6 for number in (count, operations[baseline]))
        rows.append(Row(suite, case, name, "million_operations", value, base, value / base))
    return rows


def memory_rows(suite: str, found: dict[str, dict[str, float]], baseline: str) -> list[Row]:
    """`peak` and `added` of each method, in MiB."""
    rows = []
    for name, values in found.items():
        for kind, value in values.items():
            base = found[baseline][kind]
            # A tiny model may need no more than the imports took at their peak: then nothing was added.
            ratio = value / base if base else None
            rows.append(Row(suite, "memory", name, f"{kind}_mib", value, base, ratio))
    return rows
