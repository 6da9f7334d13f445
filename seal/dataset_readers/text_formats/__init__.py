"""
Files of texts with labels: one module for each format, and `format_of`, which tells the format of a file.
"""

import os
from collections.abc import Callable, Iterator

from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.text_formats.blurbs import read_blurbs
from seal.dataset_readers.text_formats.comma_separated import read_csv
from seal.dataset_readers.text_formats.indexed_tsv import read_indexed_tsv
from seal.dataset_readers.text_formats.json_lines import read_json_lines
from seal.dataset_readers.text_formats.labelled_text import LabelledText, TextOptions
from seal.dataset_readers.text_formats.line_pairs import read_line_pairs
from seal.dataset_readers.text_formats.lyrl import read_lyrl
from seal.dataset_readers.text_formats.tsv import read_tsv
from seal.files.other_formats import other_format
from seal.files.text_lines import text_lines, without_packing

#: The readers of the formats; each takes a path and options.
FORMATS: dict[str, Callable[[str, TextOptions], Iterator[LabelledText]]] = {
    "json_lines": read_json_lines,
    "tsv": read_tsv,
    "csv": read_csv,
    "indexed_tsv": read_indexed_tsv,
    "line_pairs": read_line_pairs,
    "lyrl": read_lyrl,
    "blurbs": read_blurbs,
}
_ENDINGS = {".jsonl": "json_lines", ".json": "json_lines", ".tsv": "tsv", ".csv": "csv", ".dat": "lyrl"}


def format_of(path: str, options: TextOptions = TextOptions()) -> str:
    """
    The name in `FORMATS` of a file's format, by the file's name or else by the start of its first line that is not
    blank. TSV has numbers for labels where there are `label_names`, and names otherwise.

    # Raises

    `ConfigurationError` if neither tells the format.
    """
    name = without_packing(os.path.basename(path))
    ending = os.path.splitext(name)[1]
    if ending == ".tsv" and options.label_names is not None:
        return "indexed_tsv"
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    if name.startswith("text_"):
        return "line_pairs"
    first = next((line for _, line in text_lines(path) if not line.isspace()), "")
    if first.startswith("{"):
        return "json_lines"
    if first.startswith("<book"):
        return "blurbs"
    found = other_format([first], json_lines=True)
    if found is not None:
        raise ConfigurationError(
            f"{path}: this looks like {found}; expected JSON lines, TSV or another of the formats "
            f"{', '.join(FORMATS)} (dataset_reader.format)."
        )
    raise ConfigurationError(
        f"{path}: neither its name nor its first line tells the format; set dataset_reader.format to one of "
        f"{', '.join(FORMATS)}."
    )
