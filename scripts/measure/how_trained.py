"""The part of a page about the settings of its runs, with a warning if methods have different ones."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Optional

import pandas

from scripts.measure import provenance
from scripts.measure.cells import present_methods
from scripts.measure.results import seeds_of
from scripts.measure.runs import run_name
from scripts.measure.suite import Suite

DEFAULT = "the default"
WIDTH = 80
"""The longest value that is shown, in characters; a longer one is cut."""


class Trained(NamedTuple):
    suite: str
    method: str
    seed: int
    #: The settings that it was given; `None` for a run that is older than the record of them.
    settings: Optional[dict[str, str]]
    #: The names of those that were given for its method alone.
    own: list[str]


def trained_runs(out: Path, suites: dict[str, Suite], table: pandas.DataFrame) -> list[Trained]:
    """The runs of the table, in the order of its suites and methods."""
    found: list[Trained] = []
    for name, suite in suites.items():
        ours = table[table["suite"] == name]
        for method in present_methods(suite, ours):
            for seed in seeds_of(ours, method):
                folder = out / "runs" / run_name(name, method, seed)
                found.append(Trained(name, method, seed, *provenance.given(folder)))
    return found


def lines(runs: Sequence[Trained]) -> list[str]:
    """A line for each set of settings, with the runs that were given it."""
    groups: dict[Optional[frozenset[tuple[str, str]]], list[Trained]] = {}
    for run in runs:
        # The order in which they were given does not matter.
        key = None if run.settings is None else frozenset(run.settings.items())
        groups.setdefault(key, []).append(run)
    return [f"{_shown(members[0].settings)}: {_whose(members, runs)}" for members in groups.values()]


def warnings(suites: dict[str, Suite], runs: Sequence[Trained]) -> list[str]:
    """Sentences that name methods whose settings differ from the baseline's; settings for one method do not count."""
    methods: dict[tuple[str, str], list[Trained]] = {}
    for run in runs:
        methods.setdefault((run.suite, run.method), []).append(run)
    told: dict[str, list[Trained]] = {}
    for (suite, _), ours in methods.items():
        baseline = suites[suite].baseline
        difference = _difference(ours, methods.get((suite, baseline), []))
        if difference:
            told.setdefault(f"{baseline}, which may explain a difference in scores: {difference}", []).extend(ours)
    return [f"{_whose(ours, runs)}: trained with other settings than {rest}." for rest, ours in told.items()]


def _difference(ours: Sequence[Trained], base: Sequence[Trained]) -> str:
    """The differences of the settings from the baseline's; empty if there are none, or if either is unknown."""
    found, wanted = _values(ours), _values(base)
    if not (found and wanted):
        return ""
    own = {name for run in (*ours, *base) for name in run.own}
    pairs = {name: (found.get(name, {DEFAULT}), wanted.get(name, {DEFAULT})) for name in {**wanted, **found}}
    return ", ".join(
        f"{name} {_either(values)} instead of {_either(others)}"
        for name, (values, others) in pairs.items()
        if name not in own and values != others
    )


def _either(values: set[str]) -> str:
    """The values, joined by "or"; there is one unless the seeds differ."""
    return " or ".join(map(_cut, sorted(values)))


def _values(runs: Sequence[Trained]) -> dict[str, set[str]]:
    """The values of each setting over the runs, `DEFAULT` for a run that was not given it."""
    known = [run.settings for run in runs if run.settings is not None]
    names = dict.fromkeys(name for settings in known for name in settings)
    return {name: {settings.get(name, DEFAULT) for settings in known} for name in names}


def _shown(settings: Optional[dict[str, str]]) -> str:
    if settings is None:
        return "unknown, of runs from before they were noted"
    first = sorted(settings.items(), key=lambda item: item[0] != "epochs")
    return "`" + ", ".join(f"{name}={_cut(value)}" for name, value in first) + "`"


def _cut(value: str) -> str:
    return value if len(value) <= WIDTH else f"{value[:WIDTH]}…"


def _whose(members: Sequence[Trained], runs: Sequence[Trained]) -> str:
    """The methods and suites of the members; with seeds where not all runs of a method are members."""
    if len(members) == len(runs):
        return "all runs"
    suites: dict[str, list[str]] = {}
    for suite in dict.fromkeys(run.suite for run in members):
        inside = [run for run in members if run.suite == suite]
        beside = [run for run in runs if run.suite == suite]
        methods = "all methods" if len(inside) == len(beside) else ", ".join(_methods(inside, beside))
        suites.setdefault(methods, []).append(suite)
    return "; ".join(f"{methods} on {', '.join(names)}" for methods, names in suites.items())


def _methods(members: Sequence[Trained], runs: Sequence[Trained]) -> list[str]:
    """The methods of the members, all of one suite, with seeds where not all runs of a method are members."""
    named = []
    for method in dict.fromkeys(run.method for run in members):
        seeds = [run.seed for run in members if run.method == method]
        part = len(seeds) < len([run for run in runs if run.method == method])
        named.append(f"{method} (seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))})" if part else method)
    return named
