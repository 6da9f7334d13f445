"""The embedded SRL sample: what the committed files have."""

import importlib
import re
from pathlib import Path

import pytest

from scripts.samples import make_srl_sample

grammar = importlib.import_module(make_srl_sample.Writer.__module__)
ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "data" / "srl_sample"
SPLITS = ("train", "dev", "test")


def read(path):
    """Sentences as lists of rows, and the document lines."""
    sentences, rows, marks = [], [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            marks.append(line)
        elif line:
            rows.append(line.split(" "))
        else:
            sentences.append(rows)
            rows = []
    assert not rows
    return sentences, marks


def read_column(cells):
    """The (start, end, label) spans of one predicate's column; fails on brackets that do not match."""
    spans, label, start = [], None, None
    for place, cell in enumerate(cells):
        match = re.fullmatch(r"(?:\(([A-Z0-9-]+))?\*(\))?", cell)
        assert match, cell
        if match[1]:
            assert label is None
            label, start = match[1], place
        if match[2]:
            assert label is not None
            spans.append((start, place, label))
            label = None
    assert label is None
    return spans


def frames_of(rows):
    return [read_column([row[column] for row in rows]) for column in range(11, len(rows[0]) - 1)]


@pytest.fixture(scope="module")
def sample():
    return {split: read(DATA / f"{split}.gold_conll")[0] for split in SPLITS}


@pytest.fixture(scope="module")
def frames(sample):
    """Every frame of the sample as (rows of its sentence, spans)."""
    return [(rows, spans) for split in SPLITS for rows in sample[split] for spans in frames_of(rows)]


def words(rows):
    return [row[3] for row in rows]


def predicate(rows, spans):
    return next(rows[start] for start, _, label in spans if label == "V")


@pytest.mark.parametrize("split", SPLITS)
def test_layout(sample, split):
    marks = read(DATA / f"{split}.gold_conll")[1]
    assert marks[::2] == [f"#begin document ({split}{n:02d}); part 000" for n in range(len(marks) // 2)]
    assert set(marks[1::2]) == {"#end document"}
    for rows in sample[split]:
        assert [row[2] for row in rows] == [str(n) for n in range(len(rows))]
        predicates = [row for row in rows if row[6] != "-"]
        assert {len(row) for row in rows} == {12 + len(predicates)}
        assert read_column([row[5] for row in rows]) == [(0, len(rows) - 1, "TOP")]
        for row in rows:
            assert row[1] == "0" and row[8:11] == ["-", "-", "*"] and row[-1] == "-"
            assert all(row) and (row[6] == "-") == (row[7] == "-")


def test_frames_are_legal(sample):
    for split in SPLITS:
        for rows in sample[split]:
            predicates = [n for n, row in enumerate(rows) if row[6] != "-"]
            columns = frames_of(rows)
            # The columns come in the order of their predicates, each with one V.
            verbs = [[span[:2] for span in spans if span[2] == "V"] for spans in columns]
            assert verbs == [[(n, n)] for n in predicates]
            for spans in columns:
                labels = [label for _, _, label in spans]
                core = [label for label in labels if re.fullmatch(r"ARG\d", label)]
                assert len(core) == len(set(core)), words(rows)
                for label in labels:
                    assert label[:2] not in ("C-", "R-") or label[2:] in labels, words(rows)


def test_no_sentence_in_two_places(sample):
    texts = [" ".join(words(rows)).lower() for split in SPLITS for rows in sample[split]]
    assert len(texts) == len(set(texts))


@pytest.mark.parametrize("split", ["dev", "test"])
def test_unseen_words_and_predicates(sample, split):
    known = {word.lower() for rows in sample["train"] for word in words(rows)}
    lemmas = {row[6] for rows in sample["train"] for row in rows}
    nouns = [row[3].lower() for rows in sample[split] for row in rows if row[4].startswith("NN")]
    heads = [row for rows in sample[split] for row in rows if row[6] != "-"]
    assert 0.10 < sum(noun not in known for noun in nouns) / len(nouns) < 0.20
    assert 0.06 < sum(row[6] not in lemmas for row in heads) / len(heads) < 0.16
    verbs = {row[6] for row in heads if row[4].startswith("VB")} - lemmas
    assert len(verbs) > 15


def test_the_held_out_verbs_have_classmates_in_train(sample):
    lemmas = {row[6] for rows in sample["train"] for row in rows}
    for text, _ in grammar.lexicon.VERB_CLASSES.values():
        assert lemmas & {grammar.verb_lemma(verb) for verb in text.split()}


def test_the_common_roles_occur(frames):
    labels = {label for _, spans in frames for _, _, label in spans}
    modifiers = "TMP LOC MNR CAU PRP NEG MOD ADV DIR DIS EXT".split()
    assert labels >= {f"ARG{n}" for n in range(5)} | {f"ARGM-{name}" for name in modifiers}
    assert labels >= {"R-ARG0", "R-ARG1", "R-ARG2", "R-ARGM-LOC", "C-ARG1"}


def count(frames, accept):
    return sum(bool(accept(rows, spans)) for rows, spans in frames)


def starts_with(rows, spans, role, word):
    return any(label == role and rows[start][3].lower() == word for start, _, label in spans)


def before_verb(rows, spans, role):
    verb = next(start for start, _, label in spans if label == "V")
    return any(label == role and end < verb for _, end, label in spans)


BREAKING = "break crack shatter smash snap open close lock cut slice roll slide bounce".split()
PHENOMENA = {
    "passive with by": lambda r, s: predicate(r, s)[4] == "VBN" and starts_with(r, s, "ARG0", "by"),
    "recipient with to": lambda r, s: starts_with(r, s, "ARG2", "to") and predicate(r, s)[4].startswith("VB"),
    "beneficiary with for": lambda r, s: starts_with(r, s, "ARG2", "for"),
    "direction with to": lambda r, s: starts_with(r, s, "ARGM-DIR", "to"),
    "nominal predicate": lambda r, s: predicate(r, s)[4] == "NN",
    "adjectival predicate": lambda r, s: predicate(r, s)[4] == "JJ",
    "split speech": lambda r, s: (
        before_verb(r, s, "ARG1")
        and any(label == "C-ARG1" for *_, label in s)
        and any(label == "ARG0" for *_, label in s)
    ),
    "inchoative": lambda r, s: (
        predicate(r, s)[6] in BREAKING
        and predicate(r, s)[4] == "VBD"
        and before_verb(r, s, "ARG1")
        and r[-1][3] == "."
        and not any(label == "ARG0" for *_, label in s)
    ),
    "instrument subject": lambda r, s: predicate(r, s)[6] in BREAKING and before_verb(r, s, "ARG2"),
    "bare time adjunct": lambda r, s: any(
        label == "ARGM-TMP" and r[start][3] in ("a", "an", "the") for start, _, label in s
    ),
    "time object": lambda r, s: (
        predicate(r, s)[6] in ("waste", "spend", "lose")
        and any(label == "ARG1" and re.match("hour|day|week|month|evening|night", r[end][3]) for _, end, label in s)
    ),
    "question": lambda r, s: r[-1][3] == "?",
    "imperative": lambda r, s: predicate(r, s)[4] == "VB" and predicate(r, s)[2] == "0",
}


@pytest.mark.parametrize("name", PHENOMENA)
def test_a_phenomenon_occurs(frames, name):
    assert count(frames, PHENOMENA[name]) >= 15


def test_some_sentences_have_no_predicate_and_many_have_several(sample):
    for split in SPLITS:
        numbers = [len(frames_of(rows)) for rows in sample[split]]
        assert 0.01 < numbers.count(0) / len(numbers) < 0.06
        assert sum(number > 1 for number in numbers) > 0.2 * len(numbers)


def test_articles_fit_the_next_word(sample):
    for split in SPLITS:
        for rows in sample[split]:
            for word, following in zip(words(rows), words(rows)[1:]):
                vowel = re.match("hour|honest|[aeio]|u(?!ni|se)", following.lower())
                assert word.lower() not in ("a", "an") or (word.lower() == "an") == bool(vowel), words(rows)


def test_inflection():
    words = {
        "carry past": "carried",
        "stop ing": "stopping",
        "give en": "given",
        "watch s": "watches",
        "see ing": "seeing",
        "be ing": "being",
        "hope ing": "hoping",
        "travel past": "travelled",
    }
    for form, word in words.items():
        assert grammar.inflect(*form.split()) == word
