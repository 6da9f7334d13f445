from xml.etree import ElementTree

import pytest
from nltk import Tree

from seal.tasks.base.records import readable
from seal.tasks.parsing.records import as_text, printer


@pytest.mark.parametrize(
    "record, text",
    [
        ({"error": "line 1: it is blank."}, "error: line 1: it is blank."),
        (
            {
                "words": ["It", "rains"],
                "frames": [
                    {"description": "It [V rains]", "probability": 0.987},
                    {"description": "[ARG1 It] [V rains]", "probability": 0.5, "energy": -3.14159},
                ],
            },
            "It rains\n  It [V rains]    0.99\n  [ARG1 It] [V rains]    0.50, energy -3.14",
        ),
        (
            {"words": ["Oh"], "frames": []},
            'Oh\n  no predicate was found; name some, {"words": ["It", "rains"], "predicates": [1]}, or add the verbs '
            "of a tagger, --predicates-from TAGGER",
        ),
        ({"words": ["It"], "tags": ["PRP"], "description": "It/PRP", "probability": 0.25}, "It/PRP    0.25"),
        ({"labels": {"cocoa": 0.971, "trade": 0.6}}, "cocoa 0.97, trade 0.60"),
        ({"labels": {"cocoa": 0.971}, "energy": 2.0}, "cocoa 0.97    energy 2.00"),
        ({"labels": {}}, "no label"),
        ({"line": 3, "input": "Cocoa fell", "labels": {"cocoa": 0.971}}, "Cocoa fell\n  cocoa 0.97"),
        ({"line": 3, "input": {"salt": 1}, "labels": {"cocoa": 0.971}}, "cocoa 0.97"),
        ({"labels": {"cocoa": None}}, "cocoa not finite"),
        (
            {"image": "a.png", "foreground": 0.27, "description": "27 % of 32 x 32 pixels", "energy": None},
            "a.png: 27 % of 32 x 32 pixels",
        ),
    ],
)
def test_records_of_every_task(record, text):
    assert readable(record) == text


def test_a_tree_that_is_too_wide_is_written_in_brackets():
    tree = "(S (NP (DT The) (NN chef)) (VP (VBD sold) (NP (DT the) (JJ old) (NN car))))"
    width = max(map(len, as_text(tree).splitlines()))
    assert as_text(tree, width) == as_text(tree)
    narrow = as_text(tree, width - 1)
    assert Tree.fromstring(narrow) == Tree.fromstring(tree) and max(map(len, narrow.splitlines())) < width


def drawn(tree):
    """Each label and word of the `<svg>` element, with its place."""
    texts = ElementTree.fromstring(printer(tree).svg()).iter("{http://www.w3.org/2000/svg}text")
    return [(text.text, float(text.get("x")), float(text.get("y"))) for text in texts]


def test_signs_of_markup_are_escaped():
    words = [word for word, _, _ in drawn("(NP (NN <b>&amp;</b>) (NN \"x'))")]
    assert "<b>&amp;</b>" in words and "\"x'" in words


@pytest.mark.parametrize(
    "probability, shown",
    [(1e-9, "<0.01"), (0.0, "0.00"), (0.01, "0.01"), (0.987, "0.99"), (0.9999, ">0.99"), (1.0, "1.00")],
)
def test_a_small_probability_is_not_shown_as_none(probability, shown):
    frame = {"description": "It [V rains]", "probability": probability}
    assert readable({"words": ["It", "rains"], "frames": [frame]}).endswith(f"    {shown}")
    assert readable({"labels": {"wet": probability}, "probability": probability}) == f"wet {shown}    {shown}"
