import json

import numpy
import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import load_archive

from seal_inspect.demo_alternatives import ALTERNATIVES
from seal_inspect.demo_answers import LINES, WORDS, answers_of
from tests.seal_inspect.demo_models import blocks_of
from tests.training.runs import config

SENTENCE = "The boy broke the vase ."


@pytest.fixture(scope="module")
def frames(small_run):
    return answers_of("nce", load_archive(small_run("nce") / "model.tar.gz"))


def found(answers):
    """A frame that the model finds; it is hardly trained."""
    answers.predictor._finder._threshold = 0.0
    picture, *blocks = blocks_of(answers, SENTENCE)
    assert picture["kind"] == "picture" and all(f">{block['heading']} " in picture["svg"] for block in blocks)
    return blocks


def test_frames_with_what_competed(frames):
    block = found(frames)[0]
    assert block["kind"] == "spans" and block["heading"] == "The" and block["words"] == SENTENCE.split()
    record = frames.predictor.predict_json({"words": SENTENCE.split(), "predicates": [0]})["frames"][0]
    assert block["spans"] == [(span["role"], span["start"], span["end"]) for span in record["spans"]]
    assert block["numbers"] == pytest.approx({"probability": record["probability"], "energy": record["energy"]})
    alternatives = block["alternatives"]
    assert len(alternatives) == ALTERNATIVES
    assert [one["chosen"] for one in alternatives] == [True] + [False] * (ALTERNATIVES - 1)
    scores = [one["numbers"]["log-probability"] for one in alternatives]
    assert scores == sorted(scores, reverse=True)
    assert numpy.exp(scores[0]) == pytest.approx(record["probability"], rel=1e-4)
    assert alternatives[0]["numbers"]["energy of the loss-net"] == pytest.approx(record["energy"], abs=1e-4)
    json.dumps(found(frames), allow_nan=False)


def test_what_competed_is_of_the_words_as_the_model_reads_them(frames, monkeypatch):
    split = frames.predictor._split
    read = lambda text: (split(text)[0], ["A", "girl", "likes", "a", "kite", "."])  # noqa: E731
    plain = found(frames)[0]
    monkeypatch.setattr(frames.predictor, "_split", read)
    block = found(frames)[0]
    assert block["words"] == SENTENCE.split() and block["numbers"] != plain["numbers"]
    best = block["alternatives"][0]
    assert best["chosen"]
    assert numpy.exp(best["numbers"]["log-probability"]) == pytest.approx(block["numbers"]["probability"], rel=1e-4)


def test_examples_are_sentences_of_the_validation_data(frames):
    assert frames.about()["asks"] == "text"
    assert frames.about()["examples"][1:] == ["Rain .", "It is easy , people say , to get lost ."]


def test_a_sentence_without_a_predicate_says_so(frames):
    frames.predictor._finder._threshold = 1.0
    assert blocks_of(frames, "Oh") == [{"kind": "text", "text": "Oh: no predicate was found"}]


@pytest.mark.parametrize(
    "given, told",
    [
        ("  \n ", "the text is blank"),
        ('{"words": []}', "'words'"),
        ("a " * (WORDS + 1), f"a sentence has {WORDS + 1} words, and the page takes {WORDS} of one"),
        ("a\n" * (LINES + 1), f"the page takes {LINES} sentences at a time, and there are {LINES + 1}"),
    ],
)
def test_a_wrong_input_is_told_without_the_number_of_its_line(given, told, frames):
    with pytest.raises(ConfigurationError, match=told) as error:
        blocks_of(frames, given)
    assert "line 1" not in str(error.value)


def test_a_structure_says_what_each_term_says(small_run):
    """Learned by hand here, on the paths of the fixture's own frames."""
    from allennlp.commands.train import train_model
    from allennlp.common import Params

    settings = config(method="cross_entropy", epochs=1, model__structure="tags", trainer__folds=0)
    folder = small_run("nce").parent / "structured"
    train_model(Params(settings), str(folder), force=True)
    answers = answers_of("structured", load_archive(folder / "model.tar.gz"))
    alternatives = found(answers)[0]["alternatives"]
    for one in alternatives:
        numbers = dict(one["numbers"])
        whole = numbers.pop("energy")
        terms = [numbers[name] for name in ("role counts", "role ngrams", "role sets", "key roles")]
        assert whole == pytest.approx(sum(terms), abs=1e-4)
    assert sum(one["chosen"] for one in alternatives) == 1
    assert sum(one["numbers"]["probability"] for one in alternatives) <= 1.0001
