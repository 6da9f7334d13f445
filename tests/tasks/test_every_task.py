"""What the predictors of all tasks have in common."""

import json

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.samplers import GradientBasedInference
from seal.tasks.multilabel import MultilabelPredictor
from seal.tasks.multilabel.reader import MultilabelReader
from seal.tasks.segmentation import SegmentationPredictor
from seal.tasks.segmentation.reader import SegmentationReader
from seal.tasks.srl import SrlPredictor
from seal.tasks.srl.reader import SrlReader
from tests.multilabel import TASK_NET
from tests.segmentation import arrays, write_npz
from tests.segmentation import model as mask_model
from tests.segmentation import seal_parts as mask_parts
from tests.spine import seal_model, srl_model
from tests.tasks.multilabel.nets import net as feature_net
from tests.tasks.parsing.test_predictor import predictor_of as tree_predictor
from tests.tasks.records_of_lines import of_lines
from tests.tasks.tagging.test_predictor import predictor_of as tag_predictor
from tests.tasks.text.test_model import SEPARATE
from tests.tasks.text.test_predictor import predictor_of as text_predictor

#: By task: a predictor with a loss-net or without one, and with settings of its constructor.
MAKERS = {
    "tags": tag_predictor,
    "frames": lambda loss_net=False, **settings: SrlPredictor(
        (seal_model() if loss_net else srl_model()).eval(), SrlReader(), **settings
    ),
    "trees": tree_predictor,
    "texts": lambda loss_net=False, **settings: text_predictor(SEPARATE if loss_net else None, **settings),
    "features": lambda loss_net=False, **settings: MultilabelPredictor(
        feature_net(**({} if loss_net else {"task_net": TASK_NET})), MultilabelReader(), **settings
    ),
    "masks": lambda loss_net=False, **settings: SegmentationPredictor(
        mask_model(**(mask_parts() if loss_net else {})), SegmentationReader(), **settings
    ),
}
#: Inputs of different lengths or sizes.
INPUTS = {
    "tags": [{"words": "Rose sells ginger !".split()}, {"sentence": "ginger"}, {"words": ["Rose"] * 9}],
    "frames": [
        {"words": ["the", "cook", "left"], "predicates": [2, 1], "frames": []},
        {"words": ["it"] * 7, "predicates": [3]},
    ],
    "trees": [{"sentence": "Rose sells old ginger in York ."}, {"sentence": "tea"}, {"words": ["Rose", "sells"]}],
    "texts": [{"text": "red kite"}, {"text": "a blue kite over the sea"}, {"text": "sea"}],
    "features": [{"features": [1, 2, 3]}, {"features": {"ripe": 3}}, {"features": ["size"]}],
    "masks": [{"images": "data.npz", "row": 3}, {"images": "small.npz", "row": 0}, {"images": "data.npz", "row": 0}],
}
#: A line that is wrong.
WRONG = {
    "tags": {"words": []},
    "frames": {"words": ["a"], "predicates": [1]},
    "trees": {"sentence": " "},
    "texts": {"text": 3},
    "features": {"features": [1]},
    "masks": {"images": "data.npz", "row": 99},
}
every_task = pytest.mark.parametrize("task", MAKERS)


@pytest.fixture(autouse=True)
def images(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_npz(tmp_path)
    write_npz(tmp_path, "small.npz", images=arrays(height=9, width=8)["images"])


def close(found):
    """For a comparison with other records, whose numbers may differ by rounding."""
    if isinstance(found, dict):
        return {key: close(value) for key, value in found.items()}
    if isinstance(found, list):
        return [close(value) for value in found]
    return pytest.approx(found, rel=1e-4, abs=1e-6) if isinstance(found, float) else found


def energies_of(record):
    return [part["energy"] for part in record.get("frames", [record]) if "energy" in part]


@every_task
def test_several_at_once_are_as_one_by_one(task):
    predictor, inputs = MAKERS[task](loss_net=True, energy=True), INPUTS[task]
    records = predictor.predict_batch_json(inputs)
    assert records == close([predictor.predict_json(item) for item in inputs])
    assert all(map(energies_of, records)) and predictor.predict_batch_json([]) == []


@every_task
def test_energies_are_given_on_request_alone(task):
    """Two predictors of one model do not affect each other."""
    plain, item = MAKERS[task](loss_net=True), INPUTS[task][0]
    predictors = [plain, type(plain)(plain._model, plain._dataset_reader, energy=True)]
    for predictor in (*predictors, *predictors):
        assert bool(energies_of(predictor.predict_json(item))) == (predictor is not plain)
        assert plain._model.with_energy == (predictor is not plain)


@every_task
def test_a_model_in_training_mode_still_predicts(task):
    predictor, item = MAKERS[task](frozen=False), INPUTS[task][0]
    predictor._model.train()
    assert predictor.predict_json(item) == close(MAKERS[task]().predict_json(item)) and not predictor._model.training


@every_task
def test_each_line_has_a_record_and_a_wrong_one_its_error(task):
    predictor, wrong = MAKERS[task](), WRONG[task]
    good, other = INPUTS[task][:2]
    lines = [{**good, "id": 7}, {**wrong, "id": 8}, {**good, "colour": 9}, other]
    records = of_lines(predictor, ["{", *(json.dumps(line) + "\n" for line in lines)])
    assert [json.loads(predictor.dump_line(record)) for record in records] == records
    assert records[0].keys() == {"error"} and records[0]["error"].startswith("line 1: the line ")
    assert records[1] == close({"id": 7, **predictor.predict_json(good)})
    assert records[2].keys() == {"id", "error"} and records[2]["id"] == 8
    assert records[2]["error"].startswith("line 3: ")
    assert records[4] == close(predictor.predict_json(other))
    # A caller in Python gets an exception.
    for given in (wrong, 3):
        with pytest.raises(ConfigurationError):
            predictor.predict_json(given)


@pytest.mark.parametrize("task", ["tags", "texts", "features", "masks"])
def test_where_no_energy_is_finite_the_record_is_an_error(task, tmp_path):
    predictor = MAKERS[task](loss_net=True, **({"folder": str(tmp_path / "out")} if task == "masks" else {}))
    predictor._model.inference = GradientBasedInference(num_steps=2, keep="best")
    item = INPUTS[task][0]
    assert "error" not in of_lines(predictor, [json.dumps(item)])[0]
    before = set(tmp_path.glob("out/*"))
    with torch.no_grad():
        for parameter in predictor._model.loss_net.parameters():
            parameter.fill_(float("nan"))
    (record,) = of_lines(predictor, [json.dumps({"id": 3, **item})])
    assert record.keys() == {"id", "error"} and set(tmp_path.glob("out/*")) == before
    with pytest.raises(ConfigurationError):
        predictor.predict_json(item)
