"""Reads a CSV file as the table of attributes that an ARFF file is."""

import os
from collections.abc import Sequence
from typing import Any, Optional

import numpy
from allennlp.common.checks import ConfigurationError

from seal.common.setting_checks import abbreviate, listed
from seal.files.paths import user_path
from seal.files.records import csv_records
from seal.files.text_lines import text_lines, without_packing
from seal.tasks.multilabel.arff import ArffTable, Attribute

# What stands for a missing value, in lower case, in the files of pandas, R and Weka.
_MISSING = ("", "nan", "na", "n/a", "null", "none", "?")
_BITS = {"true": "1", "false": "0", "yes": "1", "no": "0"}


def is_csv(path: str) -> bool:
    """Whether a file is read as CSV, by its name."""
    return without_packing(os.fspath(path)).endswith(".csv")


def read_csv_table(path: str) -> ArffTable:
    """
    Read a CSV file whose first row names the columns. A column of numbers, or of `True` and `False` or `yes` and `no`,
    is a numeric attribute; an empty cell, `NaN`, `NA` or `?` is a missing value. A column with anything else is a
    string attribute, which cannot be a feature. A first column without a name is left out: pandas numbers rows there.

    # Raises

    `ConfigurationError` if the file is no CSV or holds no row, or a number is not finite in single precision.
    """
    path = user_path(os.fspath(path))
    names: list[str] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    for number, record in csv_records(path, text_lines(path, "CSV, with the names of its columns in the first row")):
        rows.append(list(record.values()))
        lines.append(number)
        names = names or list(record)
    if not rows:
        raise ConfigurationError(f"{path}:1: no row follows the names of the columns.")
    attributes: list[Attribute] = []
    columns: list[numpy.ndarray] = []
    for name, cells in zip(names, zip(*rows)):
        if not name:
            continue
        values = _numbers(cells)
        attributes.append(Attribute(name, "string" if values is None else "numeric", (), 1))
        columns.append(numpy.full(len(rows), numpy.nan, numpy.float32) if values is None else values)
        wrong = numpy.flatnonzero(numpy.isinf(columns[-1]))
        if len(wrong):
            raise ConfigurationError(
                f"{path}:{lines[wrong[0]]}: the column {abbreviate(name)} has {abbreviate(cells[wrong[0]])}, which is "
                "no number in single precision."
            )
    texts = {place: [""] for place, attribute in enumerate(attributes) if attribute.kind == "string"}
    return ArffTable(path, "", attributes, numpy.stack(columns, axis=1), texts, numpy.array(lines))


def which_labels(table: ArffTable) -> ConfigurationError:
    """The error for a CSV file of which nothing says what are labels; it names the columns that may be."""
    codes = numpy.asarray(table.codes)
    places = [place for place in range(codes.shape[1]) if numpy.isin(codes[:, place], (0, 1)).all()]
    names = [table.attributes[place].name for place in places]
    return ConfigurationError(
        f"{table.path}:1: which columns are labels? Name them in dataset_reader.labels. "
        + (f"Those that have 0 and 1 alone: {listed(names)}." if names else "None has 0 and 1 alone.")
    )


def number_of(cell: Any) -> Any:
    """The number that a cell of a table stands for, `None` if it is missing; what is no cell or no number unchanged."""
    if not isinstance(cell, str):
        return cell
    text = cell.strip().lower()
    if text in _MISSING:
        return None
    try:
        return float(_BITS.get(text, text))
    except ValueError:
        return cell


def _numbers(cells: Sequence[str]) -> Optional[numpy.ndarray]:
    """The numbers of a column, NaN for a missing value; `None` if a cell is neither."""
    try:
        values = numpy.array(cells, dtype=numpy.float64)
    except ValueError:
        try:
            # `None`, of a missing value, becomes NaN.
            values = numpy.array([number_of(cell) for cell in cells], dtype=numpy.float64)
        except ValueError:
            return None
    with numpy.errstate(over="ignore"):
        return values.astype(numpy.float32)
