"""Writes tables as CSV, and computes the rank correlation of two tables."""

import csv
from collections.abc import Iterable
from typing import Any, Optional, Union

import numpy
import torch


def write_table(path: str, header: Iterable[Any], rows: Iterable[Iterable[Any]]) -> None:
    """Writes a CSV file; numbers have six significant digits, and NaN becomes an empty cell."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([_cell(value) for value in row] for row in rows)


def write_matrix(path: str, corner: str, names: Iterable[str], matrix: Union[numpy.ndarray, torch.Tensor]) -> None:
    """Writes a square `matrix` as a CSV file; `names` are the names of its rows and of its columns."""
    names = list(names)
    write_table(path, [corner, *names], ([name, *row] for name, row in zip(names, matrix.tolist())))


def spearman(first: numpy.ndarray, second: numpy.ndarray) -> Optional[float]:
    """Spearman's rank correlation; `None` for fewer than two pairs, or if one side is constant."""
    if len(first) < 2 or first.max() == first.min() or second.max() == second.min():
        return None
    from scipy.stats import spearmanr  # It takes a while to import.

    return float(spearmanr(first, second).statistic)


def _cell(value: Any) -> Any:
    if isinstance(value, (float, numpy.floating)):
        return "" if value != value else f"{value:.6g}"
    return value
