"""Columns of roles as CoNLL-2005 has them; those of CoNLL-2012 are in test_data_files.py."""

import pytest

from seal.tasks.srl.data_files import read_srl_sentences
from seal.tasks.srl.frames import SrlFrame

WORDS = "The boy wants to sell bread".split()
PROPS = """\
-       (A0*    (A0*
-          *)      *)
want     (V*)      *
-       (A1*       *
sell       *     (V*)
-          *)  (A1*)
"""
WANT = ["B-A0", "I-A0", "B-V", "B-A1", "I-A1", "I-A1"]
SELL = ["B-A0", "I-A0", "O", "O", "B-V", "B-A1"]
# Part of speech, parse and names: columns of other brackets in front of the predicates.
BETWEEN = ["DT (S(NP* (ORG*", "NN *) *)", "VBZ (VP* *", "TO (S(VP* *", "VB (VP* *", "NN (NP*)))))) (MISC*)"]


def between(words, columns, ids=False):
    rows = zip(words, columns, PROPS.splitlines())
    return "".join(f"{f'{i} ' if ids else ''}{word} {more} {props}\n" for i, (word, more, props) in enumerate(rows, 1))


@pytest.mark.parametrize(
    "text", [between(WORDS, [""] * 6), between(WORDS, BETWEEN), between(WORDS, BETWEEN, ids=True)],
    ids=["words and roles", "with parses and names", "with numbers"],
)  # fmt: skip
def test_conll2005(write, text):
    path = write("wsj.24", f"{text}\nHi X * * -\n\n" if "NN" in text else f"{text}\nHi -\n")
    first, second = read_srl_sentences(path)
    assert first.words == WORDS and first.source == f"{path}:1"
    assert first.frames == [SrlFrame(2, WANT, "want"), SrlFrame(4, SELL, "sell")]
    assert second.frames == [] and second.words == ["Hi"]


def test_a_predicate_is_where_its_column_opens_v(write):
    (sentence,) = read_srl_sentences(write("a.conll", "He - (A0*)\ngave give (V*\nup - *)\n"))
    assert sentence.frames == [SrlFrame(1, ["B-A0", "B-V", "I-V"], "give")]
    (sentence,) = read_srl_sentences(write("b.conll", "Up give *\nhe - (A0*)\ngave - (V*)\n"))
    assert sentence.frames == [SrlFrame(2, ["O", "B-A0", "B-V"])]
