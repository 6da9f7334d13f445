"""
TSV files: in each line a text and, after a tab, the names of its labels.
"""

import logging
from collections import Counter
from collections.abc import Iterator

from allennlp.common.checks import ConfigurationError

from seal.common.setting_checks import short
from seal.dataset_readers.text_formats.labelled_text import LabelledText, TextOptions, once_each
from seal.files.other_formats import list_format
from seal.files.text_lines import text_lines

logger = logging.getLogger(__name__)

# What other programs write between labels.
_SEPARATORS = ("|", ";")
# What a header, in lower case, has over the columns of texts and of labels.
_TEXT_HEADINGS = ("text", "texts", "sentence", "document", "comment", "tweet")
_HEADINGS = ("label", "labels", "category", "categories", "tags")


def read_tsv(path: str, options: TextOptions = TextOptions()) -> Iterator[LabelledText]:
    """
    Reads TSV with names: a text, its labels with commas between, and perhaps an id, which is not read. A text without
    labels has an empty second column. There is no header, and a label with a comma cannot be written.

    # Parameters

    path : `str`
    options : `TextOptions`
        Not used.

    # Raises

    `ConfigurationError` as `text_rows`, and at a label that is empty, malformed or there twice.
    """
    commas, others, first = 0, Counter(), ""
    for text, cell, where in text_rows(path, "its labels"):
        commas += "," in cell
        found = [sign for sign in _SEPARATORS if sign in cell.strip()]
        others.update(found)
        first = first or (where if found else "")
        yield LabelledText(text, labels_of(cell, where), where)
    if others and not commas and max(others.values()) > 1:
        sign = others.most_common(1)[0][0]
        logger.warning(
            "%s: labels have '%s' in their names, and nowhere a comma between them; if it stands between labels, write "
            "commas",
            first,
            sign,
        )


def text_rows(path: str, labels: str) -> Iterator[tuple[str, str, str]]:
    """
    The rows of a TSV file whose columns are a text, its labels and perhaps an id. All lines have as many columns as the
    first; quotes have no meaning, and blank lines are skipped.

    # Parameters

    path : `str`
    labels : `str`
        What the second column is, for messages.

    # Returns

    `Iterator[tuple[str, str, str]]`
        The first two columns of each row, and its `file:line`.

    # Raises

    `ConfigurationError` if a line has another number of columns, or the first is a header.
    """
    expected = None
    for number, line in text_lines(path, f"a text, {labels} and perhaps an id a line, with tabs between"):
        if line.isspace():
            continue
        where, columns = f"{path}:{number}", line.rstrip("\r\n").split("\t")
        found = f"{len(columns)} column{'' if len(columns) == 1 else 's'}"
        first, expected = expected is None, expected or len(columns)
        if expected not in (2, 3):
            raise ConfigurationError(
                f"{where}: expected a text, {labels} and perhaps an id, with tabs between, found {found}."
            )
        if len(columns) != expected:
            raise ConfigurationError(f"{where}: found {found}, and {expected} in the first line.")
        if first and _is_header(columns):
            raise ConfigurationError(
                f"{where}: this line is a header, which would be read as a text like any other; remove it."
            )
        listed = list_format(columns[1])
        if listed is not None:
            raise ConfigurationError(
                f"{where}: {short(columns[1])} looks like {listed}; write the labels with commas between them, as in "
                "'a,b', and leave the column empty where there is none."
            )
        yield columns[0], columns[1], where


def _is_header(columns: list[str]) -> bool:
    names = [column.strip().lower() for column in columns]
    return any(name in _TEXT_HEADINGS for name in names) and any(name in _HEADINGS for name in names)


def labels_of(cell: str, where: str) -> list[str]:
    """
    The labels of a cell, which have commas between them.

    # Raises

    `ConfigurationError` at a label that is empty, malformed or there twice.
    """
    if not cell.strip():
        return []
    labels: dict[str, None] = {}
    for label in map(str.strip, cell.split(",")):
        if not label:
            raise ConfigurationError(f"{where}: a label is empty; names have one comma between, found {cell[:40]!r}.")
        if label in labels:
            raise ConfigurationError(f"{where}: the label {label!r} comes a second time.")
        labels[label] = None
    return once_each(labels, where)
