"""Sentences of JSON lines, as Hugging Face, doccano, spaCy, Prodigy and Label Studio write them."""

import json
import logging

import pytest

from seal.tasks.tagging.reader import TaggingReader

NAMES = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
TEXT = "Anna Meyer sails to Bergen."
WORDS = ["Anna", "Meyer", "sails", "to", "Bergen", "."]
TAGS = ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]


@pytest.fixture
def read(write):
    def instances(*records, name="a.jsonl", **settings):
        path = write(name, "".join(json.dumps(record) + "\n" for record in records))
        return [instance["metadata"].metadata for instance in TaggingReader(**settings).read(path)]

    return instances


@pytest.mark.parametrize(
    "record, settings",
    [
        ({"id": "0", "tokens": WORDS, "ner_tags": TAGS}, {}),
        ({"id": "0", "tokens": WORDS, "ner_tags": [NAMES.index(tag) for tag in TAGS]}, {"label_names": NAMES}),
        ({"words": WORDS, "pos_tags": ["X"] * 6, "ner_tags": TAGS}, {"tag_column": "ner_tags"}),
        ({"text": TEXT, "tokens": WORDS, "labels": TAGS}, {}),
        ({"Wort": WORDS, "Art": TAGS}, {"token_column": "Wort", "tag_column": "Art"}),
        ({"id": 3, "text": TEXT, "label": [[20, 26, "LOC"], [0, 10, "PER"]], "Comments": []}, {}),
        # With the space beside the words, and the words beside the text.
        ({"text": TEXT, "tokens": TEXT.split(), "entities": [[0, 11, "PER"], [19, 26, "LOC"]]}, {}),
        (
            {
                "text": TEXT,
                "tokens": [{"text": "Anna", "start": 0, "end": 4, "id": 0}],
                "spans": [{"start": 0, "end": 10, "token_start": 0, "token_end": 1, "label": "PER"}]
                + [{"start": 20, "end": 26, "label": "LOC"}],
                "answer": "accept",
            },
            {},
        ),
        (
            {"text": TEXT, "label": [{"start": 0, "end": 10, "text": "Anna Meyer", "labels": ["PER"]}]
             + [{"start": 20, "end": 26, "labels": ["LOC"]}]},
            {},
        ),
    ],
    ids=["tags", "numbers", "named", "text beside words", "own keys", "doccano", "spaCy", "Prodigy", "Label Studio"],
)  # fmt: skip
def test_one_sentence_in_every_layout(read, record, settings):
    (found,) = read(record, **settings)
    assert found["words"] == WORDS and found["tags"] == TAGS and found["lines"] == [1] * 6


def test_which_lines_are_sentences(read):
    rejected = {"text": TEXT, "spans": [], "answer": "reject"}
    found = read({"tokens": [], "tags": []}, rejected, {"tokens": ["So"], "tags": ["B-X"]}, name="a.json.gz")
    assert [(one["words"], one["source"].rpartition(":")[2]) for one in found] == [(["So"], "3")]


def test_entities_in_the_encoding_that_is_asked_for(read):
    record = {"text": TEXT, "spans": [[0, 10, "PER"], [20, 26, "LOC"]]}
    (found,) = read(record, encoding="BIOES")
    assert found["tags"] == ["B-PER", "E-PER", "O", "O", "S-LOC", "O"]
    (found,) = read(record, target_encoding="BIOES")
    assert found["tags"] == ["B-PER", "E-PER", "O", "O", "S-LOC", "O"]
    (found,) = read(record, tag_column=None)
    assert found["words"] == WORDS and found["tags"] is None


def test_an_entity_inside_a_word_takes_the_whole_word(read, caplog):
    with caplog.at_level(logging.WARNING):
        found = read(
            {"text": "He sails", "spans": []},
            {"text": "the Bergenser hills", "spans": [[4, 10, "LOC"]]},
            {"text": "near Oslo", "spans": [[6, 9, "LOC"]]},
        )
    assert found[1]["tags"] == ["O", "B-LOC", "O"] and found[2]["tags"] == ["O", "B-LOC"]
    (told,) = (record.getMessage() for record in caplog.records)
    assert "inside a word: 2, the first in line 2" in told


def test_features_of_words(write):
    record = {"tokens": ["So", "it"], "tags": ["A", "B"], "upos": ["ADV", "PRON"]}
    path = write("a.jsonl", json.dumps(record))
    (instance,) = TaggingReader(feature_columns={"pos": "upos"}).read(path)
    assert instance["pos"].labels == ["ADV", "PRON"]
