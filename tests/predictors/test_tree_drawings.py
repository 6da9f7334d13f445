from xml.etree import ElementTree

import pytest
from nltk import Tree

from seal.predictors.readable import as_text, printer

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


def test_svg_has_every_label_and_word():
    root = ElementTree.fromstring(printer(DOGS).svg())
    texts = [
        (text.text, float(text.get("x")), float(text.get("y")))
        for text in root.iter("{http://www.w3.org/2000/svg}text")
    ]
    assert sorted(word for word, _, _ in texts) == sorted("S NP PRP I VP VBP see NP NNS dogs".split())
    places = {word: (x, y) for word, x, y in texts}
    assert places["I"][0] < places["see"][0] < places["dogs"][0]
    assert min(places.values(), key=lambda place: place[1]) == places["S"]


def test_signs_of_markup_are_escaped():
    svg = printer("(NP (NN <b>&amp;</b>) (NN \"x'))").svg()
    texts = [text.text for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert "<b>&amp;</b>" in texts and "\"x'" in texts and "<b>" not in svg


def test_a_tree_that_is_too_deep_is_shown_as_it_is():
    deep = "(NP " * 600 + "(NN tea)" + ")" * 600
    assert as_text(deep) == deep
    with pytest.raises((ValueError, RecursionError)):
        printer(deep).svg()


def test_words_beside_constituents_stay_in_their_place():
    tree = "(S (NP (XX The) (XX chef)) (VP (XX slept)) (XX .))"
    assert as_text(tree).splitlines()[-1].split() == ["The", "chef", "slept", "."]
    texts = [
        (float(text.get("x")), text.text)
        for text in ElementTree.fromstring(printer(tree).svg()).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert [word for _, word in sorted(texts) if word in ("The", "chef", "slept", ".")] == "The chef slept .".split()
