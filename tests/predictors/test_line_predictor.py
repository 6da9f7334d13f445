import json
import math

import pytest
from allennlp.common.checks import ConfigurationError

from seal.predictors.line_predictor import LinePredictor, finite, wrong_line


class Numbers(LinePredictor):
    def __init__(self):
        self.lines = 0

    def read(self, line):
        if not line.isdigit():
            raise ConfigurationError(f"{line} is no number.")
        return {"number": int(line)}

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
        {"number": 3, "of": 2},
        {"error": "line 2 (blank lines not counted): x is no number."},
        {"error": "line 3 (blank lines not counted): 10 is too much."},
        {"number": 4, "of": 2},
    ]


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


def test_finite_and_wrong_line():
    assert finite(1.5) == 1.5 and finite(math.nan) is None and finite(math.inf) is None
    assert wrong_line(9, ValueError("what")) == {"error": "line 9 (blank lines not counted): what"}
