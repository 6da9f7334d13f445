"""What the predictor of each task refuses, by the line and by its arguments, and what the message must name."""

import json

import pytest
import torch
from PIL import Image

from seal.registry import ConfigurationError
from seal.tasks.base.sentence_predictor import MAX_CHARACTERS, check_characters, check_words
from seal.tasks.multilabel import MultilabelPredictor
from seal.tasks.multilabel.reader import MultilabelReader
from seal.tasks.tagging.reader import TaggingReader
from tests.multilabel import TASK_NET
from tests.one_sentence import message_of
from tests.segmentation import arrays, write_npz
from tests.tasks.multilabel.nets import net
from tests.tasks.records_of_lines import of_lines
from tests.tasks.tagging.test_predictor import WORDS, predictor_of
from tests.tasks.test_every_task import MAKERS as TASKS
from tests.tasks.text.test_predictor import predictor_of as text_predictor

MAKERS = {
    **TASKS,
    "tags with features": lambda: predictor_of(reader=TaggingReader(feature_columns={"pos": 1})),
    "joined texts": lambda: text_predictor(text_keys=["title", "text"]),
}
GOOD = {
    "frames": {"words": ["she", "left"]},
    "tags with features": {"words": WORDS, "features": {"pos": WORDS}},
    "texts": {"text": "sea"},
    "joined texts": {"title": "kite", "text": "sea"},
    "features": {"features": {"ripe": 1}},
    "masks": {"images": "data.npz", "row": 1},
}
TOO_DEEP = '{"a":' * 200_000
#: Each line, and what its error must name.
LINES = {
    "frames": {
        '{"sentence": "She left": 1}': ["character 24"],
        "{": ["JSON"],
        '{"sentence": "a", "sentence": "b"}': ["'sentence'"],
        TOO_DEEP: ["deep"],
        '{"words": ["a"], "predicates": [' + "1" * 5000 + "]}": ["digits"],
        '{"sentense": "a"}': ["'sentence'", "'words'", "'sentense'"],
        '{"sentence": "a", "words": ["a"]}': ["'sentence'", "'words'"],
        '{"sentence": "a b", "predicates": [1]}': ["'predicates'", "'words'"],
        '{"sentence": ["a"]}': ["'sentence'", "['a']"],
        '{"sentence": " \\n"}': ["'sentence'"],
        "\ufeff": ["'sentence'"],
        '{"sentence": "a \\ud83d b"}': ["'sentence'"],
        '{"words": null}': ["'words'", "None"],
        '{"words": "a b"}': ["'words'", "'a b'"],
        '{"words": []}': ["'words'"],
        '{"words": ["a", 3]}': ["word 1", "3"],
        '{"words": ["a", ""]}': ["word 1"],
        '{"words": ["a"], "predicates": 0}': ["'predicates'", "0"],
        '{"words": ["a", "b"], "predicates": [true]}': ["'predicates'", "True"],
        '{"words": ["a", "b"], "predicates": [1.0]}': ["'predicates'", "1.0"],
        '{"words": ["a", "b"], "predicates": [2]}': ["found 2", "0 to 1"],
        '{"words": ["a", "b"], "predicates": [-1]}': ["found -1"],
        '{"words": ["a"], "colour": 3}': ["'colour'", "predicates"],
        '{"words": ["a"], "id": NaN}': ["'id'"],
        "caf\udce9 is here": ["0xe9", "character 4"],
        # No byte of a file becomes one of these.
        "caf\ud800 is here": ["surrogate"],  # noqa: F601
    },
    "tags with features": {
        json.dumps({"words": WORDS}): ["'pos'"],
        json.dumps({"words": WORDS, "features": {"pos": ["N"]}}): ["'pos'", "1", "4"],
        json.dumps({"words": WORDS, "features": {"pos": [1] * 4}}): ["'pos'"],
        json.dumps({"words": WORDS, "features": {"pos": WORDS, "chunk": WORDS}}): ["'chunk'", "pos"],
        json.dumps({"words": WORDS, "features": ["N"]}): ["'features'"],
    },
    "texts": {
        "{": ["JSON"],
        '{"words": ["a"]}': ["text", "token"],
        '{"text": " "}': ["text"],
        '{"text": 3}': ["'text'", "3"],
        '{"text": "sea", "text": "kite"}': ["'text'"],
        '{"text": "\\udc80"}': ["surrogate"],
    },
    "joined texts": {'{"text": "sea"}': ["'title'"], '{"title": 3, "text": "sea"}': ["'title'", "3"]},
    "features": {
        '{"features": [1, 2, 3]': ["JSON", "'features'"[1:-1]],
        "[1, 2, 3]": ["'features'", "[1, 2, 3]"],
        '{"feature": [1, 2, 3]}': ["'features'", "'feature'"],
        '{"features": null}': ["'features'", "None"],
        '{"features": [1, 2]}': ["'features'", "2", "3"],
        '{"features": {"colour": 1}}': ["'colour'", "0 to 2"],
        '{"features": {"3": 1}}': ["'3'"],
        '{"features": ["ripe", "colour"]}': ["'colour'"],
        '{"features": {"ripe": 1, "2": 1}}': ["'ripe'"],
        '{"features": [1, NaN, 3]}': ["'weight'", "nan"],
        '{"features": {"ripe": 1e39}}': ["'ripe'", "1e+39"],
        '{"features": [1, 2, 1' + "0" * 400 + "]}": ["'ripe'"],
        '{"features": [1, null, 1' + "0" * 400 + "]}": ["'weight'"],
        '{"features": [1, 2, "3"]}': ["'ripe'", "'3'"],
        '{"features": {"size": true}}': ["'size'", "True"],
        '{"features": {"size": null}}': ["'size'", "statistics_from"],
        '{"features": [1, 2, 3], "by": ["name"]}': ["'by'", "['name']"],
        '{"features": {"01": 1}, "by": "index"}': ["'01'", "0 to 2"],
        '{"features": ["caf\udce9"]}': ["0xe9", "character 19"],
    },
    "masks": {
        "nothing": ["JSON", "image"],
        "[1]": ["'image'", "[1]"],
        "{}": ["'image'", "'images'", "'row'"],
        '{"image": "a", "images": "b"}': ["'image'", "'images'"],
        '{"image": "small.png", "row": 0}': ["'row'", "'images'"],
        '{"image": 3}': ["'image'", "3"],
        '{"image": "none.png"}': ["none.png"],
        '{"images": "none.npz", "row": 1}': ["none.npz"],
        '{"images": "text.npz", "row": 0}': ["text.npz"],
        '{"images": "data.npz", "row": 5}': ["data.npz", "'row'", "5", "0 to 4"],
        '{"images": "data.npz", "row": true}': ["'row'", "True"],
        '{"images": "data.npz"}': ["'row'", "None"],
        '{"image": "small.png"}': ["small.png", "4 x 5", "8 x 8"],
    },
}


