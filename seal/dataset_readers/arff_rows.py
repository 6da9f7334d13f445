"""
The values of ARFF: bare or quoted text between commas, and rows of them as numbers.

Nearly all rows of a large file are numerals alone: such rows are checked by one regular expression and converted at
once. Other rows are read value by value, and all errors are found there.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Optional, Union

import numpy
from allennlp.common.checks import ConfigurationError
from scipy import sparse

# Possessive quantifiers (`++`) throughout: no text, however damaged, makes the matching slow.
_NUMBER = r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?+"
_ENTRY = rf"\d++[ \t]++(?:{_NUMBER}|\?)[ \t]*+"
_PLAIN = rf"[ \t]*+(?:{_NUMBER}|\?)[ \t]*+"
_QUOTED = r"""(?:'((?:[^'\\]|\\.)*+)'|"((?:[^"\\]|\\.)*+)")"""
_VALUE = rf"(?:{_QUOTED}|([^,]*+))\s*+(,|\Z)"
NUMBER = re.compile(_NUMBER, re.ASCII)
SPARSE_NUMERALS = re.compile(rf"\{{[ \t]*+(?:{_ENTRY}(?:,[ \t]*+{_ENTRY})*+)?+\}}", re.ASCII)
DENSE_NUMERALS = re.compile(rf"{_PLAIN}(?:,{_PLAIN})*+", re.ASCII)
DENSE_VALUE = re.compile(rf"\s*+{_VALUE}", re.DOTALL)
SPARSE_VALUE = re.compile(rf"\s*+([0-9]++)\s++{_VALUE}", re.DOTALL)
# A `%` opens a comment at the start of a line or after white space: names of KU Leuven's have one inside.
# A quote opens only where a value may start: within a bare one it is an apostrophe.
UNCOMMENTED = re.compile(rf"(?:(?<![^\s,{{]){_QUOTED}|(?<=\S)%|[^%])*+", re.DOTALL)
# Weka's weight of a row, behind its values.
_WEIGHT = re.compile(r"[^\s,{][\s,]*+,?\s*(\{\s*[+-]?[\d.]+(?:[eE][+-]?\d+)?\s*\})\Z")
ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}

_LARGEST = float(numpy.finfo(numpy.float32).max)

#: A piece of a file ends with so many values, or rows.
PIECE_VALUES, PIECE_ROWS = 2**20, 2**14


@dataclass(frozen=True)
class Attribute:
    """
    A column of an ARFF file.

    # Parameters

    name : `str`
    kind : `str`
        `"numeric"`, `"nominal"`, `"string"`, `"date"` or `"hierarchical"`.
    values : `tuple[str, ...]`
        The list of a nominal attribute, the nodes of a hierarchical one; else empty.
    line : `int`
        The line of its declaration, counted from 1.
    """

    name: str
    kind: str
    values: tuple[str, ...]
    line: int


def unescape(text: str) -> str:
    """The text between quotes without its backslashes: `\\n`, `\\r` and `\\t` are white space, `\\x` is x."""
    if "\\" not in text:
        return text
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)


def uncommented(line: str) -> str:
    """The line up to its comment, if it has one, without white space at the end."""
    if "%" not in line:
        return line
    return "" if line[0] == "%" else UNCOMMENTED.match(line)[0].rstrip()


def split_values(where: str, text: str) -> list[tuple[str, bool]]:
    """The values between commas, and whether each was in quotes: a quoted `?` is not a missing value."""
    values, end, more = [], 0, True
    while more:
        match = DENSE_VALUE.match(text, end)
        values.append(_value(where, *match.groups()[:3]))
        end, more = match.end(), match[4] == ","
    return values


