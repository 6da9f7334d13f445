import random

import pytest
from nltk import Tree

from seal.common.linear_trees import as_brackets, brackets_of, check_tree, linearised, without_unknown_tags

DOGS = "(S (NP (PRP I)) (VP (VBP see) (NP (NNS dogs))))"
DOGS_SYMBOLS = "(S (NP XX ) (VP XX (NP XX ) ) )".split()


def test_by_hand():
    assert linearised(Tree.fromstring(DOGS)) == DOGS_SYMBOLS
    assert brackets_of(DOGS_SYMBOLS) == [("S", 0, 3), ("NP", 0, 1), ("VP", 1, 3), ("NP", 2, 3)]
    assert as_brackets(DOGS_SYMBOLS, ["I", "see", "dogs"], ["PRP", "VBP", "NNS"]) == DOGS
    assert as_brackets(DOGS_SYMBOLS, ["I", "see", "dogs"]) == "(S (NP (XX I)) (VP (XX see) (NP (XX dogs))))"


def test_words_without_a_part_of_speech():
    assert linearised(Tree.fromstring("(NP the (JJ old) dog (PP of (NP it)))")) == "(NP XX XX XX (PP XX XX ) )".split()


def test_a_chain_of_one_child_each_is_kept():
    symbols = linearised(Tree.fromstring("(S (VP (VP (VB go))))"))
    assert symbols == "(S (VP (VP XX ) ) )".split()
    assert brackets_of(symbols) == [("S", 0, 1), ("VP", 0, 1), ("VP", 0, 1)]


def test_words_that_would_break_the_brackets():
    written = as_brackets("(NP XX XX XX )".split(), ["(", ":)", "New York"], ["(", "UH", "NNP"])
    assert written == "(NP (-LRB- -LRB-) (UH :-RRB-) (NNP New_York))"
    assert Tree.fromstring(written).leaves() == ["-LRB-", ":-RRB-", "New_York"]


def random_tree(rng, depth, width):
    """A tree of at most so many levels of constituents, and at most so many children of each."""
    children = []
    for _ in range(rng.randint(1, width)):
        if depth > 1 and rng.random() < 0.5:
            children.append(random_tree(rng, depth - 1, width))
        else:
            children.append(Tree(rng.choice(["NN", "VB", ",", "-LRB-"]), [f"w{rng.randrange(1000)}"]))
    return Tree(rng.choice(["S", "NP", "VP", "PP", "XX", "NP-SBJ=2"]), children)


def spans_of(node, start):
    """The labelled spans below a node whose first word is `start`, by recursion; the last item is where it ends."""
    if isinstance(node[0], str):
        return [start + 1]
    spans, end = [], start
    for child in node:
        *inside, end = spans_of(child, end)
        spans += inside
    return [(node.label(), start, end), *spans, end]


def test_linearise_and_back():
    rng = random.Random(13)
    deepest = widest = 0
    for number in range(10_000):
        depth, width = rng.randint(1, 5), rng.randint(1, 4)
        if number % 100 == 0:
            depth, width = rng.choice([(12, 2), (2, 80)])
        tree = random_tree(rng, depth, width)
        for _ in range(rng.choice([0, 0, 0, 1, 2, 60 if number % 100 == 1 else 3])):
            tree = Tree(rng.choice(["S", "VP"]), [tree])
        symbols = linearised(tree)
        words, tags = zip(*tree.pos())
        check_tree(symbols, len(words))
        assert Tree.fromstring(as_brackets(symbols, words, tags)) == tree
        assert brackets_of(symbols) == spans_of(tree, 0)[:-1]
        deepest, widest = max(deepest, tree.height()), max(widest, len(words))
    assert deepest > 60 and widest > 80


def test_a_tree_of_any_depth():
    tree = Tree("NN", ["dog"])
    for _ in range(100_000):
        tree = Tree("NP", [tree])
    symbols = linearised(tree)
    assert len(symbols) == 200_001 and len(brackets_of(symbols)) == 100_000


@pytest.mark.parametrize(
    "symbols, named",
    [
        ("", "constituent"),
        ("XX", "constituent"),
        ("(S (NP XX )", "S"),
        (") (S XX )", "symbol 1"),
        ("(S XX ) )", "symbol 3 of 4"),
        ("(S XX ) (S XX )", "symbol 3 of 6"),
        ("XX (S XX )", "symbol 1 of 4"),
        ("(S XX (NP ) )", "symbol 4 .*NP"),
        ("(S ( XX ) )", r"symbol 2, '\('"),
        ("(S dog )", "symbol 2, 'dog'"),
        ("(S XX )", "1 words.* 2"),
    ],
)
def test_what_is_no_tree_is_named(symbols, named):
    with pytest.raises(ValueError, match=named):
        check_tree(symbols.split(), 2)


def test_tags_for_every_word():
    with pytest.raises(ValueError):
        as_brackets("(NP XX XX )".split(), ["a", "dog"], ["DT"])


def test_brackets_around_words_without_a_known_tag_can_go():
    tree = as_brackets(["(S", "(NP", "XX", "XX", ")", "XX", ")"], ["a", "(XX", "b c"])
    assert tree == "(S (NP (XX a) (XX -LRB-XX)) (XX b_c))"
    assert without_unknown_tags(tree) == "(S (NP a -LRB-XX) b_c)"
    assert without_unknown_tags("(S (NP (NN a)))") == "(S (NP (NN a)))"
