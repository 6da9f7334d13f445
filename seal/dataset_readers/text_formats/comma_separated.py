"""
CSV files: a text and the names of its labels in each row.
"""

from collections.abc import Iterator

from allennlp.common.checks import ConfigurationError

from seal.common.setting_checks import short
from seal.dataset_readers.text_formats.json_lines import LABEL_KEYS, text_of
from seal.dataset_readers.text_formats.labelled_text import LabelledText, TextOptions, labels_of, telling_of_labels
from seal.files.csv_rows import csv_records
from seal.files.text_lines import text_lines

_EXPECTED = "CSV, with the names of its columns in the first row"


@telling_of_labels
def read_csv(path: str, options: TextOptions = TextOptions()) -> Iterator[LabelledText]:
    """
    Reads CSV, as spreadsheets write it (`csv_rows`). The first row names the columns; those of the text and of the
    labels have the names that JSON lines have (`text`, `labels`), and others are ignored. Labels have commas between
    them; a cell without any is a text without labels.

    # Parameters

    path : `str`
    options : `TextOptions`
        `text_keys`: the columns whose texts are joined by a space.

    # Raises

    `ConfigurationError` if a column is missing, at a row with another number of cells than the first, and at a label
    that is empty, malformed or there twice.
    """
    for number, record in csv_records(path, text_lines(path, _EXPECTED)):
        where = f"{path}:{number}"
        key = next((key for key in LABEL_KEYS if key in record), None)
        if key is None:
            raise ConfigurationError(
                f"{path}:1: no column is called {' or '.join(LABEL_KEYS)}; the first row names the columns, and has "
                f"{', '.join(map(short, record))}."
            )
        yield LabelledText(text_of(record, options.text_keys, where), labels_of(record[key], where), where)
