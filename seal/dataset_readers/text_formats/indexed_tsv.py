"""
TSV files: in each line a text and, after a tab, the numbers of its labels.
"""

from collections.abc import Iterator

from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.text_formats.labelled_text import LabelledText, TextOptions, labels_of
from seal.dataset_readers.text_formats.tsv import text_rows


def read_indexed_tsv(path: str, options: TextOptions = TextOptions()) -> Iterator[LabelledText]:
    """
    Reads TSV as GoEmotions is published: a text, the numbers of its labels, which count from 0 and are separated by
    commas, and perhaps an id, which is not read.

    # Parameters

    path : `str`
    options : `TextOptions`
        `label_names`: the names of the labels that the numbers stand for.

    # Raises

    `ConfigurationError` as `text_rows` and `labels_of`, and if there are no `label_names` or a label has none.
    """
    if options.label_names is None:
        raise ConfigurationError(
            f"{path}: its labels are numbers; name the file that lists them in dataset_reader.labels."
        )
    for text, cell, where in text_rows(path, "the numbers of its labels"):
        yield LabelledText(text, _labels(cell, options.label_names, where), where)


def _labels(cell: str, names: list[str], where: str) -> list[str]:
    labels = []
    for item in labels_of(cell, where):
        if not item.isdecimal():
            raise ConfigurationError(
                f"{where}: the labels must be numbers from 0, with commas between, found {cell[:40]!r}; where they are "
                "names, set dataset_reader.format to 'tsv'."
            )
        # Python reads no number of thousands of digits.
        digits = item.lstrip("0") or "0"
        if len(digits) > 18 or int(digits) >= len(names):
            raise ConfigurationError(
                f"{where}: there is no label {item[:40]}; dataset_reader.labels lists {len(names)}, 0 to "
                f"{len(names) - 1}."
            )
        labels.append(names[int(digits)])
    # `1` and `01` are the same.
    return list(dict.fromkeys(labels))
