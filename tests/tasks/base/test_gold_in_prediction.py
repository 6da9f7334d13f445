"""Gold that a model does not know is told of by `predict --use-dataset-reader`, with the first file and line."""

import json

import pytest

from seal.tasks.base.pipeline import Pipeline
from tests.tasks.test_every_task import MAKERS


def run(predictor, path, caplog):
    caplog.clear()
    pipeline = Pipeline(predictor)
    for _ in pipeline.predicted(pipeline.instances(str(path)), 2):
        pass
    predictor.warn_of_gold()
    return [record.getMessage() for record in caplog.records if "gold" in record.getMessage()]


def frame(tag):
    return json.dumps({"words": ["she", "left"], "frames": [{"pred": 1, "tags": [tag, "B-V"]}]}) + "\n"


@pytest.mark.parametrize(
    "task, name, known, unknown, line",
    [
        ("tags", "x.tsv", "Rose B-SEL\nsells O\n", "\nginger O\nsalt B-NEW\nRose B-OLD\n", 5),
        ("frames", "x.jsonl", frame("B-ARG0"), frame("B-NEW"), 2),
        ("texts", "x.tsv", "a kite\ttoy\n", "the sea\twater,NEW\nthe sea\tOLD\n", 2),
    ],
)
def test_the_first_file_and_line(task, name, known, unknown, line, tmp_path, caplog):
    path = tmp_path / name
    path.write_text(known)
    predictor = MAKERS[task]()
    assert run(predictor, path, caplog) == []
    path.write_text(known + unknown)
    (told,) = run(predictor, path, caplog)
    first = "B-NEW" if "B-NEW" in unknown else "NEW"
    assert f"the first at {path}:{line}: '{first}'" in told
    # What was told of is forgotten.
    path.write_text(known)
    assert run(predictor, path, caplog) == []
