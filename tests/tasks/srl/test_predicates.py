from types import SimpleNamespace
from unittest import mock

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.tasks.base.words import join_words
from seal.tasks.srl import predicates
from seal.tasks.srl.predicates import (
    IndexedSentence,
    ModelPredicateFinder,
    Row,
    TaggerPredicateFinder,
    as_tensors,
    is_verb_tag,
)
from seal.tasks.tagging import TaggingModel

TEXTS = [
    "The old cook gave her a knife and left .",
    "Rain .",
    "She peels and eats pears .",
    "It is easy , people say , to get lost .",
    "gave " * 40,
]


@pytest.fixture
def sentences(predictor):
    sequences = [join_words(text.split()) for text in TEXTS]
    return [IndexedSentence(each, predictor._dataset_reader, predictor._model.vocab) for each in sequences]


@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_the_model_finds_the_words_that_its_forward_holds_probable(predictor, sentences, batch_size):
    model = predictor._model
    probabilities = []
    for sentence in sentences:
        with torch.no_grad():
            probabilities.append(model(**as_tensors([Row(sentence)], -1))["predicate_prob"][0].tolist())
    # In the middle of the largest gap between probabilities, so that rounding changes no decision.
    ranked = sorted(p for row in probabilities for p in row)
    gaps = [(high - low, (high + low) / 2) for low, high in zip(ranked, ranked[1:])]
    for threshold in [0.5, max(gaps)[1], max(gap for gap in gaps if gap[1] < 0.1)[1]]:
        expected = [[i for i, p in enumerate(row) if p >= threshold] for row in probabilities]
        assert 0 < sum(map(len, expected)) < len(ranked)
        finder = ModelPredicateFinder(model, -1, threshold, batch_size)
        assert finder.find(sentences) == expected


@pytest.mark.parametrize(
    "tag, word, found",
    [
        ("VERB", "left", True),
        ("AUX", "is", True),
        ("AUX", "Can", False),
        ("AUX", "'ll", False),
        ("V", "runs", True),
        ("V", "wo", False),
        ("V", "need", True),
        ("VERB", "can", True),
        ("VBD", "left", True),
        ("VB", "leave", True),
        ("MD", "can", False),
        ("NOUN", "leave", False),
        ("ADV", "v", False),
        ("PROPN", "Will", False),
    ],
)
def test_the_tags_of_verbs_in_each_tag_set(tag, word, found):
    assert is_verb_tag(tag, word) is found


@pytest.fixture
def tagger(monkeypatch):
    """What `open_archive` gives: a model of parts of speech that knows five words."""
    tags = {"gave": "VERB", "peels": "VERB", "is": "AUX", "knife": "NOUN", "can": "AUX"}

    def tagged(sentences):
        return [{"tags": [tags.get(word, "X") for word in words]} for words in sentences]

    model = mock.create_autospec(TaggingModel, instance=True)
    model.output_space = SimpleNamespace(labels=["NOUN", "VERB", "AUX", "X"])
    monkeypatch.setattr(predicates, "open_archive", lambda *_, **__: SimpleNamespace(model=model, dataset_reader=None))
    monkeypatch.setattr(
        predicates,
        "TaggingPredictor",
        lambda *_, **__: SimpleNamespace(prepare=lambda asked: asked["words"], records=tagged),
    )
    return model


def test_a_taggers_verbs_are_added_to_what_the_model_finds(tagger, sentences):
    other = SimpleNamespace(find=lambda given: [[5, 8], [], [], [5], []])
    finder = TaggerPredicateFinder("tagger.tar.gz", -1, beside=other)
    assert finder.find(sentences) == [[3, 5, 8], [], [1], [1, 5], list(range(40))]
    assert TaggerPredicateFinder("t", -1, SimpleNamespace(find=lambda given: [])).find([]) == []


def test_the_predictor_asks_the_tagger_where_no_predicates_are_given(tagger, predictor):
    with_tagger = type(predictor)(predictor._model, predictor._dataset_reader, predicates_from="tagger.tar.gz")
    sentence = {"words": "Her knife peels the knife .".split()}
    threshold = {"predicate_threshold": 1.0}
    without = type(predictor)(predictor._model, predictor._dataset_reader, **threshold)
    with_tagger._finder._beside = without._finder
    assert without.predict_json(sentence)["frames"] == []
    assert [frame["predicate"] for frame in with_tagger.predict_json(sentence)["frames"]] == ["peels"]
    assert with_tagger.predict_json({**sentence, "predicates": []})["frames"] == []


@pytest.mark.parametrize("given, asked", [({}, ["english-pos"]), ({"predicates_from": "t"}, ["t"])])
def test_the_model_may_name_its_tagger(tagger, predictor, monkeypatch, given, asked):
    names, found = [], predicates.open_archive("t")
    monkeypatch.setattr(predicates, "open_archive", lambda name, *_: names.append(name) or found)
    monkeypatch.setattr(predictor._model, "predicates_from", "english-pos")
    type(predictor)(predictor._model, predictor._dataset_reader, **given)
    assert names == asked
    type(predictor)(predictor._model, predictor._dataset_reader, predicates_from="")
    assert names == asked


def test_a_model_that_tags_no_verbs_is_refused(tagger, monkeypatch):
    tagger.output_space.labels = ["O", "B-LOC"]
    with pytest.raises(ConfigurationError, match="predicates_from: t .*B-LOC"):
        TaggerPredicateFinder("t", -1, None)
    other = SimpleNamespace(model=object(), dataset_reader=None)
    monkeypatch.setattr(predicates, "open_archive", lambda *_, **__: other)
    with pytest.raises(ConfigurationError, match="predicates_from: t .*'seal_tagging'"):
        TaggerPredicateFinder("t", -1, None)
