import json

import pytest
from allennlp.common.checks import ConfigurationError

from seal.files.strict_json import read_json


@pytest.mark.parametrize("value", [{"a": [1, {"b": None}], "c": {"a": "\u00e9"}}, [], 3.5, "x"])
def test_what_is_json_is_read_as_json_reads_it(value):
    assert read_json(json.dumps(value) + "\r\n", "no JSON") == value


@pytest.mark.parametrize(
    "line, message",
    [
        ("[\n", "a.jsonl:3: no JSON: Expecting value at character 2."),
        ('{"a": 1, "a": 1}', "a.jsonl:3: 'a' is given twice."),
        ('[{"a": {"b\\n": 1, "b\\n": 2}}]', "a.jsonl:3: 'b\\n' is given twice."),
        ("[" * 100_000, "a.jsonl:3: the JSON is nested too deeply."),
        ('{"a":' * 100_000, "a.jsonl:3: the JSON is nested too deeply."),
        ("1" * 5000, "a.jsonl:3: the JSON has a number of too many digits."),
    ],
)
def test_what_is_not_ends_in_a_sentence(line, message):
    with pytest.raises(ConfigurationError) as error:
        read_json(line, "no JSON", "a.jsonl:3")
    assert error.value.message == message
    with pytest.raises(ConfigurationError) as error:
        read_json(line, "no JSON")
    assert error.value.message == message[len("a.jsonl:3: ") :]