@pytest.mark.parametrize("task", LINES)
def test_a_wrong_line_has_its_error_in_its_place_and_the_others_go_on(task, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_npz(tmp_path)
    Image.fromarray(arrays()["images"][0][:4, :5]).save("small.png")
    (tmp_path / "text.npz").write_text("hello")
    good = json.dumps(GOOD[task])
    records = of_lines(MAKERS[task](), [each for line in LINES[task] for each in (good, line)])
    assert all("error" not in record for record in records[::2])
    for number, ((line, named), record) in enumerate(zip(LINES[task].items(), records[1::2]), start=1):
        told = record.pop("error")
        assert told.startswith(f"line {2 * number}: ") and all(name in told for name in named), (line[:60], told)
        assert told.isascii() and told.endswith(".") and "\n" not in told and len(told) < 400 and not record


#: Arguments of the predictors, and what the message must name.
ARGUMENTS = [
    *((task, {"colour": 3}, "'colour'", "energy") for task in TASKS),
    *((task, {"energy": "yes"}, "energy", "'yes'") for task in TASKS),
    *((task, {"energy": True}, "energy") for task in TASKS),
    ("tags", {"tokenizer": "words"}, "tokenizer", "'words'", "'tweets'"),
    ("frames", {"max_words": 2.0}, "max_words", "2.0"),
    ("frames", {"split_sentences": "yes"}, "split_sentences", "'yes'"),
    *(("frames", {"predicate_threshold": share}, "predicate_threshold") for share in (1.5, "0.5", True)),
    *(("frames", {"frames_per_batch": number}, "frames_per_batch") for number in (0, 2.5)),
    ("features", {"top_k": 0}, "top_k", "0"),
    ("features", {"probabilities": 1}, "probabilities", "1"),
    ("features", {"decision": "best"}, "decision", "'best'", "'tuned'"),
    ("masks", {"folder": 3}, "folder", "3"),
]


@pytest.mark.parametrize("task, settings, named", [(*row[:2], row[2:]) for row in ARGUMENTS])
def test_arguments(task, settings, named):
    with pytest.raises(ConfigurationError) as error:
        MAKERS[task](**settings)
    assert all(name in str(error.value) for name in named)


@pytest.mark.parametrize("task", TASKS)
def test_models_of_another_task(task):
    kind = type(MAKERS[task]())
    assert f"'{kind.registered_name}'" in message_of(kind, torch.nn.Linear(1, 1), None)


def test_thresholds_that_are_not_there():
    untuned = net(tuned=False, task_net=TASK_NET)
    assert "decision" in message_of(MultilabelPredictor, untuned, MultilabelReader(), decision="tuned")


def test_what_is_too_long():
    assert "11" in message_of(check_words, ["word"] * 11, 10)
    assert "500,000" in message_of(check_words, ["a", "b", "x" * 500_000], 10)
    assert "1,048,577" in message_of(check_characters, "x" * (MAX_CHARACTERS + 1))
    for task in ("tags", "frames", "trees", "texts"):
        long, short = of_lines(MAKERS[task](max_words=2), ["Rose sells ginger", "sea kite"])
        assert "max_words" in long["error"] and "error" not in short