class ArffRows:
    """Reads the rows after `@data` of a file with these attributes; `path` is for messages."""

    def __init__(self, path: str, attributes: list[Attribute]) -> None:
        self.path = path
        self.attributes = attributes
        self._texts: dict[int, list[str]] = {}
        # For a nominal attribute: value -> place in its list. For a text column: text -> place, growing with the texts.
        self._places: list[dict[str, int]] = []
        # The largest numeral that is its own code; -1 where numerals are not their own codes.
        self._bounds = numpy.full(len(attributes), -1.0)
        for column, attribute in enumerate(attributes):
            self._places.append({value: place for place, value in enumerate(attribute.values)})
            if attribute.kind == "numeric":
                self._bounds[column] = _LARGEST
            elif attribute.kind == "nominal":
                if attribute.values == tuple(map(str, range(len(attribute.values)))):
                    self._bounds[column] = len(attribute.values) - 1
            else:
                self._texts[column] = []
        self._numeric = self._bounds == _LARGEST

    def read(
        self, lines: Iterable[tuple[int, str]]
    ) -> Iterator[tuple[Union[numpy.ndarray, sparse.csr_array], dict[int, list[str]], numpy.ndarray]]:
        """
        `codes`, `texts` and `lines` of an `ArffTable` for each piece of the rows, of numbered lines without white space
        at either end; empty ones are skipped.
        """
        columns: list[Optional[numpy.ndarray]] = []
        values: list[numpy.ndarray] = []
        numbers: list[int] = []
        count = 0
        self._forget_texts()
        for number, line in lines:
            line = uncommented(line)
            if not line:
                continue
            if line[0] == "{":
                row = self._sparse_numerals(line) or self._sparse(f"{self.path}:{number}", line)
            else:
                row = None, self._dense(f"{self.path}:{number}", line)
            columns.append(row[0])
            values.append(row[1])
            numbers.append(number)
            count += len(row[1])
            if count >= PIECE_VALUES or len(numbers) == PIECE_ROWS:
                yield self._codes(columns, values), self._texts, numpy.array(numbers, dtype=numpy.int64)
                columns, values, numbers, count = [], [], [], 0
                self._forget_texts()
        if numbers:
            yield self._codes(columns, values), self._texts, numpy.array(numbers, dtype=numpy.int64)

    def _codes(
        self, columns: list[Optional[numpy.ndarray]], values: list[numpy.ndarray]
    ) -> Union[numpy.ndarray, sparse.csr_array]:
        """The rows as a matrix; a row without `columns` has a value for each."""
        width = len(self.attributes)
        if all(some is None for some in columns):
            return numpy.array(values, numpy.float32).reshape(len(values), width)
        everything = numpy.arange(width, dtype=numpy.int32)
        columns = [everything if some is None else some for some in columns]
        indptr = numpy.cumsum([0] + [len(row) for row in columns])
        codes = sparse.csr_array(
            (numpy.concatenate(values), numpy.concatenate(columns), indptr), shape=(len(values), width)
        )
        codes.sort_indices()
        return codes

    def _forget_texts(self) -> None:
        for column in self._texts:
            self._places[column] = {"": 0}
        self._texts = {column: [""] for column in self._texts}

    def _sparse_numerals(self, line: str) -> Optional[tuple[numpy.ndarray, numpy.ndarray]]:
        if not SPARSE_NUMERALS.fullmatch(line):
            return None
        pairs = _numbers(line[1:-1]).reshape(-1, 2)
        if not (pairs[:, 0] < len(self.attributes)).all():
            return None
        columns, values = pairs[:, 0].astype(numpy.int32), pairs[:, 1]
        if not (numpy.diff(columns) > 0).all() or not self._are_codes(values, columns):
            return None
        return columns, values.astype(numpy.float32)

    def _sparse(self, where: str, line: str) -> tuple[numpy.ndarray, numpy.ndarray]:
        _check_no_weight(where, line)
        if line[-1] != "}":
            raise ConfigurationError(f"{where}: the sparse row does not end in '}}'.")
        text, row, end = line[1:-1], {}, 0
        more = bool(text.strip())
        while more:
            match = SPARSE_VALUE.match(text, end)
            if not match:
                raise ConfigurationError(
                    f"{where}: expected 'index value' in the sparse row, found {text[end : end + 40].strip()!r}."
                )
            digits = match[1].lstrip("0") or "0"
            # Python refuses to convert thousands of digits.
            if len(digits) > 9 or int(digits) >= len(self.attributes):
                raise ConfigurationError(
                    f"{where}: the index {digits[:20]} is out of range; the last attribute is "
                    f"{len(self.attributes) - 1}."
                )
            column = int(digits)
            if column in row:
                raise ConfigurationError(f"{where}: the index {column} comes twice in the sparse row.")
            row[column] = self._code(where, column, *_value(where, *match.groups()[1:4]))
            end, more = match.end(), match[5] == ","
        return numpy.array(list(row), numpy.int32), numpy.array(list(row.values()), numpy.float32)

    def _dense(self, where: str, line: str) -> numpy.ndarray:
        if DENSE_NUMERALS.fullmatch(line):
            values = _numbers(line)
            if len(values) == len(self.attributes) and self._are_codes(values, slice(None)):
                return values.astype(numpy.float32)
        if "'" in line or '"' in line:
            parts = split_values(where, line)
        else:
            parts = [(part.strip(), False) for part in line.split(",")]
        if len(parts) != len(self.attributes):
            _check_no_weight(where, line)
            raise ConfigurationError(f"{where}: the row has {len(parts)} values for {len(self.attributes)} attributes.")
        codes = (self._code(where, column, *part) for column, part in enumerate(parts))
        return numpy.fromiter(codes, numpy.float32, len(parts))

    def _are_codes(self, values: numpy.ndarray, columns: Union[numpy.ndarray, slice]) -> bool:
        bounds, numeric = self._bounds[columns], self._numeric[columns]
        missing = numpy.isnan(values)
        whole = (values >= 0) & (values == numpy.floor(values))
        return bool((missing | ((numpy.abs(values) <= bounds) & (numeric | whole))).all())

    def _code(self, where: str, column: int, value: str, quoted: bool) -> float:
        if value == "?" and not quoted:
            return numpy.nan
        attribute = self.attributes[column]
        if attribute.kind == "numeric":
            if NUMBER.fullmatch(value) and abs(float(value)) <= _LARGEST:
                return float(value)
            raise ConfigurationError(
                f"{where}: {value[:40]!r} is not a finite number, but the attribute {attribute.name!r} is numeric."
            )
        places = self._places[column]
        place = places.get(value)
        if place is not None:
            return place
        if attribute.kind == "nominal":
            if NUMBER.fullmatch(value):
                number = float(value)
                if 0 <= number <= self._bounds[column] and number.is_integer():
                    return number
            listed = ",".join(attribute.values)
            raise ConfigurationError(
                f"{where}: the value {value[:40]!r} is not in the list of {attribute.name!r}: "
                f"{{{listed[:60]}{'...' if len(listed) > 60 else ''}}}."
            )
        if not value and not quoted:
            raise ConfigurationError(f"{where}: the value of {attribute.name!r} is empty.")
        places[value] = len(places)
        self._texts[column].append(value)
        return places[value]


def _check_no_weight(where: str, line: str) -> None:
    match = _WEIGHT.search(line)
    if match:
        raise ConfigurationError(
            f"{where}: the row ends with an instance weight, {match[1]}; weights are not supported, so remove it."
        )


def _numbers(text: str) -> numpy.ndarray:
    # Only ever called on text that a regular expression has checked: numpy stops silently at what it
    # cannot read, and reads one number out of mere white space.
    if not text or text.isspace():
        return numpy.empty(0)
    return numpy.fromstring(text.replace(",", " ").replace("?", "nan"), dtype=numpy.float64, sep=" ")


def _value(where: str, single: Optional[str], double: Optional[str], bare: Optional[str]) -> tuple[str, bool]:
    if bare is None:
        return unescape(single if single is not None else double), True
    bare = bare.rstrip()
    if not bare or bare[0] in "'\"":
        what = f"the quote of {bare[:40]!r} is not closed" if bare else "a value between commas is empty"
        raise ConfigurationError(f"{where}: {what}.")
    return bare, False
