"""
ARFF, the attribute-relation file format, as a table of numbers.

The parser is our own, because no library reads all data sets that are used here (tried on nine). `scipy.io.arff` reads
no sparse rows and no string attributes, `liac-arff` makes a Python object of every value, and neither knows the
`hierarchical` attributes of KU Leuven or accepts their repeated names.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Optional, Union

import numpy
from allennlp.common.checks import ConfigurationError
from scipy import sparse

from seal.common.setting_checks import check_choice, whole_number
from seal.files.matrices import Matrix
from seal.files.names import check_name
from seal.files.paths import not_empty
from seal.files.text_lines import column_lines

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
ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}

_LARGEST = float(numpy.finfo(numpy.float32).max)

#: A piece of a file ends with so many values, or rows.
PIECE_VALUES, PIECE_ROWS = 2**20, 2**14
ATTRIBUTE = re.compile(
    r"""@attribute\s++(?:'((?:[^'\\]|\\.)*+)'|"((?:[^"\\]|\\.)*+)"|([^\s'"{][^\s{]*+))\s*+(.*)""",
    re.IGNORECASE | re.DOTALL,
)
# Old files of Weka give the range of the numbers.
NUMERIC = re.compile(
    rf"(?:numeric|real|integer)(?:\s*+\[\s*+{NUMBER.pattern}\s*+,\s*+{NUMBER.pattern}\s*+\])?+",
    re.ASCII | re.IGNORECASE,
)
# A declaration that would be read as part of the relation's name.
_LOST = re.compile(r"\s@(?:attribute\s|data\b)", re.IGNORECASE)


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


@dataclass
class ArffHeader:
    """
    The declarations of an ARFF file: its relation and its attributes.

    # Parameters

    path : `str`
    relation : `str`
    attributes : `list[Attribute]`
    """

    path: str
    relation: str
    attributes: list[Attribute]


@dataclass
class ArffTable(ArffHeader):
    """
    A piece of an ARFF file: some of its rows, in their order.

    # Parameters

    path, relation, attributes :
        As for `ArffHeader`.
    codes : `Union[numpy.ndarray, scipy.sparse.csr_array]`
        float32, `(rows, attributes)`; sparse if any row of the piece is sparse. The code of a number is the number, of
        a nominal value its index in the attribute's list, of a string its index in `texts`, and of a missing value NaN.
        As the format says, a value that a sparse row leaves out has the code 0.
    texts : `dict[int, list[str]]`
        The texts of these rows for every string, date and hierarchical column; the text at index 0 is empty.
    lines : `numpy.ndarray`
        The line number of each row, counted from 1.
    """

    codes: Matrix
    texts: dict[int, list[str]]
    lines: numpy.ndarray


def stripped_lines(path: str, expected: Optional[str] = None) -> Iterator[tuple[int, str]]:
    """The lines of `column_lines` with their numbers, without white space at either end."""
    for number, line in column_lines(os.fspath(path), expected):
        yield number, line.strip()


def read_arff(path: str, repeated_names: str = "error") -> Iterator[ArffTable]:
    """
    Read one ARFF file, dense or sparse, in pieces: names and values bare or in either quotes (with backslash escapes),
    keywords in any case, `?` for a missing value, `%` comments. A nominal list that is just 0, 1, 2, ... is read as
    numbers (`1.0` is `1`). Dates are read as texts, and the range in `real [0,1]` is ignored.

    # Parameters

    path : `str`
        UTF-8, packed where the name ends in `.gz`, `.bz2` or `.xz`.
    repeated_names : `str`, optional (default = `"error"`)
        The treatment of a repeated attribute name: `"error"`, or `"number"`, which calls the second
        one `name#2` (KU Leuven's expression data need it).
    """
    header, lines, number = _opened(path, repeated_names)
    yield from not_empty(_Rows(header).read(lines), f"{header.path}:{number}: no row follows @data.")


def read_header(path: str, repeated_names: str = "error") -> ArffHeader:
    """Reads the declarations of a file; parameters as in `read_arff`."""
    return _opened(path, repeated_names)[0]


