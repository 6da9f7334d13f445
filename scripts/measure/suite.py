"""
What a suite of measurements is: a data set, the methods compared on it, and how a trained run is scored.
"""

import importlib
import pkgutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy
import pandas

ROOT = Path(__file__).resolve().parents[2]
"""
The repository; runs have it as their working directory, since the data paths of configs are relative to it.
"""


class UserError(Exception):
    """A mistake of the person at the command line, told in one sentence."""


@dataclass(frozen=True)
class Settings:
    """
    What a run's config depends on. `library` is the path from the config's folder to `training_configs/lib`.
    """

    library: str
    seed: int
    epochs: int
    fraction: float
    encoder: Optional[str] = None


@dataclass(frozen=True)
class Method:
    """
    # Parameters

    title : `str`
        The name in tables and figures.
    write : `Callable[[Settings], str]`
        The text of the run's jsonnet config.
    packages : `Tuple[str, ...]`
        What `allennlp train` has to import.
    recovers : `bool`
        Whether a run that was killed and recovered ends like one that was not. The others start afresh.
    """

    title: str
    write: Callable[[Settings], str]
    packages: Tuple[str, ...] = ("seal",)
    recovers: bool = True


Totals = Dict[str, numpy.ndarray]


@dataclass(frozen=True)
class Statistic:
    """
    A score that is a function of sums over examples. `value` maps the columns' sums, elementwise, to the
    score.
    """

    columns: Tuple[str, ...]
    value: Callable[[Totals], numpy.ndarray]


@dataclass
class Scores:
    """
    A run on one split: its metrics, and what each example adds to the statistics: a row an example, named by
    the columns `key`, with the counts that `Statistic`s need.
    """

    metrics: Dict[str, float]
    examples: pandas.DataFrame


@dataclass(frozen=True)
class Suite:
    """
    # Parameters

    name, dataset, title : `str`
    methods : `Dict[str, Method]`
    data : `Callable[[], Dict[str, Optional[str]]]`
        The path of each split, relative to the repository; `None` where the data set has no such split.
    epochs : `int`
        Unless `--epochs` is given.
    metrics : `Dict[str, str]`
        The names of the metrics of a split and their headings.
    key : `Tuple[str, ...]`
        The columns that name an example, the same in every run.
    statistics : `Dict[str, Statistic]`
        The metrics whose difference from the baseline is tested.
    score : `Callable[[Path, Dict[str, str]], Tuple[Dict[str, Scores], int]]`
        A run's folder and the paths of splits to the scores of each, and the model's number of parameters.
    encoder : `str`, optional
        A sentence that asks for `--encoder` where the suite needs one; `None` where it takes none.
    """

    name: str
    dataset: str
    title: str
    methods: Dict[str, Method]
    data: Callable[[], Dict[str, Optional[str]]]
    epochs: int
    metrics: Dict[str, str]
    key: Tuple[str, ...]
    statistics: Dict[str, Statistic]
    score: Callable[[Path, Dict[str, str]], Tuple[Dict[str, Scores], int]]
    encoder: Optional[str] = None
    baseline: str = "cross_entropy"
    selection: str = "f1"


def all_suites() -> Dict[str, Suite]:
    """Every suite of `scripts.measure.suites`, by name."""
    package = importlib.import_module("scripts.measure.suites")
    found: List[Any] = []
    for module in pkgutil.iter_modules(package.__path__):
        found += importlib.import_module(f"{package.__name__}.{module.name}").SUITES
    return {suite.name: suite for suite in found}
