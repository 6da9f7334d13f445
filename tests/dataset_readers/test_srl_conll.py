"""Of lines; whole files, and what is wrong in them, are in `test_srl_files.py`."""

import pytest
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.srl_conll import parse_conll2012
from seal.dataset_readers.srl_records import SrlFrame


def numbered(*rows):
    """Of a word, its lemma and frameset, and its cells; `None` is an empty line."""
    lines = []
    for number, row in enumerate(rows, start=1):
        if row is None:
            lines.append((number, "\n"))
            continue
        word, lemma, frameset, *cells = row
        lines.append((number, " ".join(["d", "0", "0", word, "X", "*", lemma, frameset, "-", "-", "*", *cells, "-"])))
    return lines


def test_spans_of_one_row_and_of_several():
    rows = [("She", "-", "-", "(ARG0*)"), ("sold", "sell", "01", "(V*)"), ("two", "-", "-", "(ARG1*")]
    (sentence,) = parse_conll2012("a", numbered(*rows, ("cars", "-", "-", "*)")))
    assert sentence.words == ["She", "sold", "two", "cars"] and sentence.source == "a:1"
    assert sentence.frames == [SrlFrame(1, ["B-ARG0", "B-V", "B-ARG1", "I-ARG1"], "sell", "01")]


def test_an_empty_line_and_the_marks_of_a_document_end_a_sentence():
    lines = numbered(("a", "-", "-"), None, None, ("b", "-", "-"))
    lines += [(5, "#end document"), (6, "#begin document (x); part 000")]
    lines += [(7, line) for _, line in numbered(("c", "-", "-"))]
    found = list(parse_conll2012("a", lines))
    assert [(sentence.words, sentence.source) for sentence in found] == [(["a"], "a:1"), (["b"], "a:4"), (["c"], "a:7")]


def test_sentences_come_one_by_one():
    sentences = parse_conll2012("a", iter([*numbered(("a", "-", "-"), None), (3, "too short")]))
    assert next(sentences).words == ["a"]
    with pytest.raises(ConfigurationError, match="^a:3: found 2 columns"):
        next(sentences)


@pytest.mark.parametrize(
    "cells, message",
    [
        (["(A*", "(B*"], "a:2: .* opens inside the A span of line 1"),
        (["*", "*)"], "a:2: .* closes a span that was not opened"),
        (["*", "(A*"], "a:2: the A span of column 11 is never closed"),
        (["*", "A"], "a:2: 'A' in column 11 is not a role"),
        (["*", "*"], "a:1: column 11 has no predicate"),
    ],
)
def test_roles_that_are_wrong(cells, message):
    with pytest.raises(ConfigurationError, match=message):
        list(parse_conll2012("a", numbered(*(("w", "-", "-", cell) for cell in cells))))
