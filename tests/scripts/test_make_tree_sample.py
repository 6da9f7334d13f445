"""The embedded sample of trees: what the committed files have."""

import re
from collections import Counter
from pathlib import Path

import pytest

from scripts.samples import make_tree_sample as script
from seal.common.linear_trees import brackets_of, linearised
from seal.tasks.parsing.reader import cleaned, read_trees

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "data" / "trees_sample"
SPLITS = ("train", "dev", "test")
LABELS = set("S NP VP PP SBAR ADVP ADJP SQ SBARQ SINV WHNP WHPP WHADVP INTJ".split())


@pytest.fixture(scope="module")
def sample():
    return {split: [cleaned(tree) for _, tree in read_trees(str(DATA / f"{split}.mrg"))] for split in SPLITS}


@pytest.fixture(scope="module")
def lines(sample):
    """Every tree without its words, in brackets on one line."""
    found = []
    for tree in (tree for trees in sample.values() for tree in trees):
        symbols, tags = linearised(tree), iter([tag for _, tag in tree.pos()])
        found.append(" ".join(next(tags) if symbol == "XX" else symbol for symbol in symbols))
    return found


def test_lengths(sample):
    lengths = [len(tree.leaves()) for split in SPLITS for tree in sample[split]]
    assert min(lengths) >= 4 and max(lengths) <= 21


def test_no_sentence_in_two_places(sample):
    texts = [" ".join(tree.leaves()).lower() for split in SPLITS for tree in sample[split]]
    assert len(texts) == len(set(texts))


def test_there_is_something_to_clean():
    for split in SPLITS:
        trees = [tree for _, tree in read_trees(str(DATA / f"{split}.mrg"))]
        assert all(tree.label() == "" for tree in trees)
        assert sum("-NONE-" in str(tree) for tree in trees) > 0.3 * len(trees)


@pytest.mark.parametrize("split", SPLITS)
def test_labels_are_penns(sample, split):
    found = Counter(label for tree in sample[split] for label, _, _ in brackets_of(linearised(tree)))
    assert set(found) == LABELS
    # The root is a constituent of the sentence, and chains are short: no constituent is there twice.
    for tree in sample[split]:
        brackets = brackets_of(linearised(tree))
        assert brackets[0][0] in ("S", "NP", "SQ", "SBARQ", "SINV") and len(set(brackets)) == len(brackets)


def test_the_words_decide_where_a_phrase_hangs():
    """Where verb, both nouns and preposition are the same, so is the place; preposition or verb alone do not tell."""
    made = script.make(seed=5, sizes={"train": 4000, "dev": 1, "test": 1})
    places, by_preposition, by_verb = {}, {}, {}
    for _, tree in made["train"]:
        for words, on_noun in script.attachments(tree):
            assert places.setdefault(words, on_noun) == on_noun, words
            by_preposition.setdefault(words[2], Counter())[on_noun] += 1
            by_verb.setdefault((words[0], words[2]), Counter())[on_noun] += 1
    total = sum(sum(counts.values()) for counts in by_preposition.values())
    assert total > 1500
    right = [sum(max(counts.values()) for counts in by.values()) / total for by in (by_preposition, by_verb)]
    assert 0.7 < right[0] < 0.85 and 0.9 < right[1] < 0.98


# Regular expressions of trees without words, in which `[` and `]` are the tree's brackets, and `<` is a noun phrase
# with no other one in it.
PHENOMENA = {
    "phrase on the noun of an object": "[VP VB. [NP < [PP IN",
    "phrase on the verb": "[VP VB. < [PP IN",
    "phrase on the inner noun": "[NP < [PP IN [NP < [PP",
    "two phrases on one noun": "[NP < [PP IN < ] [PP",
    "relative clause on the inner noun": "[NP < [PP IN [NP < [SBAR",
    "relative clause on the outer noun": "[NP < [PP IN < ] [SBAR",
    "relative clause of an object": "[SBAR [WHNP (WDT|WP) ] [S [NP",
    "relative clause without its word": "[NP < [SBAR [S",
    "participle": "[NP < [VP VBN",
    "two objects": "[VP VB. < <",
    "clause without a verb": "[S < [ADJP",
    "coordinated noun phrases": "[NP < CC <",
    "coordinated verbs": "[VP VBD CC VBD",
    "coordinated verb phrases": "] CC [VP VBD",
    "coordinated clauses": "] CC [S",
    "clause with that": "[VP VB. [SBAR IN [S",
    "clause without that": "[VP VB. [SBAR [S",
    "infinitive": "[VP VB. [S [VP TO [VP VB",
    "speaker last": "[SINV ",
    "quotes": "[S(INV)? `` [S",
    "question": "[SQ (VB.|MD) [NP",
    "question for an object": "[SBARQ [WHNP WP ] [SQ (VB.|MD) [NP",
    "negation": "(VB.|MD) RB [VP VB",
    "apposition": "[NP < , [NP < [PP",
    "adverb before the verb": "] [ADVP RB ] [VP VB",
}


def pattern(found):
    return re.compile(found.replace("[", r"\(").replace("]", r"\)").replace("<", r"\(NP [^()]*\)"))


@pytest.mark.parametrize("name", PHENOMENA)
def test_a_phenomenon_occurs(lines, name):
    assert sum(pattern(PHENOMENA[name]).search(line) is not None for line in lines) >= 15


@pytest.mark.parametrize("split", ["dev", "test"])
def test_unseen_nouns_and_verbs(sample, split):
    known = {word.lower() for tree in sample["train"] for word in tree.leaves()}
    for tag, least in (("NN", 0.1), ("VB", 0.03)):
        words = [word.lower() for tree in sample[split] for word, found in tree.pos() if found.startswith(tag)]
        assert least < sum(word not in known for word in words) / len(words) < 0.25
