import base64
import io
import json

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import load_archive
from PIL import Image

from seal.commands.demo_alternatives import ALTERNATIVES
from seal.commands.demo_answers import LINES, answers_of
from seal.dataset_readers import MultilabelReader, SegmentationReader
from tests import multilabel, segmentation
from tests.commands.demo_models import MASK_PARTS, archived, fitted_labels, texts
from tests.training.runs import config

SENTENCE = "The boy broke the vase ."


@pytest.fixture(scope="module")
def frames(small_run):
    return answers_of("nce", load_archive(small_run("nce") / "model.tar.gz"))


def found(answers):
    """A frame that the model finds; it is hardly trained."""
    answers.predictor._finder._threshold = 0.0
    return answers.answer(SENTENCE)


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
    assert frames.answer("Oh") == [{"kind": "text", "text": "Oh: no predicate was found"}]


@pytest.mark.parametrize(
    "given, told",
    [
        ("  \n ", "the text is blank"),
        ('{"words": []}', "'words' is empty"),
        ("a\n" * (LINES + 1), f"the page takes {LINES} lines at a time, and there are {LINES + 1}"),
    ],
)
def test_a_wrong_input_is_told_without_the_number_of_its_line(given, told, frames):
    with pytest.raises(ConfigurationError, match=told) as error:
        frames.answer(given)
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
    assert sum(one["numbers"]["joint probability"] for one in alternatives) <= 1.0001


def test_labels_with_their_thresholds():
    answers = texts(thresholds=[0.0, 1.0])
    (block,) = answers.answer("a red kite")
    assert [label["predicted"] for label in block["labels"]] == [True, False]
    assert [label["threshold"] for label in block["labels"]] == [0.0, 1.0]
    assert "energy" in block["numbers"]
    assert answers.about()["examples"] == [answers.sample]


def test_features_are_asked_for_by_their_names(tmp_path):
    data = multilabel.write_data(tmp_path)
    reader = MultilabelReader(**data["reader"])
    net = multilabel.model(task_net=multilabel.TASK_NET)
    answers = answers_of("fruit", archived(net, reader, "seal_multilabel", data["path"]))
    examples = answers.about()["examples"]
    assert json.loads(examples[1])["features"] == {"weight": 0.5, "ripe": 3.0, "size": -1.0}
    (block,) = answers.answer(examples[1])
    assert sorted(label["name"] for label in block["labels"]) == sorted(multilabel.LABELS)


def test_masks_over_the_image(tmp_path):
    net = segmentation.model(task_net=segmentation.TASK_NET, size=[10, 12]).float()
    path = segmentation.write_npz(tmp_path)
    answers = answers_of("shapes", archived(net, SegmentationReader(), "seal_segmentation", path))
    assert answers.about()["asks"] == "image"
    example = answers.about()["examples"][0]
    original = Image.open(io.BytesIO(base64.b64decode(example.partition(",")[2])))
    assert numpy.array(original) == pytest.approx(segmentation.arrays()["images"][0], abs=1)
    (block,) = answers.answer(example)
    mask = Image.open(io.BytesIO(base64.b64decode(block["mask"].partition(",")[2])))
    assert mask.size == (12, 10) and set(numpy.unique(mask)) <= {0, 255}
    assert "of 12 x 10 pixels" in block["text"] or "in 12 x 10 pixels" in block["text"]
    for wrong in ("", "data:image/png;base64,!!", "data:image/png;base64,aGVsbG8=", "/etc/passwd"):
        with pytest.raises(ConfigurationError) as error:
            answers.answer(wrong)
        assert str(tmp_path) not in str(error.value) and "/tmp" not in str(error.value)


def test_a_tagger_of_predicates_is_for_models_of_roles_alone():
    with pytest.raises(ConfigurationError, match="--predicates-from is for models of roles, and fruit is none"):
        answers_of("fruit", archived(torch.nn.Linear(1, 1), None, "linear"), predicates_from="tagger.tar.gz")


def test_a_model_of_others_is_refused():
    with pytest.raises(ConfigurationError, match="not Linear"):
        answers_of("other", archived(torch.nn.Linear(1, 1), None, "linear"))


def test_references_of_a_model_of_few_labels():
    from tests.models.test_partly_labelled_tagging import READER, model_of

    answers = answers_of("cora", archived(model_of().float(), READER, "seal_partly_labelled_tagging"))
    (block,) = answers.answer("A . Miller . On bridges . 1991")
    assert block["kind"] == "spans" and len(block["alternatives"]) == ALTERNATIVES
    assert set(answers.about()["labels"]) >= {label for label, *_ in block["spans"]}


def label_block(net, tmp_path):
    data = multilabel.write_data(tmp_path)
    reader = MultilabelReader(**data["reader"])
    answers = answers_of("fruit", archived(net, reader, "seal_multilabel", data["path"]))
    (block,) = answers.answer(answers.about()["examples"][0])
    json.dumps(block, allow_nan=False)
    return block


