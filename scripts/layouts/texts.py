"""Texts with labels as AAPD, RCV1-v2 and the Blurb Genre Collection are published."""

import glob
import html
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import zip_longest
from typing import Optional

from seal.files.text_lines import text_lines
from seal.registry import ConfigurationError
from seal.tasks.text.labelled_texts import LabelledText, without_repeats

_TEXT, _LABEL = "text_", "label_"
_QRELS = "rcv1-v2.topics.qrels*"
_RCV1_EDGE = re.compile(r"parent:\s*(\S+)\s+child:\s*(\S+)")
_FIELD = re.compile(r"<(title|body)>")
_TOPIC = re.compile(r"<(/?)d\d+>|\n")


def read_aapd(path: str) -> Iterator[LabelledText]:
    """
    AAPD as SGM's authors publish it (Yang et al. 2018): `text_train` has a text a line, and `label_train` beside it has
    the text's labels in the same line, separated by white space. `text_val` and `text_test` are alike.
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
        names = without_repeats(labels[1].split(), f"{labels_path}:{labels[0]}")
        yield LabelledText(text[1].strip(), names, f"{path}:{text[0]}")


def read_rcv1(path: str, topics_path: Optional[str] = None) -> Iterator[LabelledText]:
    """
    RCV1-v2 as its authors publish it (Lewis et al. 2004): files such as `lyrl2004_tokens_train.dat`, in which
    `.I 2286` starts document 2286 and `.W` its stemmed words, over several lines; and `rcv1-v2.topics.qrels`
    (`topics_path`; `None`: it, or that with `.gz`, beside the token file), in which a line such as `E11 2286 1` gives a
    document a topic. The latter is in the format of trec_eval, in which 0 in place of 1 says that the document was
    judged not to have the topic.
    """
    topics_path = topics_path or _beside(path)
    topics = _topics(topics_path)
    for number, document, words in _documents(path):
        where = f"{path}:{number}"
        if document not in topics:
            raise ConfigurationError(f"{where}: the document {document} has no topic in {topics_path}.")
        yield LabelledText(" ".join(words), without_repeats(topics[document], where), where)


def _beside(path: str) -> str:
    found = sorted(glob.glob(os.path.join(glob.escape(os.path.dirname(path)), _QRELS)))
    if not found:
        raise ConfigurationError(f"{path}: there is no rcv1-v2.topics.qrels beside it; name that file by --topics.")
    return found[0]


def _topics(path: str) -> dict[str, list[str]]:
    topics: dict[str, dict[str, None]] = defaultdict(dict)
    for number, line in text_lines(path):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != 3 or cells[2] not in ("0", "1"):
            raise _unexpected(path, number, "a topic, a document and 1, or 0 where it has not the topic", line)
        if cells[2] == "1":
            topics[cells[1]][cells[0]] = None
    return {document: list(labels) for document, labels in topics.items()}


def _documents(path: str) -> Iterator[tuple[int, str, list[str]]]:
    """For each document the number of its first line, its id and its words."""
    start, in_words = 0, False
    document: Optional[str] = None
    words: list[str] = []
    for number, line in text_lines(path, "RCV1-v2's token files, which begin with '.I'"):
        cells = line.split()
        if cells[:1] == [".I"]:
            if document is not None:
                yield start, document, words
            if len(cells) != 2:
                raise _unexpected(path, number, "'.I' and a document's number", line)
            start, document, words, in_words = number, cells[1], [], False
        elif cells == [".W"] and document is not None:
            in_words = True
        elif cells:
            if not in_words:
                raise _unexpected(path, number, "'.I' or '.W' before words", line)
            words += cells
    if document is not None:
        yield start, document, words


def _unexpected(path: str, number: int, expected: str, line: str) -> ConfigurationError:
    return ConfigurationError(f"{path}:{number}: expected {expected}, found {line[:40].strip()!r}.")


def read_rcv1_topics(path: str) -> Iterator[str]:
    """
    The lines `parent<TAB>child` of a taxonomy, of RCV1's file (`rcv1.topics.hier.orig`) with its lines
    `parent: C15 child: C151 child-description: ...`.
    """
    for number, line in text_lines(path, "lines such as 'parent: C15 child: C151 child-description: ...'"):
        edge = _RCV1_EDGE.match(line.strip())
        if edge is not None:
            yield f"{edge[1]}\t{edge[2]}"
        elif not line.isspace():
            raise _unexpected(path, number, "'parent: C15 child: C151 child-description: ...'", line)


def read_bgc(path: str) -> Iterator[LabelledText]:
    """
    BGC as it is published (Aly, Remus & Biemann 2019): each book, in lines of its own, is a `<book ...>` with a
    `<title>`, a `<body>` and `<topics>`, in which `<d0>` is a genre of the first level, `<d1>` one of the second and so
    on. The files are not XML, since they have ampersands that are not escaped. The text is title and body. Whatever
    else a book has, such as its author, would tell more than the blurb does and is not read.
    """
    for where, book in _books(path):
        fields = {name: html.unescape(content).strip() for name, content in _fields(book)}
        labels = without_repeats((html.unescape(label).strip() for label in _genres(book)), where)
        for name, found in (("body", "body" in fields), ("topic", bool(labels))):
            if not found:
                raise ConfigurationError(f"{where}: the <book> has no {name}.")
        yield LabelledText(" ".join(filter(None, (fields.get("title"), fields["body"]))), labels, where)


def _books(path: str) -> Iterator[tuple[str, str]]:
    """The place and the text of each book."""
    start, book = 0, ""
    for number, line in text_lines(path):
        if "<book" in line:
            if start:
                raise ConfigurationError(f"{path}:{number}: a <book> begins before that of line {start} ends.")
            if line.count("<book") > 1:
                raise ConfigurationError(f"{path}:{number}: a line has two <book>s; give each lines of its own.")
            if not line.lstrip().startswith("<book"):
                raise _unexpected(path, number, "a line that begins with <book>", line)
            start, book = number, ""
        elif not start:
            if not line.isspace():
                raise _unexpected(path, number, "<book>", line)
            continue
        book += line
        if "</book>" in line:
            lost = line.rpartition("</book>")[2].strip()
            if lost:
                raise _unexpected(path, number, "nothing after </book>", lost)
            yield f"{path}:{start}", book
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


def _genres(book: str) -> Iterator[str]:
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
