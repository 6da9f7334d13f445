"""
Files with a text in each line, whose labels are in the same line of another file.
"""

import os
from collections.abc import Iterator
from itertools import zip_longest

from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.text_formats.labelled_text import LabelledText, TextOptions, once_each
from seal.files.text_lines import text_lines

_TEXT, _LABEL = "text_", "label_"


def read_line_pairs(path: str, options: TextOptions = TextOptions()) -> Iterator[LabelledText]:
    """
    Reads AAPD as SGM's authors publish it (Yang et al. 2018): `text_train` has a text a line, and `label_train` beside
    it has the text's labels in the same line, separated by white space. `text_val` and `text_test` are alike.

    # Parameters

    path : `str`
        The file of the texts; its name starts with `text_`.
    options : `TextOptions`
        Not used.

    # Raises

    `ConfigurationError` if the name starts otherwise, or the two files differ in their number of lines.
    """
    folder, name = os.path.split(path)
    if not name.startswith(_TEXT):
        raise ConfigurationError(
            f"{path}: the name of a file of texts starts with '{_TEXT}', that of its labels with '{_LABEL}'."
        )
    labels_path = os.path.join(folder, _LABEL + name[len(_TEXT) :])
    for text, labels in zip_longest(
        text_lines(path, "a text a line"), text_lines(labels_path, "the labels of a text a line")
    ):
        if text is None or labels is None:
            number = (text or labels)[0]
            has, lacks = (labels_path, path) if text is None else (path, labels_path)
            raise ConfigurationError(f"{has}:{number}: {lacks} has no such line; texts and labels go line by line.")
        names = once_each(labels[1].split(), f"{labels_path}:{labels[0]}")
        yield LabelledText(text[1].strip(), names, f"{path}:{text[0]}")