@pytest.mark.parametrize("option", ["likeliest", "expected_score", "blend"])
def test_label_sets_that_competed_and_why_one_was_chosen(option, tmp_path):
    rule = {"type": "count", "labels": ["red", "round"], "most": 1, "name": "one"}
    net = fitted_labels([rule])
    chosen = {"option": option, "own_threshold": 0.5}
    more = {"likeliest": {"output": 1}, "expected_score": {"output": 2}, "blend": {"blend": 0.5, "threshold": 0.01}}
    net.structure.chosen["f1"] = {**chosen, **more[option]}
    block = label_block(net, tmp_path)
    alternatives = block["alternatives"]
    assert sum(one["chosen"] for one in alternatives) == 1
    joint = [one["numbers"]["joint probability"] for one in alternatives]
    if option == "blend":
        # All three labels, which no row has: the set does not compete.
        assert alternatives[-1]["text"] == "red, round, sweet" and joint[-1] is None
        assert "at least 0.010: 0.5 times the task-net's own, and 0.5 times" in block["why"]
        joint, alternatives = joint[:-1], alternatives[:-1]
    assert sum(joint) == pytest.approx(1) and joint == sorted(joint, reverse=True)
    for one in alternatives:
        terms = [one["numbers"][name] for name in ("label scores", "set count", "set size", "label pairs")]
        assert one["numbers"]["energy"] == pytest.approx(sum(terms), abs=1e-4)
        assert one["numbers"]["breaks one"] == (1 if one["text"] == "red, round" else 0)
    column = {"likeliest": "joint probability", "expected_score": "expected F1"}.get(option)
    if column:
        best = max(alternatives, key=lambda one: one["numbers"][column] or 0)
        assert best["chosen"] and column.removeprefix("joint ") in block["why"]


def test_label_sets_of_a_loss_net(tmp_path):
    net = multilabel.model(**multilabel.seal_parts()).float().eval()
    alternatives = label_block(net, tmp_path)["alternatives"]
    scores = [one["numbers"]["log-probability"] for one in alternatives]
    assert len(alternatives) == ALTERNATIVES and scores == sorted(scores, reverse=True)
    assert len({one["numbers"]["energy of the loss-net"] for one in alternatives}) > 1
    assert [one["chosen"] for one in alternatives] == [True] + [False] * (ALTERNATIVES - 1)


@pytest.mark.parametrize("size", [[10, 12], 8])
def test_masks_that_competed(size, tmp_path):
    net = segmentation.model(**MASK_PARTS, task_net=segmentation.TASK_NET, size=size).float()
    path = segmentation.write_npz(tmp_path)
    answers = answers_of("shapes", archived(net, SegmentationReader(), "seal_segmentation", path))
    example = answers.about()["examples"][0]
    (block,), (again,) = answers.answer(example), answers.answer(example)
    alternatives = block["alternatives"]
    assert alternatives == again["alternatives"] and len(alternatives) == ALTERNATIVES
    scores = [one["numbers"]["log-probability"] for one in alternatives]
    assert max(scores) == scores[0] and alternatives[0]["chosen"]
    assert all(one["numbers"]["energy of the loss-net"] is not None for one in alternatives)
    mask = Image.open(io.BytesIO(base64.b64decode(alternatives[1]["image"].partition(",")[2])))
    assert mask.size == ((12, 10) if size != 8 else (8, 8)) and set(numpy.unique(mask)) <= {0, 255}


def test_trees_of_a_loss_net():
    from tests import trees

    model = trees.model_of(beam=3, **trees.STACKED).eval()
    answers = answers_of("parser", archived(model, trees.READER, "seal_parsing"))
    (block,) = answers.answer("Rose sells ginger")
    energies = [one["numbers"]["energy of the loss-net"] for one in block["alternatives"]]
    assert energies[0] == pytest.approx(block["numbers"]["energy"], abs=1e-6) and len(set(energies)) == 3


@pytest.mark.parametrize("structure", [False, True])
def test_a_tree_and_those_that_competed(structure):
    from tests import trees

    more = {"structure": {"type": "trees", "num_candidates": 4}} if structure else {}
    model = trees.model_of(beam=3, **more).eval()
    if structure:
        record = model.held_out(trees.batch_of())
        model.fit_structure([record], [record])
        model.structure.chosen = {"f1": "likeliest", "exact_match": "likeliest"}
    answers = answers_of("parser", archived(model, trees.READER, "seal_parsing"))
    (block,) = answers.answer("Rose sells ginger")
    assert block["kind"] == "tree"
    picture = base64.b64decode(block["image"].removeprefix("data:image/svg+xml;base64,")).decode()
    assert picture.startswith("<svg") and "ginger" in picture
    assert sum(one["chosen"] for one in block["alternatives"]) == 1
    assert block["text"] == next(one["text"] for one in block["alternatives"] if one["chosen"])
    names = set(block["alternatives"][0]["numbers"])
    assert names == {"log-probability"} | (
        {"energy", "tree rules", "tree attachments", "joint probability"} if structure else set()
    )
    scores = [one["numbers"]["log-probability"] for one in block["alternatives"]]
    assert len(scores) == (4 if structure else 3) and scores == sorted(scores, reverse=True)
    json.dumps(block, allow_nan=False)
