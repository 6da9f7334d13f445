"""
ARFF, the attribute-relation file format, as a table of numbers.

The parser is our own, because no library reads all data sets that are used here (tried on nine). `scipy.io.arff` reads
no sparse rows and no string attributes, `liac-arff` makes a Python object of every value, and neither knows the
`hierarchical` attributes of KU Leuven or accepts their repeated names.
"""

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Optional, Union

import numpy
from allennlp.common.checks import ConfigurationError
from scipy import sparse

from seal.common.setting_checks import check_choice
from seal.dataset_readers.arff_rows import NUMBER, ArffRows, Attribute, split_values, uncommented, unescape
from seal.files.names import check_name
from seal.files.text_lines import column_lines

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


@dataclass
class ArffHeader:
    """
    What an ARFF file declares.

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
        float32, shape (rows, attributes); sparse where any row of the piece is. A numeric value is itself, a
        nominal value its place in its list (so what a sparse row leaves out is 0, as the format has it), a string its
        place in `texts`; a missing value is NaN.
    texts : `dict[int, list[str]]`
        For every string, date and hierarchical column the texts of these rows; place 0 is the empty text.
    lines : `numpy.ndarray`
        The line number of each row, counted from 1.
    """

    codes: Union[numpy.ndarray, sparse.csr_array]
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
        What to do with an attribute name that comes again: `"error"`, or `"number"`, which calls the second
        one `name#2` (KU Leuven's expression data need it).
    """
    header, lines, number = _opened(path, repeated_names)
    empty = True
    for codes, texts, rows in ArffRows(header.path, header.attributes).read(lines):
        empty = False
        yield ArffTable(header.path, header.relation, header.attributes, codes, texts, rows)
    if empty:
        raise ConfigurationError(f"{header.path}:{number}: no row follows @data.")


def read_header(path: str, repeated_names: str = "error") -> ArffHeader:
    """What a file declares before its rows; as for `read_arff`."""
    return _opened(path, repeated_names)[0]


def _opened(path: str, repeated_names: str) -> tuple[ArffHeader, Iterator[tuple[int, str]], int]:
    """A file's header, the numbered lines below it, and the number of the line `@data`."""
    path = os.fspath(path)
    check_choice("dataset_reader.repeated_names", repeated_names, ("error", "number"))
    lines = stripped_lines(path, "ARFF, which begins with @relation")
    relation, attributes, number = _header(path, lines, repeated_names)
    return ArffHeader(path, relation, attributes), lines, number


def _header(path: str, lines: Iterator[tuple[int, str]], repeated_names: str) -> tuple[str, list[Attribute], int]:
    """The relation, the attributes and the number of the line `@data`, up to which lines are read."""
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
    """The attribute, whose name is one of `names`, by the first `name#2`, `name#3`, ... that is free."""
    if repeated_names == "error":
        raise ConfigurationError(
            f"{where}: the attribute name {attribute.name!r} comes a second time; rename it, or set 'repeated_names' "
            "to 'number'."
        )
    again = next(n for n in range(2, len(names) + 3) if f"{attribute.name}#{n}" not in names)
    return replace(attribute, name=f"{attribute.name}#{again}")


def unquote(text: str) -> str:
    """A name or value without its quotes and escapes; bare text as it is."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return unescape(text[1:-1])
    return text


def _attribute(where: str, line: str, number: int) -> Attribute:
    match = ATTRIBUTE.fullmatch(line)
    if not match:
        raise ConfigurationError(f"{where}: expected '@attribute name type', found {line[:60]!r}.")
    single, double, bare, kind = match.groups()
    name = bare if bare is not None else unescape(single if single is not None else double)
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
