"""
Reads records from files: JSON objects, in which a repeated key is an error, and rows of CSV files.
"""

import csv
import itertools
import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Optional, TypeVar

from seal.common.setting_checks import abbreviate, check_that, counted
from seal.registry import ConfigurationError

Repeatable = TypeVar("Repeatable", bound=Hashable)


def read_json(line: str, complaint: str, where: str = "") -> Any:
    """
    Parses a line of JSON.

    # Parameters

    line : `str`
    complaint : `str`
        The message if the line is not JSON.
    where : `str`, optional
        `file:line`, for messages.

    # Raises

    `ConfigurationError` if the line is not JSON, a key is repeated, the nesting is too deep, or a number has too many
    digits.
    """
    start = f"{where}: " if where else ""

    def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            twice = next(key for key, number in Counter(key for key, _ in pairs).items() if number > 1)
            raise ConfigurationError(f"{start}{abbreviate(twice)} is given twice.")
        return record

    try:
        # With the line end, an error at the end of the line would be reported at a column of the next line.
        return json.loads(line.rstrip("\r\n"), object_pairs_hook=without_repeats)
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"{start}{complaint}: {error.msg} at character {error.colno}.") from error
    except RecursionError as error:
        raise ConfigurationError(f"{start}the JSON is nested too deeply.") from error
    except ValueError as error:
        raise ConfigurationError(f"{start}the JSON has a number of too many digits.") from error


def json_records(path: str, lines: Iterable[tuple[int, str]], wanted: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """
    Parses a file of JSON lines from its numbered lines. Yields the number and the object of each line that is not
    blank; `wanted` describes the object, for the error of a line with anything else.
    """
    for number, line in lines:
        if not line.isspace():
            where = f"{path}:{number}"
            record = read_json(line, "each line must be one JSON object", where)
            check_that(isinstance(record, dict), f"{where}: the JSON", wanted, record)
            yield number, record


def is_accepted(record: dict[str, Any]) -> bool:
    """Whether an annotation counts: Prodigy marks those that its user rejected or ignored."""
    return record.get("answer", "accept") == "accept"


# Python's limit, 131,072 characters, is less than a text or a line of `predict` may have.
csv.field_size_limit(2**31 - 1)

#: The separators of cells; programs in languages with decimal commas write semicolons.
_SEPARATORS = (",", ";", "\t")


def csv_rows(path: str, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """
    Parses a CSV file by Python's `csv` from its numbered lines, with line ends. Yields the number of each row's first
    line and the row's cells. A blank line has no cells; a line `""` has one empty cell. A cell in double quotes may
    hold separators, line ends and doubled quotes. The separator is the comma, semicolon or tab that splits the first
    non-blank row into the most cells.
    """
    numbered = iter(lines)
    begun: list[int] = []
    text = ""

    def texts() -> Iterator[str]:
        nonlocal text
        for number, text in itertools.chain(begin, numbered):
            begun.append(number)
            yield text

    begin: list[tuple[int, str]] = []
    for item in numbered:
        begin.append(item)
        if item[1].strip():
            break
    if not begin:
        return
    reader = csv.reader(texts(), delimiter=_separator(begin[-1][1]), strict=True)
    while True:
        begun.clear()
        try:
            row = next(reader, None)
        except csv.Error as error:
            where = f"{path}:{begun[0] if begun else 1}"
            raise ConfigurationError(
                f"{where}: this row is not CSV ({error}); a cell with quotes is in quotes, and its own are doubled."
            ) from error
        if row is None:
            return
        yield begun[0], [] if len(row) == 1 and text.isspace() else row


def csv_records(path: str, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, dict[str, str]]]:
    """
    Parses a CSV file whose first non-blank row has the distinct names of the columns; the first of several may be
    empty. Yields the number of each row's first line and its cells by the columns' names. A row of empty cells counts,
    because programs write a missing text so. A blank line counts only if there is one column.
    """
    names: Optional[list[str]] = None
    for number, row in csv_rows(path, lines):
        where = f"{path}:{number}"
        if names is None:
            if not any(cell.strip() for cell in row):
                continue
            names = [name.strip() for name in row]
            # The first may be empty: pandas writes the numbers of rows so.
            wrong = "" if "" in names[1:] else first_repeated(names)
            if wrong is not None:
                raise ConfigurationError(
                    f"{where}: the first row names the columns, each once; found {abbreviate(wrong)}."
                )
            continue
        if not row:
            if len(names) > 1:
                continue
            row = [""]
        if len(row) != len(names):
            raise ConfigurationError(
                f"{where}: found {counted(len(row), 'cell')}, and {len(names)} columns are named; a cell with a "
                "separator in it is in double quotes."
            )
        yield number, dict(zip(names, row))


def _separator(line: str) -> str:
    def cells(separator: str) -> int:
        try:
            return len(next(csv.reader([line], delimiter=separator)))
        except csv.Error:
            return 0

    return max(_SEPARATORS, key=cells)


def first_repeated(values: Iterable[Repeatable]) -> Optional[Repeatable]:
    """The first value that equals an earlier one; `None` if all values differ."""
    seen: set[Repeatable] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
