import json
import math

import pytest
from allennlp.common.checks import ConfigurationError

from seal.files.text_lines import NumberedLine
from seal.tasks.base.predictor import LinePredictor, finite, read_line, read_request


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
    monkeypatch.setattr(Numbers, "input_of", lambda self, request: {"a": [request["number"]]})
    monkeypatch.setattr(Numbers, "prepare", lambda self, inputs: inputs["number"])
    monkeypatch.setattr(Numbers, "records", lambda self, prepared: [{"error": "no"} for _ in prepared])
    predictor = Numbers()
    lines = [NumberedLine(f'{{"number": {number}}}', place) for place, number in enumerate((value, 5), start=1)]
    records = predictor.predict_batch_json([predictor.load_line(line) for line in lines])
    first, second = (json.loads(predictor.dump_line(record)) for record in records)
    if not value.startswith("[["):  # How deep C encodes depends on Python.
        assert first == {"line": 1, "error": "line 1: no"}
    assert second == {"line": 2, "input": {"a": [5]}, "error": "line 2: no"}


def test_every_record_has_the_id_of_its_line():
    predictor = Numbers()
    lines = ('{"number": 3, "id": "a"}', '{"number": 10, "id": ["b"]}', '{"number": 4, "id": NaN}', '{"number": 4}')
    records = predictor.predict_batch_json([predictor.load_line(line) for line in lines])
    assert records == [
        {"line": 1, "id": "a", "number": 3, "of": 2},
        {"line": 2, "id": ["b"], "error": "line 2: 10 is too much."},
        {"line": 3, "error": "line 3: 'id' holds something that JSON cannot hold."},
        {"line": 4, "number": 4, "of": 2},
    ]
    assert list(records[0]) == ["line", "id", "number", "of"]


def test_a_key_that_nothing_reads():
    predictor = Numbers()
    record = predictor.predict_json(predictor.load_line('{"number": 3, "id": 1, "untis": "m"}'))
    told = "the key 'untis' is unknown; there are number, unit, id."
    assert record == {"line": 1, "id": 1, "error": f"line 1: {told}"}
    with pytest.raises(ConfigurationError, match=f"^{told}$"):
        predictor.predict_json({"number": 3, "untis": "m"})
    assert predictor.predict_json({"number": 3, "unit": "m"}) == {"number": 3, "of": 1}


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


def test_a_number_that_json_cannot_hold_is_none():
    assert finite(1.5) == 1.5 and finite(math.nan) is None and finite(math.inf) is None


@pytest.mark.parametrize(
    "line, sentence",
    [
        ("She left .\n", "She left ."),
        ("  She left.\r\n", "  She left."),
        ("\ufeffShe left.", "She left."),
        ('["She", "left"]\n', '["She", "left"]'),
        ('"She left."', '"She left."'),
        ("3", "3"),
        ("null", "null"),
    ],
)
def test_a_line_that_does_not_start_with_a_brace_is_text(line, sentence):
    assert read_line(line) == {"sentence": sentence}


@pytest.mark.parametrize(
    "inputs, request_",
    [
        ({"sentence": "She left ."}, ("She left .", None, None)),
        ({"words": ["She", "left"]}, (None, ["She", "left"], None)),
        ({"words": ["She", "left"], "predicates": None, "id": 7}, (None, ["She", "left"], None)),
        ({"words": ["She", "left"], "predicates": []}, (None, ["She", "left"], [])),
        ({"words": ["She", "left"], "predicates": [1, 0, 1]}, (None, ["She", "left"], [1, 0])),
    ],
)
def test_a_line_that_starts_with_a_brace_is_json(inputs, request_):
    assert read_line("  " + json.dumps(inputs) + "\n") == inputs
    assert tuple(read_request(inputs)) == request_


BAD = {
    '{"sentence": "She left": 1}': "is not JSON: Expecting ',' delimiter at character 24",
    "{": "is not JSON",
    '{"sentence": "a", "sentence": "b"}': "'sentence' is given twice",
    '{"sentence": "a"} b': "is not JSON: Extra data",
    '{"a":' * 200_000: "nested too deeply",
    '{"words": ["a"], "predicates": [' + "1" * 5000 + "]}": "too many digits",
    "{}": "needs 'sentence' or 'words', found no key",
    '{"sentense": "a"}': "found 'sentense'",
    '{"sentence": "a", "words": ["a"]}': "both 'sentence' and 'words'",
    '{"sentence": "a b", "predicates": [1]}': "indices of 'words'",
    '{"sentence": ["a"]}': "'sentence' must be a string, found ['a']",
    '{"sentence": " \\n"}': "'sentence' is blank",
    "\ufeff": "'sentence' is blank",
    '{"sentence": "a \\ud83d b"}': "half a surrogate pair",
    '{"sentence": null}': "'sentence' must be a string, found None",
    '{"words": null}': "'words' must be a list of strings, found None",
    '{"words": "a b"}': "'words' must be a list of strings, found 'a b'",
    '{"words": []}': "'words' is empty",
    '{"words": ["a", 3]}': "word 1 must be a string, found 3",
    '{"words": ["a", ""]}': "word 1 is blank",
    '{"words": ["a"], "predicates": 0}': "must be a list of indices, found 0",
    '{"words": ["a"], "predicates": {"0": 1}}': "must be a list of indices",
    '{"words": ["a", "b"], "predicates": [true]}': "whole numbers, found True",
    '{"words": ["a", "b"], "predicates": [1.0]}': "whole numbers, found 1.0",
    '{"words": ["a", "b"], "predicates": [NaN]}': "whole numbers, found nan",
    '{"words": ["a", "b"], "predicates": [2]}': "predicate 2 is not the index of a word, 0 to 1 here",
    '{"words": ["a", "b"], "predicates": [-1]}': "predicate -1 is not the index of a word",
    "caf\udce9 is here": "the byte 0xe9 at character 4 is not UTF-8",
    '{"sentence": "caf\udce9"}': "the byte 0xe9 at character 18 is not UTF-8",
    # No byte of a file becomes one of these.
    "caf\ud800 is here": "the line holds half a surrogate pair, which is not a character",  # noqa: F601
    "caf\udc00": "the line holds half a surrogate pair",
    '{"sentence": "caf\\ud800"}': "'sentence' holds half a surrogate pair",
}


@pytest.mark.parametrize("line", BAD, ids=[line[:40].encode("ascii", "replace").decode() for line in BAD])
def test_a_wrong_line_ends_in_one_sentence_that_any_file_can_hold(line):
    with pytest.raises(ConfigurationError) as caught:
        read_request(read_line(line + "\n"))
    sentence = str(caught.value)
    assert BAD[line] in sentence
    assert sentence.endswith(".") and "\n" not in sentence and len(sentence) < 200
    assert sentence.isascii()
