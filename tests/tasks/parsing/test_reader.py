import time

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader
from hypothesis import given
from hypothesis import strategies as st
from nltk import Tree

from seal.common.linear_trees import linearised
from seal.tasks.parsing.reader import ParsingReader, cleaned, parsed_trees
from tests.one_sentence import message_of

# As published: no label at the root, function tags, a trace, a tree over two lines.
TREEBANK = """\
( (S (NP-SBJ-1 (NNP Rose)) (VP (VBZ wants)
     (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB sell))))) (. .)))
( (UH Yes) )
"""
FIRST = "(S (NP XX ) (VP XX (S (VP XX (VP XX ) ) ) ) XX )".split()


def reader_of(**options):
    return DatasetReader.from_params(Params({"type": "seal_parsing", **options}))


def test_trees_as_published(write):
    path = write("wsj_0001.mrg", TREEBANK)
    first, second = reader_of().read(path)
    assert first["metadata"].metadata == {
        "words": "Rose wants to sell .".split(),
        "symbols": FIRST,
        "tags": "NNP VBZ TO VB .".split(),
        "source": f"{path}:1",
    }
    assert [token.text for token in first["tokens"]] == "Rose wants to sell .".split()
    assert first["symbols"].labels == FIRST
    # A word alone has a root.
    assert second["symbols"].labels == ["(TOP", "XX", ")"] and second["metadata"]["source"] == f"{path}:3"


def test_a_folder_is_all_files_below_it(tmp_path, write):
    (tmp_path / "02").mkdir()
    first, second = write("02/wsj_0200.mrg", TREEBANK), write("wsj_0001.mrg.gz", "(NP (NN tea))\n")
    write("README", "no tree")
    sources = [instance["metadata"]["source"] for instance in reader_of().read(str(tmp_path))]
    assert sources == [f"{first}:1", f"{first}:3", f"{second}:1"]
    (tmp_path / "other").mkdir()
    assert ".mrg" in message_of(reader_of().read, str(tmp_path / "other"))


def test_punctuation_may_go(write):
    first, _ = reader_of(punctuation=False).read(write("a.mrg", TREEBANK))
    assert first["metadata"]["words"] == "Rose wants to sell".split() and first["symbols"].labels[-2:] == [")", ")"]


def test_parts_of_a_file_and_long_sentences(write):
    path = write("a.mrg", "".join(f"(NP {'(NN tea) ' * n}(NN ale))\n" for n in range(6)))
    words = {
        part: [len(instance["tokens"]) for instance in reader_of(valid_every=3).read(path + part)]
        for part in ("", "#train", "#valid")
    }
    assert words == {"": [1, 2, 3, 4, 5, 6], "#train": [2, 3, 5, 6], "#valid": [1, 4]}
    assert [len(instance["tokens"]) for instance in reader_of(max_words=2).read(path)] == [1, 2]


def test_plain_text_is_an_input(write):
    path = write("raw.txt", "Rose sells tea\n\nyes\n")
    instances = list(ParsingReader().read_inputs(path, plain_text=True))
    assert [instance["metadata"]["words"] for instance in instances] == [["Rose", "sells", "tea"], ["yes"]]
    assert "symbols" not in instances[0].fields


# Made up, laid out as the `.mrg` files of WSJ are.
WSJ = """
( (S
    (NP-SBJ-1 (DT The) (NN board) )
    (VP (VBD was)
      (VP (VBN told)
        (NP (-NONE- *-1) )
        (SBAR (-NONE- 0)
          (S
            (NP-SBJ (PRP it) )
            (VP (MD could)
              (VP (VB go)
                (PRT|ADVP (RP on) )
                (ADVP-TMP (-LRB- -LRB-) (RB again) (-RRB- -RRB-) )))))))
    (. .) ))
( (NP (NN Note) (: ;) ))
"""
# As Switchboard's.
SWITCHBOARD = r"""
*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*
*x* Copyright (C) of the (Notice *x*

( (CODE (SYM SpeakerA1) (. .) ))
( (S (INTJ (UH Well) (, ,) )
    (EDITED (RM (-DFL- \[) )
      (NP-SBJ-UNF (PRP I) )
      (, ,)
      (IP (-DFL- \+) ))
    (NP-SBJ (PRP we) )
    (RS (-DFL- \]) )
    (VP (VBP know) )
    (. .) (-DFL- E_S) ))
( (INTJ (UH Uh-huh) (. .) (-DFL- E_S) ))
"""


def numbered(text):
    return enumerate(text.splitlines(keepends=True), start=1)


def read(text):
    return list(parsed_trees("a", numbered(text)))


def one(text, **options):
    """A tree cleaned, on one line."""
    ((_, tree),) = read(text)
    before = str(tree)
    found = cleaned(tree, **options)
    assert str(tree) == before
    return None if found is None else found.pformat(margin=10_000)


def test_a_treebank_as_published():
    (first, long), (second, short) = read(WSJ)
    assert (first, second) == (2, 15)
    assert cleaned(long).pformat(margin=10_000) == (
        "(S (NP (DT The) (NN board)) (VP (VBD was) (VP (VBN told) (SBAR (S (NP (PRP it)) (VP (MD could) (VP (VB go) "
        "(PRT (RP on)) (ADVP (-LRB- -LRB-) (RB again) (-RRB- -RRB-)))))))) (. .))"
    )
    assert long.leaves()[3:6] == ["told", "*-1", "0"]
    assert cleaned(short).pformat() == "(NP (NN Note) (: ;))"


