import json
import math

import pytest
from allennlp.common.checks import ConfigurationError

from seal.files.text_lines import NumberedLine
from seal.tasks.base.predictor import LinePredictor, finite


class Numbers(LinePredictor):
    wanted, keys = "'number'", ("number", "unit")

    def __init__(self):
        pass

    def read(self, line):
        if line.startswith("{"):
            return json.loads(line)
        if not line.strip().isdigit():
            raise ConfigurationError(f"{line} is no number.")
        return {"number": int(line.strip())}

    def prepare(self, inputs):
        if inputs["number"] > 9:
            raise ConfigurationError(f"{inputs['number']} is too much.")
        return inputs["number"]

    def records(self, prepared):
        return [{"number": number, "of": len(prepared)} for number in prepared]


def test_a_wrong_line_is_told_with_its_number_and_the_others_go_on():
    predictor = Numbers()
    records = predictor.predict_batch_json([predictor.load_line(line) for line in ("3", "x", "10", "4")])
    assert records == [
        {"line": 1, "input": "3", "number": 3, "of": 2},
        {"line": 2, "input": "x", "error": "line 2: x is no number."},
        {"line": 3, "input": "10", "error": "line 3: 10 is too much."},
        {"line": 4, "input": "4", "number": 4, "of": 2},
    ]


def test_a_line_that_knows_its_number_has_it_in_its_record():
    predictor = Numbers()
    texts = ("3\n", '{"number": 4, "id": "a"}\n', "x\n", '{"number": 10}\n', "\udce9\n")
    lines = [NumberedLine(text, number) for number, text in zip((2, 5, 7, 8, 9), texts)]
    loaded = [predictor.load_line(line) for line in lines]
    # A wrong input that only the model finds is told in the same way.
    records = predictor.predict_batch_json(loaded)
    assert records == [
        {"line": 2, "input": "3", "number": 3, "of": 2},
        {"line": 5, "id": "a", "number": 4, "of": 2},
        {"line": 7, "input": "x", "error": "line 7: x\n is no number."},
        {"line": 8, "error": "line 8: 10 is too much."},
        {"line": 9, "error": "line 9: \udce9\n is no number."},
    ]
    assert list(records[1]) == ["line", "id", "number", "of"]


@pytest.mark.parametrize("key", ["sentence", "text"])
def test_an_object_without_an_id_has_its_text_in_its_record(key, monkeypatch):
    monkeypatch.setattr(Numbers, "keys", None)
    predictor = Numbers()
    requests = ({"number": 3, key: "a b"}, {"number": 4, key: "c", "id": 1}, {"number": 5, key: 2})
    texts = enumerate(map(json.dumps, requests), start=1)
    lines = [predictor.load_line(NumberedLine(text, number)) for number, text in texts]
    assert predictor.predict_batch_json(lines) == [
        {"line": 1, "input": "a b", "number": 3, "of": 3},
        {"line": 2, "id": 1, "number": 4, "of": 3},
        {"line": 3, "number": 5, "of": 3},
    ]


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999", '["\\ud83d"]', "[" * 900 + "1" + "]" * 900])
def test_an_input_that_strict_json_cannot_hold_is_not_repeated(value, monkeypatch):
    """The record of such a line is its error; the command went down with the record."""
    monkeypatch.setattr(Numbers, "input_text", lambda self, request: {"a": [request["number"]]})
    monkeypatch.setattr(Numbers, "prepare", lambda self, inputs: inputs["number"])
    monkeypatch.setattr(Numbers, "records", lambda self, prepared: [{"error": "no"} for _ in prepared])
    predictor = Numbers()
    lines = [NumberedLine(f'{{"number": {number}}}', place) for place, number in enumerate((value, 5), start=1)]
    records = predictor.predict_batch_json([predictor.load_line(line) for line in lines])
    first, second = (json.loads(predictor.dump_line(record)) for record in records)
    if not value.startswith("[["):  # How deep C encodes depends on Python.
        assert first == {"line": 1, "error": "line 1: no"}
    assert second == {"line": 2, "input": {"a": [5]}, "error": "line 2: no"}


def test_what_is_wrong_with_other_input_is_raised():
    assert Numbers().predict_json({"number": 7}) == {"number": 7, "of": 1}
    with pytest.raises(ConfigurationError, match="^10 is too much.$"):
        Numbers().predict_json({"number": 10})


def test_records_are_strict_ascii_json():
    line = Numbers().dump_line({"word": "\u00e9", "energy": finite(-math.inf)})
    assert line.isascii() and line.endswith("\n")
    assert json.loads(line) == {"word": "\u00e9", "energy": None}
    with pytest.raises(ValueError):
        Numbers().dump_line({"energy": math.nan})
