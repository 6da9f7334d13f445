"""Reads label matrices in the encodings and containers that users of scikit-learn have."""

from typing import Any, NamedTuple

import numpy
from scipy import sparse

#: The encodings of a label: the number for an absent one, and for a present one.
ENCODINGS = ((0, 1), (-1, 1), (1, 2))


class LabelMatrix(NamedTuple):
    """`gold`, `(rows, labels)`, boolean, and the two numbers of its encoding, for absent and present labels."""

    gold: numpy.ndarray
    encoding: tuple[int, int]


def read_labels(y: Any) -> LabelMatrix | None:
    """
    Reads the label sets in `y`, an array, sparse matrix or table of `(rows, labels)`; `None` if it has one column.

    # Raises

    `ValueError` naming the first cell that is in none of `ENCODINGS`.
    """
    table = y.toarray() if sparse.issparse(y) else y
    try:
        table = numpy.asarray(table)
    except ValueError:
        raise ValueError(
            "y: rows have different lengths; lists of labels become a matrix by "
            "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(y)."
        ) from None
    if table.dtype.kind in "US" and isinstance(y, (list, tuple)):
        # NumPy converts numbers beside a text to texts.
        table = numpy.asarray(y, dtype=object)
    if table.ndim < 2 or (table.ndim == 2 and table.shape[1] == 1):
        return None
    if table.ndim > 2 or 0 in table.shape:
        raise ValueError(f"y: a matrix of (rows, labels) is needed, found the shape {table.shape}.")
    numbers = table
    if table.dtype.kind not in "biu":
        numbers = numpy.array([[_number(cell) for cell in row] for row in table], dtype=float).reshape(table.shape)
        wrong = numpy.argwhere(~numpy.isfinite(numbers))
        if len(wrong):
            row, column = wrong[0]
            cell = table[row, column].item() if isinstance(table[row, column], numpy.generic) else table[row, column]
            raise ValueError(
                f"y: row {row}, column {column} (from 0) is {cell!r}, where a matrix of labels has 0 or "
                "1; leave out rows of which a label is not known, and make names of labels such a matrix by "
                "sklearn.preprocessing.MultiLabelBinarizer."
            )
    values = numpy.unique(numbers)
    for encoding in ENCODINGS:
        if set(values.tolist()) <= set(encoding):
            return LabelMatrix(numbers == encoding[1], encoding)
    usual = numpy.isin(numbers, (0, 1) if (numbers == 0).any() else (-1, 1))
    row, column = numpy.argwhere(~usual)[0]
    raise ValueError(
        f"y: a matrix of labels has 0 and 1 (or -1 and 1, or 1 and 2) alone, found {_few(values)} "
        f"({numbers[row, column]:g} in row {row}, column {column}, from 0); leave out rows of which a label is not "
        "known. Classes, one a row, are a 1d array."
    )


def _few(values: numpy.ndarray) -> str:
    """The first four values, for a message."""
    shown = [f"{value:g}" for value in values[:4]]
    return ", ".join(shown) + (f" and {len(values) - 4} more" if len(values) > 4 else "")


def _number(cell: Any) -> float:
    """A cell as a number, NaN if it is not one."""
    try:
        return numpy.nan if isinstance(cell, (str, bytes)) else float(cell)
    except (TypeError, ValueError):
        return numpy.nan
