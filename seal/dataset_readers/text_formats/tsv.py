"""
TSV files: in each line a text and, after a tab, the names of its labels.
"""

from collections.abc import Iterator

from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.text_formats.labelled_text import LabelledText, TextOptions, labels_of, telling_of_labels
from seal.files.text_lines import text_lines

# What a header, in lower case, has over the columns of texts and of labels.
_TEXT_HEADINGS = ("text", "texts", "sentence", "document", "comment", "tweet")
_HEADINGS = ("label", "labels", "category", "categories", "tags")


@telling_of_labels
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
    for text, cell, where in text_rows(path, "its labels"):
        yield LabelledText(text, labels_of(cell, where), where)


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
        yield columns[0], columns[1], where


def _is_header(columns: list[str]) -> bool:
    names = [column.strip().lower() for column in columns]
    return any(name in _TEXT_HEADINGS for name in names) and any(name in _HEADINGS for name in names)
