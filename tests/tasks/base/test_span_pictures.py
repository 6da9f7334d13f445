"""Pictures of records: what is in them, and that no text of a user becomes a part of the page."""

import re
from xml.etree import ElementTree

import pytest

from seal.tasks.base.records import Record, svg_of

SVG = "{http://www.w3.org/2000/svg}"
EVIL = '<script>alert("x")</script>&\x00'
FRAMES = {
    "words": ["She", "gave", "and", "left"],
    "frames": [
        {"predicate": "gave", "probability": 0.5, "spans": [
            {"role": "ARG0", "start": 0, "end": 0}, {"role": "V", "start": 1, "end": 1}]},
        {"predicate": "left", "probability": 0.25, "spans": [
            {"role": "ARG0", "start": 0, "end": 0}, {"role": "V", "start": 3, "end": 3}]},
    ],
}  # fmt: skip
RECORDS = {
    "frames": {**FRAMES, "words": [EVIL, "gave", "and", "left"]},
    "entities": {"words": [EVIL], "tags": ["B-A"], "spans": [{"label": EVIL, "start": 0, "end": 0}]},
    "tags": {"words": [EVIL, "b"], "tags": [EVIL, "X"], "probability": 0.5},
    "labels": {"labels": {EVIL: 0.9, "b": None}, "input": EVIL},
    "tree": {"words": ["<b>"], "tree": "(S (XX <b>))"},
    "error": {"error": EVIL},
    "mask": {"foreground": 0.5, "description": EVIL, "image": EVIL},
    "sentences": {"sentences": [{"words": [EVIL], "tags": ["X"]}, {"error": EVIL}]},
    "no label": {"labels": {}},
    "no frame": {"words": [EVIL], "frames": []},
}


def texts(picture):
    return [found.text for found in ElementTree.fromstring(picture).iter(f"{SVG}text")]


@pytest.mark.parametrize("kind", RECORDS)
def test_text_stays_text(kind):
    shown = Record(RECORDS[kind])._repr_html_()
    assert shown and re.findall(r"<(script|b)\b", shown) == [] and "\x00" not in shown


@pytest.mark.parametrize("kind", ["frames", "entities", "tags", "labels", "no label", "no frame"])
def test_a_picture_is_xml(kind):
    assert ElementTree.fromstring(svg_of(RECORDS[kind])).tag == f"{SVG}svg"


def test_all_frames_of_a_sentence_are_in_one_picture():
    found = texts(svg_of(FRAMES))
    assert found[:4] == FRAMES["words"]
    assert found[4:] == ["gave 0.50", "ARG0", "V", "left 0.25", "ARG0", "V"]


def test_a_long_sentence_has_several_lines_and_each_word_and_label_once():
    words = [f"word{place}" for place in range(60)]
    spans = [{"role": "ARG1", "start": 2, "end": 50}, {"role": "V", "start": 51, "end": 51}]
    picture = svg_of({"words": words, "frames": [{"predicate": "word51", "spans": spans}]})
    found = texts(picture)
    assert all(found.count(word) == 1 for word in words if word != "word51")
    assert found.count("ARG1") == found.count("V") == 1
    assert float(ElementTree.fromstring(picture).get("width")) < 1200
