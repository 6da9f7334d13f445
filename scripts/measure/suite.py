"""A suite of measurements: a data set, the compared methods, and the scores of a trained run."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Optional

import pandas

from scripts.measure.user_error import UserError as UserError
from seal_inspect.significance import Statistic

ROOT = Path(__file__).resolve().parents[2]
"""
The repository; runs have it as their working directory, since the data paths of configs are relative to it.
"""
LIBRARY_FOLDER = ROOT / "training_configs" / "lib"
"""The jsonnet libraries that the configs call."""


@dataclass(frozen=True)
class Settings:
    """
    The settings of a run's config. `more` are names and jsonnet values of further settings (`--settings`).
    """

    seed: int
    epochs: int
    fraction: float
    encoder: Optional[str] = None
    more: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Method:
    #: The name in tables and figures.
    title: str
    #: The text of the run's jsonnet config.
    write: Callable[[Settings], str]
    #: What `allennlp train` has to import.
    packages: tuple[str, ...] = ("seal",)
    #: Whether a run that was killed and resumed ends like one that was not. If not, it starts afresh.
    recovers: bool = True
    #: The heading that a family's tables have it under.
    group: str = ""


def grouped_methods(groups: dict[str, dict[str, str]], write: Callable[[str, Settings], str]) -> dict[str, Method]:
    """The methods of `groups`, whose titles are by group and by name; `write` gives a method's config by its name."""
    return {
        name: Method(title, partial(write, name), group=group)
        for group, members in groups.items()
        for name, title in members.items()
    }


@dataclass
class Scores:
    """
    The scores of a run on one split. `examples` has a row for each example: the columns of the suite's `key` name it,
    and further columns have the counts that the suite's `Statistic`s sum.
    """

    metrics: dict[str, float]
    examples: pandas.DataFrame


@dataclass(frozen=True)
class Suite:
    name: str
    dataset: str
    title: str
    methods: dict[str, Method]
    #: The path of each split, relative to the repository; `None` where the data set has no such split.
    data: Callable[[], dict[str, Optional[str]]]
    #: The number of epochs unless `--epochs` is given.
    epochs: int
    #: The names of the metrics of a split and their headings.
    metrics: dict[str, str]
    #: The columns that name an example, the same in every run.
    key: tuple[str, ...]
    #: The metrics whose difference from the baseline is tested.
    statistics: dict[str, Statistic]
    #: Maps a run's folder, the paths of splits and the packages to import to the scores of each split and to facts of
    #: the model: its number of `parameters`, and further ones for the training table.
    score: Callable[[Path, dict[str, str], tuple[str, ...]], tuple[dict[str, Scores], dict[str, float]]]
    #: A sentence that asks for `--encoder` where the suite needs one; `None` where it needs none.
    encoder: Optional[str] = None
    #: Whether it takes `--encoder` without needing it.
    takes_encoder: bool = False
    #: The method that the others are compared with.
    baseline: str = "cross_entropy"
    #: The metric by which the best epoch is chosen.
    selection: str = "f1"
    #: The split by which the best epoch is chosen.
    validation: str = "dev"
    #: The splits that are scored unless `--splits` is given; `None`: all.
    default_splits: Optional[tuple[str, ...]] = None
    #: Whether `--fraction` may be below 1.
    takes_fraction: bool = True
    #: Maps the name of a method to the names that `--settings` may set; `None` where it may set none.
    setting_names: Optional[Callable[[str], list[str]]] = None
    #: Maps a method and its settings to the names of the settings that change its config, where the library tells.
    read: Optional[Callable[[str, tuple[tuple[str, str], ...]], list[str]]] = None
    #: The family of suites, one a data set, that it belongs to.
    family: Optional[str] = None

    @property
    def library(self) -> Optional[str]:
        """The name that configs import the suite's library by, if `--settings` may set anything."""
        return None if self.setting_names is None else self.family or self.name.partition("_")[0]

    def splits(self) -> dict[str, str]:
        """The paths of the splits that can be scored: all but train."""
        return {split: path for split, path in self.data().items() if split != "train" and path}


def of_family(family: str, dataset: str, validation: str = "dev", **more: Any) -> Suite:
    """The suite of a family on one of its data sets, whose test data is scored only on request: when all is chosen."""
    return Suite(
        name=f"{family}_{dataset}",
        dataset=dataset,
        family=family,
        validation=validation,
        default_splits=(validation,),
        takes_fraction=False,
        **more,
    )


@dataclass(frozen=True)
class Family:
    """The same methods on several data sets: `--suite NAME --datasets ...`, with tables over the data sets."""

    name: str
    title: str
    #: The data set that is taken unless `--datasets` is given.
    default: str
    #: The metrics that have a table over the data sets, and its heading.
    headline: dict[str, str]
    #: A change, and the pairs of methods that differ in it: before, after.
    steps: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    #: A data set whose gains would dominate the mean, so that there is a mean without it, too.
    apart: Optional[str] = None

    def suites(self, suites: dict[str, Suite]) -> dict[str, Suite]:
        """The suites of the family, by data set."""
        return {suite.dataset: suite for suite in suites.values() if suite.family == self.name}


def all_suites() -> dict[str, Suite]:
    """Every suite of `scripts.measure.suites`, by name."""
    return {suite.name: suite for suite in _listed("SUITES")}


def all_families() -> dict[str, Family]:
    """Every family of `scripts.measure.suites`, by name."""
    return {family.name: family for family in _listed("FAMILIES")}


def _listed(name: str) -> list[Any]:
    package = importlib.import_module("scripts.measure.suites")
    found: list[Any] = []
    for module in pkgutil.iter_modules(package.__path__):
        found += getattr(importlib.import_module(f"{package.__name__}.{module.name}"), name, [])
    return found
