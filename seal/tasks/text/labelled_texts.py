"""Reads files of texts with labels (JSON lines, TSV and CSV), and detects the format of a file."""

import ast
import json
import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple, Optional

from seal.common.setting_checks import abbreviate, check_that, counted, keys_of, listed, whole_number
from seal.files.format_sniffing import is_list, other_format, to_be_converted
from seal.files.names import clean_label
from seal.files.records import csv_records, is_accepted, json_records
from seal.files.text_lines import text_lines, without_packing
from seal.registry import ConfigurationError

logger = logging.getLogger(__name__)

# The signs that other programs write between labels; `C#`, `#news` and `part #2` are names.
_SEPARATOR = re.compile(r"[|;]|(?<=\S)#(?=[^\s#])|\s#\s*(?=[^\s\d])")
# In files with fewer labels, each of them may occur only once.
_FEW_LABELS = 16
# The keys of our own files and of the published versions of NYT, RCV1 and WOS for hierarchical classification.
_TEXT_KEYS = ("text", "token", "tokens", "doc_token", "sentence")
_LABEL_KEYS = ("labels", "label", "doc_label")
# Where Prodigy and spaCy have the labels of a text.
_JSON_LABEL_KEYS = (*_LABEL_KEYS, "accept", "cats")
# The headings of the columns of texts and of labels, in lower case.
_TEXT_HEADINGS = ("text", "texts", "sentence", "document", "comment", "tweet")
_LABEL_HEADINGS = ("label", "labels", "category", "categories", "tags")
# The cells of a label's column, in lower case.
_BITS = {"0": False, "0.0": False, "false": False, "1": True, "1.0": True, "true": True}
# The number of rows by which a table's columns are recognised.
_ROWS_SEEN = 100
# The columns beside the labels: a text, and perhaps an id.
_MOST_BESIDE_LABELS = 2
# Strings of a list as JSON, Python or NumPy write it.
_NUMBERS = re.compile(r"\[[-\d\s,]+\]")
_QUOTED = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|-?\d+)\s*(,?)""", re.DOTALL)


class LabelledText(NamedTuple):
    """
    A text with its labels.

    # Parameters

    text : `str`
    labels : `list[str]`
        Each label once, in the file's order.
    source : `str`
        `file:line` of the text's beginning.
    """

    text: str
    labels: list[str]
    source: str

    @property
    def words(self) -> list[str]:
        """The text, split at white space."""
        return self.text.split()


class TextOptions(NamedTuple):
    """
    Options of the formats.

    # Parameters

    label_names : `list[str]`, optional
        The names of labels that a file writes as numbers, from 0.
    text_keys : `tuple[str, ...]`, optional
        For JSON and CSV: the keys or columns whose texts are joined by a space. `None`: the first of the common ones
        (`text`, `token`, `tokens`, `doc_token`, `sentence`) that is there.
    label_columns : `tuple[str, ...]`, optional
        For JSON and CSV: the keys or columns that are labels, with 1 in the row of a text that has the label and 0 in
        the others; see `read_csv` about `None`.
    """

    label_names: Optional[list[str]] = None
    text_keys: Optional[tuple[str, ...]] = None
    label_columns: Optional[tuple[str, ...]] = None


def read_json_lines(path: str, options: TextOptions = TextOptions()) -> Iterator[LabelledText]:
    """
    Reads JSON lines: an object a line, `{"text": "...", "labels": ["...", ...]}`. The text may be a string or a list of
    words, under `text`, `token`, `tokens`, `doc_token` or `sentence`. The labels, under `labels`, `label` or
    `doc_label`, are

    - a list of names, or one name. The versions of NYT, RCV1 and WOS that hierarchical classification uses are such
      files (`{"token": [...], "label": [...]}`), and doccano writes them;
    - a list of numbers, or one, which count from 0 in `options.label_names`, as in Hugging Face's data sets;
    - an object with 1 or 0 for each label, as spaCy has them under `cats`.

    Prodigy has names under `accept`; its lines that are rejected or ignored are left out. Each label may also have a
    key of its own, as the columns in `read_csv`. Other keys are ignored; blank lines are skipped.
    """
    lines = text_lines(path, "JSON lines, an object with a text and labels a line", json_lines=True)
    records = json_records(path, lines, "an object with a text and labels")

    def columns_of(first: list[dict[str, Any]]) -> Optional[list[str]]:
        if options.label_columns is None and any(key in first[0] for key in _JSON_LABEL_KEYS):
            return None
        return _columns_of_labels(path, first, options)

    def labels_of_record(record: dict[str, Any], where: str) -> list[str]:
        return without_repeats(_labels_of_object(record, where, options.label_names), where)

    accepted = (item for item in records if is_accepted(item[1]))
    return _labelled(path, accepted, options, columns_of, labels_of_record)


def _labelled(
    path: str,
    records: Iterator[tuple[int, dict[str, Any]]],
    options: TextOptions,
    columns_of: Callable[[list[dict[str, Any]]], Optional[list[str]]],
    labels_of_record: Callable[[dict[str, Any], str], list[str]],
) -> Iterator[LabelledText]:
    """
    The texts of records with their labels.

    # Parameters

    records : `Iterator[tuple[int, dict[str, Any]]]`
        The line of each record, and the record.
    columns_of : `Callable`
        The keys that are labels, by the first records; without any, the labels of a record are in one place.
    labels_of_record : `Callable`
        Then the labels of a record, which is at `file:line`.
    """
    seen = list(islice(records, _ROWS_SEEN))
    if not seen:
        return
    first = [record for _, record in seen]
    columns, text_keys = columns_of(first), options.text_keys
    if columns and text_keys is None:
        text_keys = (_text_column(path, first, columns),)
    for number, record in chain(seen, records):
        where = f"{path}:{number}"
        if columns:
            labels = without_repeats([name for name in columns if _bit(_cell(record, name), name, where)], where)
        else:
            labels = labels_of_record(record, where)
        yield LabelledText(text_of(record, text_keys, where), labels, where)


def _labels_of_object(record: dict[str, Any], where: str, names: Optional[list[str]]) -> list[str]:
    key = next((key for key in _JSON_LABEL_KEYS if key in record), None)
    if key is None:
        raise ConfigurationError(f"{where}: the object has no 'labels'; a text without any has an empty list.")
    value = record[key]
    if isinstance(value, dict):
        return [name for name in value if _bit(_cell(value, name), name, where)]
    labels = value if isinstance(value, list) else [value]
    # `True` is an `int`, but not a number. A string with commas may be one name or several.
    are_numbers = bool(labels) and all(type(label) is int for label in labels)
    are_names = all(isinstance(label, str) for label in labels) and not (isinstance(value, str) and "," in value)
    check_that(are_numbers or are_names, f"{where}: {key!r}", "a list of names or of numbers", value)
    return [_label_of(str(label), where, names) for label in labels] if are_numbers else labels


def read_csv(path: str, options: TextOptions = TextOptions()) -> Iterator[LabelledText]:
    """
    Reads CSV, as spreadsheets and pandas write it (`csv_rows`). The first row names the columns. There are two layouts:

    - one column with all labels of a text, called as in JSON lines (`labels`): names with commas between, or a list as
      JSON, Python or NumPy write it (`['a', 'b']`); an empty cell is a text without labels;
    - a column for each label, with 1 or 0, `True` or `False`: the columns `options.label_columns` or, where none is
      named and none is called `labels`, all that have nothing else in the first 100 rows, if there are at least two and
      at most two others, a text and perhaps an id.

    The text is in the columns `options.text_keys`, or in that which is called as in JSON lines (`text`). In the second
    layout it is otherwise the column beside the labels or, of several, the one whose cells have white space. Other
    columns are ignored.
    """
    records = csv_records(path, text_lines(path, "CSV, with the names of its columns in the first row"))

    def labels_of_record(record: dict[str, Any], where: str) -> list[str]:
        return labels_of(next(record[key] for key in _LABEL_KEYS if key in record), where)

    return _labelled(path, records, options, lambda first: _label_columns(path, first, options), labels_of_record)


def _label_columns(path: str, records: Sequence[dict[str, str]], options: TextOptions) -> Optional[list[str]]:
    """The columns of a table with one column per label; `None` if one column has all labels of a text."""
    if options.label_columns is None and any(key in records[0] for key in _LABEL_KEYS):
        return None
    columns = _columns_of_labels(path, records, options)
    if not columns:
        others = [name for name in records[0] if not _are_bits(records, name)]
        raise ConfigurationError(
            f"{path}:1: no column is called {' or '.join(_LABEL_KEYS)}. Where each label has a column of its own, with "
            "0 and 1, name these in dataset_reader.label_columns; they are found by themselves where at most "
            f"{_MOST_BESIDE_LABELS} columns have anything else. Here {listed(others)} have, of {len(records[0])} "
            "columns."
        )
    return columns


def _columns_of_labels(path: str, records: Sequence[dict[str, Any]], options: TextOptions) -> list[str]:
    """
    The columns of labels that the options name or, without these, all that have 0 or 1 in all `records`; none if they
    are fewer than two, or too many columns have anything else.
    """
    names, texts = list(records[0]), options.text_keys or ()
    if options.label_columns is not None:
        for name in options.label_columns:
            if name not in names:
                raise ConfigurationError(
                    f"{path}:1: no column is called {abbreviate(name)}, which dataset_reader.label_columns names; the "
                    f"first row has {listed(names)}."
                )
        return list(options.label_columns)
    columns = [name for name in names if name and name not in texts and _are_bits(records, name)]
    beside = len(set(names) - set(columns) - set(texts)) + bool(texts)
    return columns if len(columns) >= 2 and beside <= _MOST_BESIDE_LABELS else []


def _are_bits(records: Sequence[dict[str, Any]], name: str) -> bool:
    return all(_cell(record, name) in _BITS for record in records)


def _cell(record: dict[str, Any], name: str) -> str:
    """A cell of a table or a value of JSON, as a string in lower case."""
    return str(record.get(name, "")).strip().lower()


def _text_column(path: str, records: Sequence[dict[str, str]], columns: Sequence[str]) -> str:
    """The column of texts in a table whose `columns` are labels."""
    others = [name for name in records[0] if name not in columns]
    named = [name for name in others if name in _TEXT_KEYS]
    of_several_words = [name for name in others if any(" " in _cell(record, name) for record in records)]
    for candidates in (named[:1], others, of_several_words):
        if len(candidates) == 1:
            return candidates[0]
    raise ConfigurationError(
        f"{path}:1: which column has the texts? Name it in dataset_reader.text_keys; besides labels there "
        f"{'are ' + listed(others) if others else 'is none'}."
    )


def _bit(cell: str, name: str, where: str) -> bool:
    found = _BITS.get(cell)
    check_that(found is not None, f"{where}: the column {abbreviate(name)} of a label", "0 or 1", cell)
    return bool(found)


def read_tsv(path: str, options: TextOptions = TextOptions()) -> Iterator[LabelledText]:
    """
    Reads TSV with names: a text, its labels with commas between, and perhaps an id, which is not read. A text without
    labels has an empty second column. All lines have as many columns as the first; quotes have no meaning, and blank
    lines are skipped. There is no header, and a label with a comma cannot be written.
    """
    for text, cell, where in _text_rows(path, "its labels"):
        yield LabelledText(text, labels_of(cell, where), where)


def read_indexed_tsv(path: str, options: TextOptions = TextOptions()) -> Iterator[LabelledText]:
    """
    Reads TSV as GoEmotions is published: as `read_tsv`, with the numbers of labels, which count from 0 in
    `options.label_names`, in the place of their names.
    """
    names = options.label_names
    if names is None:
        raise ConfigurationError(
            f"{path}: its labels are numbers; name the file that lists them in dataset_reader.labels."
        )
    for text, cell, where in _text_rows(path, "the numbers of its labels"):
        labels: dict[str, None] = {}
        for item in labels_of(cell, where):
            labels[_label_of(item, where, names)] = None
        yield LabelledText(text, list(labels), where)


def _label_of(item: str, where: str, names: Optional[list[str]]) -> str:
    """The name of a label that is written as a number."""
    if names is None:
        raise ConfigurationError(
            f"{where}: labels are numbers; name the file that lists their names in dataset_reader.labels."
        )
    # `1` and `01` are the same.
    number = whole_number(item.lstrip("0") or "0")
    if number is None or number >= len(names):
        raise ConfigurationError(
            f"{where}: the label {item[:40]!r} is no number from 0 to {len(names) - 1}, which are those of "
            "dataset_reader.labels; where labels are names, set dataset_reader.format to 'tsv'."
        )
    return names[number]


#: The readers of the formats; each takes a path and options, and raises a `ConfigurationError` at a malformed line.
FORMATS: dict[str, Callable[[str, TextOptions], Iterator[LabelledText]]] = {
    "json_lines": read_json_lines,
    "tsv": read_tsv,
    "csv": read_csv,
    "indexed_tsv": read_indexed_tsv,
}
_ENDINGS = {".jsonl": "json_lines", ".json": "json_lines", ".tsv": "tsv", ".csv": "csv"}


def read_labelled_texts(
    path: str, format: Optional[str] = None, options: TextOptions = TextOptions()
) -> Iterator[LabelledText]:
    """Reads the texts of a file in a format of `FORMATS`, by default the one that `format_of` detects."""
    format = format or format_of(path, options)
    if options.label_columns is not None and format not in ("csv", "json_lines"):
        raise ConfigurationError(
            f"{path}: dataset_reader.label_columns is for CSV and JSON lines, and this is read as {format}."
        )
    texts = FORMATS[format](path, options)
    return texts if format == "indexed_tsv" else _telling_of_labels(path, texts)


def _telling_of_labels(path: str, texts: Iterable[LabelledText]) -> Iterator[LabelledText]:
    """
    Yields the texts, and warns after the last one if no text has two labels and several have `|`, `;` or `#` within a
    name; or if nearly every label occurs once, as texts in the column of labels do.
    """
    counts: Counter[str] = Counter()
    signs: Counter[str] = Counter()
    first, several, labelled = "", False, 0
    for text in texts:
        yield text
        counts.update(text.labels)
        labelled += bool(text.labels)
        several = several or len(text.labels) > 1
        found = {match[0].strip() for label in text.labels[:1] for match in _SEPARATOR.finditer(label)}
        signs.update(found)
        first = first or (text.source if found else "")
    if signs and not several and max(signs.values()) > 1:
        logger.warning(
            "%s: labels have '%s' in their names, and no text has two labels; if it stands between labels, write "
            "commas, or a list in JSON",
            first,
            signs.most_common(1)[0][0],
        )
    once = sum(count == 1 for count in counts.values())
    # Where the labels are few beside the texts, most texts have one of the others.
    if len(counts) >= _FEW_LABELS and once >= 0.9 * max(len(counts), labelled):
        logger.warning(
            "%s: %d of its %d labels occur once; if these are texts, the columns are the other way round",
            path,
            once,
            len(counts),
        )


def format_of(path: str, options: TextOptions = TextOptions()) -> str:
    """
    The name in `FORMATS` of a file's format, by the file's name or else by the start of its first line that is not
    blank. TSV has numbers for labels where there are `label_names`, and names otherwise.

    # Raises

    `ConfigurationError` if neither tells the format, or it is one that is to be converted.
    """
    name = without_packing(os.path.basename(path))
    ending = os.path.splitext(name)[1]
    if ending == ".tsv" and options.label_names is not None:
        return "indexed_tsv"
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    if name.startswith("text_"):
        raise to_be_converted(path, "a file of texts as those of AAPD", "aapd", ".jsonl")
    first = next((line for _, line in text_lines(path) if not line.isspace()), "")
    if first.startswith("{"):
        return "json_lines"
    if first.startswith("<book"):
        raise to_be_converted(path, "a file of blurbs", "bgc", ".jsonl")
    if ending == ".dat" or first.startswith(".I "):
        raise to_be_converted(path, "a token file of RCV1", "rcv1", ".jsonl")
    found = other_format(first, json_lines=True)
    told = "neither its name nor its first line tells the format" if found is None else f"this looks like {found}"
    raise ConfigurationError(f"{path}: {told}; dataset_reader.format is one of {', '.join(FORMATS)}.")


def without_repeats(labels: Iterable[str], source: str) -> list[str]:
    """
    The labels without repeats, in their order; an error with `source` (`file:line`) if a name is not one that a label
    may have (`clean_label`).
    """
    what = f"{source}: the label"
    return list(dict.fromkeys(clean_label(label, what) for label in dict.fromkeys(labels)))


def labels_of(cell: str, where: str) -> list[str]:
    """
    The labels of a cell of a table, names or numbers, which have commas between them, or are a list as JSON, Python or
    NumPy write it; an empty cell has none. No label may be empty, malformed or there twice; `where` is the cell's
    `file:line`.
    """
    if not cell.strip():
        return []
    labels: dict[str, None] = {}
    listed = is_list(cell) or _NUMBERS.fullmatch(cell.strip())
    for label in _items(cell, where) if listed else map(str.strip, cell.split(",")):
        if not label:
            raise ConfigurationError(f"{where}: a label is empty; names have one comma between, found {cell[:40]!r}.")
        if label in labels:
            raise ConfigurationError(f"{where}: the label {label!r} comes a second time.")
        labels[label] = None
    return without_repeats(labels, where)


def _items(cell: str, where: str) -> list[str]:
    """
    The strings or whole numbers of a list. Each is read by itself: NumPy writes `['a' 'b']` without commas, which
    Python takes for one string.
    """
    inside, items, end = cell.strip()[1:-1], [], 0
    while inside[end:].strip():
        found = _QUOTED.match(inside, end)
        if found is None:
            raise ConfigurationError(
                f"{where}: {abbreviate(cell)} is no list of names; write it as in \"['a', 'b']\", or the labels with "
                "commas between them, as in 'a,b'."
            )
        items.append(_unquoted(found[1]))
        end = found.end()
    return items


def _unquoted(text: str) -> str:
    if text.startswith('"'):
        try:
            return json.loads(text)
        except ValueError:  # Python's, which has other escapes.
            pass
    return str(ast.literal_eval(text)) if text[0] in "'\"" else text


def text_of(record: dict[str, Any], text_keys: Optional[tuple[str, ...]] = None, source: Optional[str] = None) -> str:
    """
    The text of an object, with or without labels, by `text_keys` as in `TextOptions`; `source` is `file:line`, for
    messages.

    # Raises

    `ConfigurationError` if a key is missing, or holds no text.
    """
    where = f"{source}: " if source else ""
    keys = text_keys or tuple(key for key in _TEXT_KEYS if key in record)[:1]
    if not keys:
        raise ConfigurationError(
            f"{where}a text is needed under one of {', '.join(_TEXT_KEYS)}, found {keys_of(record)}; if another key or "
            "column holds it, name that in the reader's text_keys."
        )
    texts = []
    for key in keys:
        if key not in record:
            raise ConfigurationError(f"{where}there is no {key!r}, which the reader's text_keys name.")
        text = record[key]
        if isinstance(text, list) and all(isinstance(word, str) for word in text):
            text = " ".join(text)
        check_that(isinstance(text, str), f"{where}{key!r}", "a string or a list of words", text)
        texts.append(text)
    return " ".join(texts)


def _text_rows(path: str, labels: str) -> Iterator[tuple[str, str, str]]:
    """The text, the cell of labels (`labels`, for messages, says what it has) and the `file:line` of each row."""
    expected = None
    for number, line in text_lines(path, f"a text, {labels} and perhaps an id a line, with tabs between"):
        if line.isspace():
            continue
        where, columns = f"{path}:{number}", line.rstrip("\r\n").split("\t")
        found = counted(len(columns), "column")
        first, expected = expected is None, expected or len(columns)
        if expected not in (2, 3):
            raise ConfigurationError(
                f"{where}: expected a text, {labels} and perhaps an id, with tabs between, found {found}."
            )
        if len(columns) != expected:
            raise ConfigurationError(f"{where}: found {found}, and {expected} in the first line.")
        if first:
            names = [column.strip().lower() for column in columns]
            if any(name in _TEXT_HEADINGS for name in names) and any(name in _LABEL_HEADINGS for name in names):
                raise ConfigurationError(
                    f"{where}: this line is a header, which would be read as a text like any other; remove it."
                )
        yield columns[0], columns[1], where