def _opened(path: str, repeated_names: str) -> tuple[ArffHeader, Iterator[tuple[int, str]], int]:
    """A file's header, the numbered lines below it, and the number of the line `@data`."""
    path = os.fspath(path)
    check_choice("dataset_reader.repeated_names", repeated_names, ("error", "number"))
    lines = stripped_lines(path, "ARFF, which begins with @relation")
    relation, attributes, number = _header(path, lines, repeated_names)
    return ArffHeader(path, relation, attributes), lines, number


def _header(path: str, lines: Iterator[tuple[int, str]], repeated_names: str) -> tuple[str, list[Attribute], int]:
    """Reads the lines up to `@data`: the relation, the attributes and the number of the line `@data`."""
    relation, number = "", 0
    attributes: dict[str, Attribute] = {}
    for number, line in lines:
        line = uncommented(line)
        keyword = line.split(None, 1)[0].lower() if line else ""
        where = f"{path}:{number}"
        if keyword == "@relation":
            relation = unquote(line[len(keyword) :].strip())
            if _LOST.search(relation):
                raise ConfigurationError(
                    f"{where}: an @attribute or @data stands in the line of @relation; put it in a line of its own."
                )
        elif keyword == "@attribute":
            attribute = _attribute(where, line, number)
            if attribute.name in attributes:
                attribute = _renamed(where, attribute, attributes, repeated_names)
            attributes[attribute.name] = attribute
        elif keyword == "@data":
            if line[len(keyword) :].strip():
                raise ConfigurationError(f"{where}: a row stands in the line of @data; put it in a line of its own.")
            if not attributes:
                raise ConfigurationError(f"{where}: @data comes before any @attribute.")
            return relation, list(attributes.values()), number
        elif line:
            raise ConfigurationError(f"{where}: expected @relation, @attribute or @data, found {line[:60]!r}.")
    raise ConfigurationError(f"{path}:{max(number, 1)}: the file ends without a @data section.")


def _renamed(where: str, attribute: Attribute, names: Collection[str], repeated_names: str) -> Attribute:
    """Renames an attribute whose name is already in `names` to the first free one of `name#2`, `name#3`, ..."""
    if repeated_names == "error":
        raise ConfigurationError(
            f"{where}: the attribute name {attribute.name!r} comes a second time; rename it, or set 'repeated_names' "
            "to 'number'."
        )
    again = next(n for n in range(2, len(names) + 3) if f"{attribute.name}#{n}" not in names)
    return replace(attribute, name=f"{attribute.name}#{again}")


