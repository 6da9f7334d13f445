"""
The format of the Blurb Genre Collection.
"""

import html
import re
from collections.abc import Iterator

from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.text_formats.labelled_text import LabelledText, TextOptions, once_each
from seal.files.text_lines import text_lines

_FIELD = re.compile(r"<(title|body)>")
_TOPIC = re.compile(r"<(/?)d\d+>|\n")


def read_blurbs(  # noqa: C901 - a branch an element
    path: str, options: TextOptions = TextOptions()
) -> Iterator[LabelledText]:
    """
    Reads BGC as it is published (Aly, Remus & Biemann 2019): each book, in lines of its own, is a `<book ...>` with a
    `<title>`, a `<body>` and `<topics>`, in which `<d0>` is a genre of the first level, `<d1>` one of the second and so
    on. The files are not XML, since they have ampersands that are not escaped. The text is title and body. Whatever
    else a book has, such as its author, would tell more than the blurb does and is not read.

    # Parameters

    path : `str`
    options : `TextOptions`
        Not used.

    # Raises

    `ConfigurationError` at a book without an end, a body or a topic, and at two books in a line.
    """
    start, book = 0, ""
    for number, line in text_lines(path):
        if "<book" in line:
            if start:
                raise ConfigurationError(f"{path}:{number}: a <book> begins before that of line {start} ends.")
            if line.count("<book") > 1:
                raise ConfigurationError(f"{path}:{number}: a line has two <book>s; give each lines of its own.")
            if not line.lstrip().startswith("<book"):
                found = line[:40].strip()
                raise ConfigurationError(f"{path}:{number}: expected a line that begins with <book>, found {found!r}.")
            start, book = number, ""
        elif not start:
            if not line.isspace():
                raise ConfigurationError(f"{path}:{number}: expected <book>, found {line[:40].strip()!r}.")
            continue
        book += line
        if "</book>" in line:
            lost = line.rpartition("</book>")[2].strip()
            if lost:
                raise ConfigurationError(f"{path}:{number}: expected nothing after </book>, found {lost[:40]!r}.")
            fields = {name: html.unescape(content).strip() for name, content in _fields(book)}
            labels = once_each((html.unescape(label).strip() for label in _topics(book)), f"{path}:{start}")
            for name, found in (("body", "body" in fields), ("topic", bool(labels))):
                if not found:
                    raise ConfigurationError(f"{path}:{start}: the <book> has no {name}.")
            text = " ".join(filter(None, (fields.get("title"), fields["body"])))
            yield LabelledText(text, labels, f"{path}:{start}")
            start = 0
    if start:
        raise ConfigurationError(f"{path}:{start}: the <book> has no </book>.")


# A pattern such as `<body>(.*?)</body>` would search to the end of the book from every `<body>` without one.


def _fields(book: str) -> Iterator[tuple[str, str]]:
    """The names and contents of title and body."""
    after, without_end = 0, set()
    for tag in _FIELD.finditer(book):
        if tag.start() < after or tag[1] in without_end:
            continue
        end = book.find(f"</{tag[1]}>", tag.end())
        if end < 0:
            without_end.add(tag[1])
        else:
            yield tag[1], book[tag.end() : end]
            after = end


def _topics(book: str) -> Iterator[str]:
    """The topics, each of which begins and ends in one line."""
    begin = None
    for tag in _TOPIC.finditer(book):
        if tag[1] is None:
            begin = None
        elif tag[1] == "":
            begin = tag.end() if begin is None else begin
        elif begin is not None:
            yield book[begin : tag.start()]
            begin = None
