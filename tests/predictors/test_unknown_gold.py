"""Gold that a model does not know is told of by `predict --use-dataset-reader`, with the first file and line."""

import json

import pytest

from seal.cli.predict import instances, predicted
from seal.dataset_readers.srl import SrlReader
from seal.predictors import SrlPredictor
from tests.predictors.test_segmentation import predictor as segmentation_predictor
from tests.predictors.test_tagging import predictor_of as tagging_predictor
from tests.predictors.test_text_multilabel import predictor_of as text_predictor
from tests.segmentation import write_npz
from tests.spine import srl_model


def run(predictor, path, caplog):
    caplog.clear()
    for _ in predicted(predictor, instances(predictor._dataset_reader, str(path)), 2):
        pass
    predictor.warn_of_gold()
    return [record.getMessage() for record in caplog.records if "gold" in record.getMessage()]


@pytest.mark.parametrize(
    "make, name, known, unknown, line",
    [
        (tagging_predictor, "x.tsv", "Rose B-SEL\nsells O\n", "\nginger O\nsalt B-NEW\nRose B-OLD\n", 5),
        (
            lambda: SrlPredictor(srl_model().eval(), SrlReader()),
            "x.jsonl",
            json.dumps({"words": ["she", "left"], "frames": [{"pred": 1, "tags": ["B-ARG0", "B-V"]}]}) + "\n",
            json.dumps({"words": ["she", "left"], "frames": [{"pred": 1, "tags": ["B-NEW", "B-V"]}]}) + "\n",
            2,
        ),
        (text_predictor, "x.tsv", "a kite\ttoy\n", "the sea\twater,NEW\nthe sea\tOLD\n", 2),
    ],
)
def test_the_first_file_and_line(make, name, known, unknown, line, tmp_path, caplog):
    path = tmp_path / name
    path.write_text(known)
    predictor = make()
    assert run(predictor, path, caplog) == []
    path.write_text(known + unknown)
    (told,) = run(predictor, path, caplog)
    first = "B-NEW" if "B-NEW" in unknown else "NEW"
    assert f"the first at {path}:{line}: '{first}'" in told
    # What was told of is forgotten.
    path.write_text(known)
    assert run(predictor, path, caplog) == []


def test_a_task_without_names(tmp_path, caplog):
    assert run(segmentation_predictor(), write_npz(tmp_path), caplog) == []