def unquote(text: str) -> str:
    """A name or value without its quotes and escapes; text without quotes is unchanged."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return unescape(text[1:-1])
    return text


def _attribute(where: str, line: str, number: int) -> Attribute:
    match = ATTRIBUTE.fullmatch(line)
    if not match:
        raise ConfigurationError(f"{where}: expected '@attribute name type', found {line[:60]!r}.")
    single, double, bare, kind = match.groups()
    name = unescape(single or double or "") if bare is None else bare
    check_name(name, f"{where}: the attribute's name")
    if kind.startswith("{"):
        if not kind.endswith("}"):
            raise ConfigurationError(f"{where}: the list of values of {name!r} does not end in '}}'.")
        values = tuple(value for value, _ in split_values(where, kind[1:-1]))
        for value in values:
            check_name(value, f"{where}: a value of {name!r}")
        if len(set(values)) < len(values):
            twice = next(value for i, value in enumerate(values) if value in values[:i])
            raise ConfigurationError(f"{where}: the attribute {name!r} lists the value {twice!r} twice.")
        return Attribute(name, "nominal", values, number)
    if NUMERIC.fullmatch(kind):
        return Attribute(name, "numeric", (), number)
    word, rest = (kind.split(None, 1) + ["", ""])[:2]
    word = word.lower()
    # For a date, `rest` is its format.
    if word == "date" or (word == "string" and not rest):
        return Attribute(name, word, (), number)
    if word == "hierarchical" and rest:
        return Attribute(name, "hierarchical", tuple(node.strip() for node in rest.split(",")), number)
    raise ConfigurationError(
        f"{where}: the attribute {name!r} has the type {kind[:40]!r}; known are numeric, integer, real, "
        "string, date, {a,list,of,values} and hierarchical."
    )


def unescape(text: str) -> str:
    """The text between quotes without its backslashes: `\\n`, `\\r` and `\\t` are white space, `\\x` is x."""
    if "\\" not in text:
        return text
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)


def uncommented(line: str) -> str:
    """The line without its comment and the white space before it."""
    if "%" not in line:
        return line
    match = None if line[0] == "%" else UNCOMMENTED.match(line)
    return "" if match is None else match[0].rstrip()


def split_values(where: str, text: str) -> list[tuple[str, bool]]:
    """The values between commas, and whether each was in quotes: a quoted `?` is not a missing value."""
    values, match = [], DENSE_VALUE.match(text)
    while match is not None:
        values.append(_value(where, *match.groups()[:3]))
        match = DENSE_VALUE.match(text, match.end()) if match[4] == "," else None
    return values


class _Rows:
    """Reads the rows after `@data` of a file with this header."""

    def __init__(self, header: ArffHeader) -> None:
        self._header = header
        self.path = header.path
        self.attributes = attributes = header.attributes
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
        self._forget_texts()

    def read(self, lines: Iterable[tuple[int, str]]) -> Iterator[ArffTable]:
        """Yields the pieces of numbered, stripped lines; empty lines are skipped."""
        rows: list[tuple[int, Optional[numpy.ndarray], numpy.ndarray]] = []
        count = 0
        for number, line in lines:
            line = uncommented(line)
            if not line:
                continue
            where = f"{self.path}:{number}"
            if line[0] == "{":
                columns, values = self._sparse_numerals(line) or self._sparse(where, line)
            else:
                columns, values = None, self._dense(where, line)
            rows.append((number, columns, values))
            count += len(values)
            if count >= PIECE_VALUES or len(rows) == PIECE_ROWS:
                yield self._table(*zip(*rows))
                rows, count = [], 0
        if rows:
            yield self._table(*zip(*rows))

    def _table(
        self, lines: Sequence[int], columns: Sequence[Optional[numpy.ndarray]], values: Sequence[numpy.ndarray]
    ) -> ArffTable:
        """Makes a piece of rows, with the texts that were read since the last piece."""
        header, texts = self._header, self._texts
        self._forget_texts()
        codes = self._codes(columns, values)
        return ArffTable(header.path, header.relation, header.attributes, codes, texts, numpy.array(lines, numpy.int64))

    def _codes(self, columns: Sequence[Optional[numpy.ndarray]], values: Sequence[numpy.ndarray]) -> Matrix:
        """The rows as a matrix; a dense row has `None` as its `columns`."""
        width = len(self.attributes)
        if all(some is None for some in columns):
            return numpy.array(values, numpy.float32).reshape(len(values), width)
        everything = numpy.arange(width, dtype=numpy.int32)
        places = [everything if some is None else some for some in columns]
        indptr = numpy.cumsum([0] + [len(row) for row in places])
        codes = sparse.csr_array(
            (numpy.concatenate(values), numpy.concatenate(places), indptr), shape=(len(values), width)
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
            column = whole_number(digits)
            if column is None or column >= len(self.attributes):
                raise ConfigurationError(
                    f"{where}: the index {digits[:20]} is out of range; the last attribute is "
                    f"{len(self.attributes) - 1}."
                )
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


def _numbers(text: str) -> numpy.ndarray:
    # Only ever called on text that a regular expression has checked: numpy stops silently at what it
    # cannot read, and reads one number out of mere white space.
    if not text or text.isspace():
        return numpy.empty(0)
    return numpy.fromstring(text.replace(",", " ").replace("?", "nan"), dtype=numpy.float64, sep=" ")


def _value(where: str, single: Optional[str], double: Optional[str], bare: Optional[str]) -> tuple[str, bool]:
    if bare is None:
        return unescape(single or double or ""), True
    bare = bare.rstrip()
    if not bare or bare[0] in "'\"":
        what = f"the quote of {bare[:40]!r} is not closed" if bare else "a value between commas is empty"
        raise ConfigurationError(f"{where}: {what}.")
    return bare, False
