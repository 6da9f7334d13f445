"""
The tables that sub-commands write, and how alike two of them are.
"""

import csv
from typing import Any, Iterable, Optional, Union

import numpy
import torch
from scipy.stats import spearmanr


def write_table(path: str, header: Iterable[Any], rows: Iterable[Iterable[Any]]) -> None:
    """A CSV; numbers have six digits, and NaN is nothing."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([_cell(value) for value in row] for row in rows)


def write_matrix(path: str, corner: str, names: Iterable[str], matrix: Union[numpy.ndarray, torch.Tensor]) -> None:
    """`matrix` with the names of its rows, which are those of its columns."""
    names = list(names)
    write_table(path, [corner, *names], ([name, *row] for name, row in zip(names, matrix.tolist())))


def spearman(first: numpy.ndarray, second: numpy.ndarray) -> Optional[float]:
    """Spearman's correlation; `None` of less than two pairs, and where one side is constant."""
    if len(first) < 2 or first.max() == first.min() or second.max() == second.min():
        return None
    return float(spearmanr(first, second).statistic)


def _cell(value: Any) -> Any:
    if isinstance(value, (float, numpy.floating)):
        return "" if value != value else f"{value:.6g}"
    return value
