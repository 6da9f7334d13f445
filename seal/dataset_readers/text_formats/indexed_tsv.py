"""
TSV files with a text a line, and the numbers of its labels after a tab.
"""

from typing import Iterator, List

from allennlp.common.checks import ConfigurationError

from seal.common.text_lines import text_lines
from seal.dataset_readers.text_formats.labelled_text import LabelledText, TextOptions


def read_indexed_tsv(path: str, options: TextOptions = TextOptions()) -> Iterator[LabelledText]:
    """
    Reads TSV as GoEmotions is published: a text, the numbers of its labels, which count from 0 and are separated by
    commas, and perhaps an id, which is not read. All lines have as many columns as the first; quotes have no meaning,
    and blank lines are skipped.

    # Parameters

    path : `str`
    options : `TextOptions`
        `label_names`: the names of the labels that the numbers stand for.

    # Raises

    `ConfigurationError` if there are no `label_names`, a line has another number of columns, or a label no name.
    """
    if options.label_names is None:
        raise ConfigurationError(
            f"{path}: its labels are numbers; name the file that lists them in dataset_reader.labels."
        )
    expected = None
    for number, line in text_lines(path):
        if line.isspace():
            continue
        where, columns = f"{path}:{number}", line.rstrip("\r\n").split("\t")
        expected = expected or len(columns)
        if expected not in (2, 3):
            raise ConfigurationError(
                f"{where}: expected a text, the numbers of its labels and perhaps an id, with tabs between, found "
                f"{expected} column{'' if expected == 1 else 's'}."
            )
        if len(columns) != expected:
            raise ConfigurationError(f"{where}: found {len(columns)} columns, and {expected} in the first line.")
        yield LabelledText(columns[0], _labels(columns[1], options.label_names, where), where)


def _labels(cell: str, names: List[str], where: str) -> List[str]:
    labels = []
    for item in filter(None, (piece.strip() for piece in cell.split(","))):
        if not item.isdecimal():
            raise ConfigurationError(
                f"{where}: the labels must be numbers from 0, with commas between, found {cell[:40]!r}."
            )
        if int(item) >= len(names):
            raise ConfigurationError(
                f"{where}: there is no label {item}; dataset_reader.labels lists {len(names)}, 0 to {len(names) - 1}."
            )
        labels.append(names[int(item)])
    return list(dict.fromkeys(labels))