def test_switchboard_keeps_what_is_said():
    found = read(SWITCHBOARD)
    assert [line for line, _ in found] == [5, 6, 15]
    turn, sentence, interjection = (cleaned(tree) for _, tree in found)
    assert turn is None
    assert sentence.pformat(margin=10_000) == (
        "(S (INTJ (UH Well) (, ,)) (EDITED (NP (PRP I)) (, ,)) (NP (PRP we)) (VP (VBP know)) (. .))"
    )
    assert interjection.pformat() == "(INTJ (UH Uh-huh) (. .))"
    assert cleaned(found[1][1], punctuation=False).pformat(margin=10_000) == (
        "(S (INTJ (UH Well)) (EDITED (NP (PRP I))) (NP (PRP we)) (VP (VBP know)))"
    )


@pytest.mark.parametrize(
    "text, expected",
    [
        # One tree a line, with each of the roots.
        ("(S (NN a) (NN b))", "(S (NN a) (NN b))"),
        ("(ROOT (S (NN a)))", "(S (NN a))"),
        ("(TOP (S (NN a)))", "(S (NN a))"),
        ("(S1 (S (NN a)))", "(S (NN a))"),
        ("( (ROOT ( (S (NN a)))))", "(S (NN a))"),
        # Several constituents, and a lone word, need one.
        ("( (S (NN a)) (S (NN b)))", "(TOP (S (NN a)) (S (NN b)))"),
        ("(ROOT (S (NN a)) (. .))", "(TOP (S (NN a)) (. .))"),
        ("( (NN a))", "(TOP (NN a))"),
        ("(NN a)", "(TOP (NN a))"),
        # `S` is no root, and neither is one inside.
        ("(S (S (NN a)))", "(S (S (NN a)))"),
        ("(X (ROOT (NN a) (NN b)))", "(X (ROOT (NN a) (NN b)))"),
        # Labels.
        ("(NP-SBJ=2-1 (NP=3 (NN a)) (NP-TMP (NN|JJ b)))", "(NP (NP (NN a)) (NP (NN b)))"),
        ("(X (-LRB- -LRB-) (ADVP|PRT (PRP$ a)) (= =) (- -))", "(X (-LRB- -LRB-) (ADVP (PRP$ a)) (= =) (- -))"),
        # Brackets without a label, and words without a part of speech.
        ("(NP ( (NN a) ( (NN b))) (NN c))", "(NP (NN a) (NN b) (NN c))"),
        ("(NP the (JJ old) dog)", "(NP (XX the) (JJ old) (XX dog))"),
        # What has nothing but empty elements goes, up to the tree.
        ("(S (NP (-NONE- *)) (VP (NP (NP (-NONE- *T*-1))) (NN a)))", "(S (VP (NN a)))"),
        ("( (S (NP (-NONE- *))))", None),
        ("(-NONE- *)", None),
        ("(S (-NONE- * T) (CODE <no words>) (NN a))", "(S (NN a))"),
    ],
)
def test_cleaning(text, expected):
    assert one(text) == expected


def test_layouts():
    expected = [Tree.fromstring("(S (NP (NN a)) (VP (VB b)))"), Tree.fromstring("(S (NN c))")]
    for text in (
        "(S (NP (NN a)) (VP (VB b)))\n(S (NN c))",
        "(S (NP (NN a)) (VP (VB b))) (S (NN c))\r\n",
        "\n\n  (S\n  (NP(NN a))(\n VP (VB\tb)\n\t))\n\n(S(NN\n c))\n\n",
        "( S ( NP ( NN a ) ) ( VP ( VB b ) ) )\r\n(S (NN c))\r\n",
    ):
        assert [tree for _, tree in read(text)] == expected


@st.composite
def trees(draw):
    """A tree in which some words have no part of speech, and whether one of its brackets has several of these alone."""
    wrong = False

    def node(depth):
        nonlocal wrong
        label = draw(st.sampled_from(["S", "NP", "NN", "-NONE-"]))
        words = st.sampled_from(["cook", "cook-1", "*"])
        count = draw(st.integers(1, 3))
        children = [node(depth - 1) if depth and draw(st.booleans()) else draw(words) for _ in range(count)]
        wrong |= label != "-NONE-" and len(children) > 1 and all(isinstance(child, str) for child in children)
        return Tree(label, children)

    return node(draw(st.integers(0, 3))), lambda: wrong


@given(trees())
def test_a_tree_is_read_as_it_stands_or_refused(drawn):
    tree, wrong = drawn
    if wrong():
        with pytest.raises(ConfigurationError, match=" [23] words"):
            read(tree.pformat(margin=10_000))
    else:
        assert read(tree.pformat(margin=10_000)) == [(1, tree)]


def test_the_deepest_tree_goes_all_the_way():
    ((_, tree),) = read("(X " * 200 + "a" + ")" * 200)
    assert len(linearised(cleaned(tree))) == 2 * 199 + 1


def test_the_time_is_linear():
    """Of one long tree; 16 times as many words take far less than 256 times as long, on a busy machine, too."""

    def seconds(size):
        start = time.process_time()
        ((_, tree),) = read("(S" + " (NP (NN a))" * size + ")\n")
        cleaned(tree)
        return time.process_time() - start

    seconds(1000)
    assert min(seconds(40_000) for _ in range(3)) < 80 * min(seconds(2500) for _ in range(3))
