"""Reads the inputs of `seal predict` from a file or from standard input, one per line or CSV row."""

import itertools
import json
import logging
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple, NoReturn, Optional

from seal.common.setting_checks import whole_number
from seal.common.tag_notation import TagsSeen, recognise
from seal.files.format_sniffing import check_text_bytes, is_data, other_format
from seal.files.paths import local_path, user_path
from seal.files.records import csv_records
from seal.files.text_lines import (
    BLANKS,
    HEAD,
    READ_ERRORS,
    NumberedLine,
    cells_of,
    opened,
    text_lines,
    without_packing,
)
from seal.registry import ConfigurationError


class Shard(NamedTuple):
    """
    One of several consecutive parts of a file's lines, which together have every line once.

    # Parameters

    number : `int`
        The number of the shard, from 1 to `parts`.
    parts : `int`
        The number of shards.
    """

    number: int
    parts: int

    def lines(self, total: int) -> range:
        """The indices, from 0, of the shard's lines among `total` lines. Sizes of shards differ by at most one line."""
        return range(total * (self.number - 1) // self.parts, total * self.number // self.parts)


def shard_of(text: str) -> Shard:
    """Parses a shard such as `2/8`, the second of eight; raises a `ValueError` for other text."""
    number, parts = (whole_number(part) for part in text.partition("/")[::2])
    if number is not None and parts is not None and 1 <= number <= parts:
        return Shard(number, parts)
    raise ValueError(f"expected the number of a part and of all parts, such as 1/8 or 8/8, found {text!r}")


logger = logging.getLogger(__name__)

_TAG = re.compile(r"[BIESLUMW][-_]\S+|\S+[-_][BIESLUMW]|O", re.IGNORECASE)
# The number of rows at the beginning of an input that are examined to distinguish columns from text.
_ROWS_SEEN = 100
# A row of columns: with a tab inside, or a tag at its end.
_ROW = re.compile(r"(?!\{).*\t|.*\S[ \t]+([BIESLU]-\S+|O)\s*$")


def input_lines(path: str, shard: Optional[Shard] = None) -> Iterator[NumberedLine]:
    """
    Yields the inputs in a file, or in a shard of it. A blank line of text is an input, for which the predictor reports
    an error. Blank lines between JSON objects, or between rows of several columns, are skipped.

    Each row of a file whose name ends in `.csv` is an object with the names of the columns as keys. In other files a
    carriage return ends a line, on standard input it does not. Each byte that is not UTF-8 becomes a character from
    U+DC80 to U+DCFF.

    # Parameters

    path : `str`
        `-` is standard input; `~` is the home folder.
    shard : `Optional[Shard]`, optional (default = `None`)

    # Raises

    `ConfigurationError` if the file cannot be read, or has another format, such as a JSON array over several lines.
    """
    path = path if path == "-" else user_path(path)
    if without_packing(path).endswith(".csv"):
        yield from _rows_of(path, shard)
        return
    rest = _lines_of(path)
    begin = _begin(rest, path)
    # All shards use the name and the beginning of the whole file.
    first = next((line for line in begin if not line.isspace()), "")
    is_json = without_packing(path).endswith((".jsonl", ".json")) or first.lstrip()[:1] == "{"
    if shard is None:
        lines = _with_warning(itertools.chain(begin, rest), path)
    else:
        lines = _lines_of(path, shard)
    yield from (line for line in lines if not (is_json and line.isspace()))


def _lines_of(path: str, shard: Optional[Shard] = None) -> Iterator[NumberedLine]:
    """The lines of the input, or of a shard of it, with undecodable bytes as surrogates."""
    try:
        # A replacement of standard input (a notebook's, a test's) may have no `buffer`. It is not closed here.
        source = nullcontext(getattr(sys.stdin, "buffer", sys.stdin)) if path == "-" else opened(local_path(path))
        with source as lines:
            if path == "-" and hasattr(lines, "peek"):
                check_text_bytes(lines.peek(1)[:HEAD], "standard input", has_name=False)
            for number, line in enumerate(lines) if shard is None else _of_shard(lines, path, shard):
                if isinstance(line, bytes):
                    line = line.decode("utf-8", errors="surrogateescape")
                line = line.removeprefix("\ufeff") if number == 0 else line
                if line:
                    yield NumberedLine(f"{line[:-2]}\n" if line.endswith("\r\n") else line, number + 1)
    except READ_ERRORS as error:
        # An error with the name of the file, such as that of a missing file, is clear.
        if isinstance(error, FileNotFoundError) or getattr(error, "filename", None) is not None:
            raise
        raise ConfigurationError(f"{path}: the file cannot be read ({error})") from error


def _of_shard(lines: Iterable[Any], path: str, shard: Shard) -> Iterator[tuple[int, Any]]:
    """The lines of a shard of the file, with their indices in the whole file."""
    with opened(local_path(path)) as whole:
        places = shard.lines(sum(1 for _ in whole))
    return itertools.islice(enumerate(lines), places.start, places.stop)


def _rows_of(path: str, shard: Optional[Shard] = None) -> Iterator[NumberedLine]:
    """The rows of a CSV file, or of a shard of it, as lines of JSON."""

    def records() -> Iterator[tuple[int, dict[str, str]]]:
        return csv_records(path, text_lines(local_path(path)))

    rows = records()
    if shard is not None:
        places = shard.lines(sum(1 for _ in records()))
        rows = itertools.islice(rows, places.start, places.stop)
    for number, record in rows:
        yield NumberedLine(json.dumps(record), number)


def _begin(lines: Iterator[NumberedLine], path: str) -> list[NumberedLine]:
    """
    Reads the lines up to the first that is not blank, or more if they look like rows of columns.

    # Raises

    `ConfigurationError` if the input is a data file, or neither lines of text nor of JSON.
    """
    name = "standard input" if path == "-" else path
    begin: list[NumberedLine] = []
    rows: list[list[str]] = []
    sentences = 1
    for line in lines:
        begin.append(line)
        if line.isspace():
            sentences += bool(rows) and not begin[-2].isspace()
            continue
        if not rows:
            other = other_format(line, json_lines=True)
            if other is not None:
                raise ConfigurationError(f"{name}: this looks like {other}; a line of the input is one input.")
            if is_data(line):
                _refuse_data(name)
        row = cells_of(line)
        # Words with tabs between them, or with blanks and a tag at the end.
        by_tabs = len(row) == len(line.strip(BLANKS).split("\t"))
        if len(row) < 2 or not (by_tabs or _TAG.fullmatch(row[-1])) or (rows and len(row) != len(rows[0])):
            return begin
        rows.append(row)
        if len(rows) == _ROWS_SEEN:
            break
    if _are_tagged(rows, sentences):
        _refuse_data(name)
    return begin


def _refuse_data(name: str) -> NoReturn:
    raise ConfigurationError(
        f"{name}: this looks like a file of data; give the text alone, a line an input, or add --use-dataset-reader if "
        "the file has the format of the training data."
    )


def _are_tagged(rows: list[list[str]], sentences: int) -> bool:
    """
    Whether rows hold words with their tags: the last column has span tags, or it has few distinct values for many rows
    and empty rows separate sentences.
    """
    seen = TagsSeen()
    tags = [row[-1] for row in rows]
    seen.add(tags, "", range(len(tags)))
    try:
        writes_spans = recognise(seen) is not None
    except ConfigurationError:  # The span tags have two notations.
        writes_spans = True
    return writes_spans or (sentences > 1 and len(seen.counts) <= len(rows) / 2)


def _with_warning(lines: Iterable[NumberedLine], path: str) -> Iterator[NumberedLine]:
    """Yields the lines unchanged, and logs a warning if every non-blank line looks like a row of columns."""
    count = rows = 0
    for line in lines:
        if not line.isspace():
            count += 1
            rows += _ROW.match(line) is not None
        yield line
    if count > 1 and rows == count:
        logger.warning(
            "%s: each of the %d lines has a tab, or ends with a tag, as rows of columns do, and was read as text; if "
            "the file has the format of the training data, add --use-dataset-reader",
            "standard input" if path == "-" else path,
            count,
        )
