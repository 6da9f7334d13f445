"""
The Blurb Genre Collection.
"""

import html
import re
from typing import Dict, Iterator

from allennlp.common.checks import ConfigurationError

from seal.common.text_lines import text_lines
from seal.dataset_readers.text_formats.labelled_text import LabelledText, TextOptions

_FIELD = re.compile(r"<(title|body)>(.*?)</\1>")
_TOPIC = re.compile(r"<d\d+>(.*?)</d\d+>")


def read_blurbs(path: str, options: TextOptions = TextOptions()) -> Iterator[LabelledText]:
    """
    BGC as it is published (Aly, Remus & Biemann 2019): `<book ...>` to `</book>` around a `<title>`, a `<body>` and
    `<topics>`, in which `<d0>` is a genre of the first level, `<d1>` one of the second and so on; each element in a
    line of its own. Not XML, since an ampersand may stand for itself. The text is title and body; what else a book
    has (its author, for one) would tell more than the blurb and is not read.

    # Parameters

    path : `str`
    options : `TextOptions`
        Nothing of it is used.

    # Raises

    `ConfigurationError` at a book without an end, a body or a topic.
    """
    start, fields, labels = 0, {}, {}  # type: int, Dict[str, str], Dict[str, None]
    for number, line in text_lines(path):
        if "<book" in line:
            if start:
                raise ConfigurationError(f"{path}:{number}: a <book> begins before that of line {start} ends.")
            start, fields, labels = number, {}, {}
        elif not start:
            if not line.isspace():
                raise ConfigurationError(f"{path}:{number}: expected <book>, found {line[:40].strip()!r}.")
            continue
        for name, content in _FIELD.findall(line):
            fields[name] = html.unescape(content).strip()
        labels.update((html.unescape(label).strip(), None) for label in _TOPIC.findall(line))
        if "</book>" in line:
            for name, found in (("body", "body" in fields), ("topic", bool(labels))):
                if not found:
                    raise ConfigurationError(f"{path}:{start}: the <book> has no {name}.")
            text = " ".join(filter(None, (fields.get("title"), fields["body"])))
            yield LabelledText(text, list(labels), f"{path}:{start}")
            start = 0
    if start:
        raise ConfigurationError(f"{path}:{start}: the <book> has no </book>.")
