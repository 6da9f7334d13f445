"""
The token files of RCV1-v2 (Lewis et al. 2004).
"""

import glob
import os
from collections import defaultdict
from collections.abc import Iterator
from typing import Optional

from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.text_formats.labelled_text import LabelledText, TextOptions, once_each
from seal.files.text_lines import text_lines

_QRELS = "rcv1-v2.topics.qrels*"


def read_lyrl(path: str, options: TextOptions = TextOptions()) -> Iterator[LabelledText]:
    """
    Reads RCV1-v2 as its authors publish it (Lewis et al. 2004): files such as `lyrl2004_tokens_train.dat`, in which
    `.I 2286` starts document 2286 and `.W` its stemmed words, over several lines; and `rcv1-v2.topics.qrels`, in which
    a line such as `E11 2286 1` gives a document a topic. The latter is in the format of trec_eval, in which 0 in place
    of 1 says that the document was judged not to have the topic.

    # Parameters

    path : `str`
        The token file.
    options : `TextOptions`
        `topics`: the file of topics. `None`: `rcv1-v2.topics.qrels`, or that with `.gz`, beside the token file.

    # Raises

    `ConfigurationError` at any other line, or at a document without a topic.
    """
    topics_path = options.topics or _beside(path)
    topics = _topics(topics_path)
    for number, document, words in _documents(path):
        if document not in topics:
            raise ConfigurationError(f"{path}:{number}: the document {document} has no topic in {topics_path}.")
        where = f"{path}:{number}"
        yield LabelledText(" ".join(words), once_each(topics[document], where), where)


def _beside(path: str) -> str:
    found = sorted(glob.glob(os.path.join(glob.escape(os.path.dirname(path)), _QRELS)))
    if not found:
        raise ConfigurationError(
            f"{path}: there is no rcv1-v2.topics.qrels beside it; name that file in dataset_reader.topics."
        )
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
