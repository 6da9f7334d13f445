"""Experiments of multi-label data and of segmentation by the names of their data set and method."""

from scripts.measure.configs import library_value, parse_settings
from scripts.measure.grid import Grid

GRIDS = {"multilabel": Grid("multilabel"), "segmentation": Grid("segmentation")}


def expression(family, dataset, method, settings=""):
    """The jsonnet expression; `settings` as `scripts/reproduce.py --settings` takes them. `lib` is the library."""
    called = GRIDS[family].call(dataset, method, parse_settings(settings))
    return f"(local {family} = lib; {called})"


def config(family, dataset, method, settings=""):
    return library_value(f"{family}.libsonnet", expression(family, dataset, method, settings))
