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


DOGS = "(S (NP (PRP I)) (VP (VBP see) (NP (NNS dogs))))"


def test_text_has_the_root_on_top_and_the_words_below():
    lines = as_text(DOGS, 80).splitlines()
    assert lines[0].split() == ["S"] and lines[-1].split() == ["I", "see", "dogs"]
    for label in ("NP", "VP", "PRP", "VBP", "NNS"):
        assert any(label in line.split() for line in lines)
    # Each part of speech stands above its word.
    tags = next(line for line in lines if "PRP" in line)
    assert abs(tags.index("PRP") + 1 - lines[-1].index("I")) <= 1


def test_a_tree_that_is_too_wide_is_written_in_brackets():
    tree = "(S (NP (DT The) (NN chef)) (VP (VBD sold) (NP (DT the) (JJ old) (NN car))))"
    width = max(map(len, as_text(tree).splitlines()))
    assert as_text(tree, width) == as_text(tree)
    narrow = as_text(tree, width - 1)
    assert Tree.fromstring(narrow) == Tree.fromstring(tree) and max(map(len, narrow.splitlines())) < width


def test_parts_of_speech_that_say_nothing_are_left_out():
    lines = as_text("(NP (XX old) (NN XX))").splitlines()
    assert "XX old" not in "\n".join(lines) and lines[-1].split() == ["old", "XX"]
    assert sum("XX" in line for line in lines) == 1 and "NN" in lines[-3]


def drawn(tree):
    """Each label and word of the `<svg>` element, with its place."""
    texts = ElementTree.fromstring(printer(tree).svg()).iter("{http://www.w3.org/2000/svg}text")
    return [(text.text, float(text.get("x")), float(text.get("y"))) for text in texts]


def test_svg_has_every_label_and_word():
    texts = drawn(DOGS)
    assert sorted(word for word, _, _ in texts) == sorted("S NP PRP I VP VBP see NP NNS dogs".split())
    places = {word: (x, y) for word, x, y in texts}
    assert places["I"][0] < places["see"][0] < places["dogs"][0]
    assert min(places.values(), key=lambda place: place[1]) == places["S"]


def test_signs_of_markup_are_escaped():
    words = [word for word, _, _ in drawn("(NP (NN <b>&amp;</b>) (NN \"x'))")]
    assert "<b>&amp;</b>" in words and "\"x'" in words


def test_a_tree_that_is_too_deep_is_shown_as_it_is():
    deep = "(NP " * 600 + "(NN tea)" + ")" * 600
    assert as_text(deep) == deep
    with pytest.raises((ValueError, RecursionError)):
        printer(deep).svg()


def test_words_beside_constituents_stay_in_their_place():
    tree = "(S (NP (XX The) (XX chef)) (VP (XX slept)) (XX .))"
    assert as_text(tree).splitlines()[-1].split() == ["The", "chef", "slept", "."]
    words = [word for word, _, _ in sorted(drawn(tree), key=lambda text: text[1])]
    assert [word for word in words if word in ("The", "chef", "slept", ".")] == "The chef slept .".split()


def test_a_tree_to_read():
    text = readable({"words": ["old", "tea"], "tree": "(NP (XX old) (XX tea))", "probability": 0.5})
    lines = text.splitlines()
    assert lines[0] == "old tea    0.50"
    # The label above, the words below.
    assert "NP" in lines[1] and lines[-1].split() == ["old", "tea"]


@pytest.mark.parametrize(
    "probability, shown",
    [(1e-9, "<0.01"), (0.0, "0.00"), (0.01, "0.01"), (0.987, "0.99"), (0.9999, ">0.99"), (1.0, "1.00")],
)
def test_a_small_probability_is_not_shown_as_none(probability, shown):
    frame = {"description": "It [V rains]", "probability": probability}
    assert readable({"words": ["It", "rains"], "frames": [frame]}).endswith(f"    {shown}")
    assert readable({"labels": {"wet": probability}, "probability": probability}) == f"wet {shown}    {shown}"
