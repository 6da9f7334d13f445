import json

import pytest
from allennlp.common.checks import ConfigurationError

from seal.predictors.lines import read_line, read_request


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


def test_what_is_no_object_is_refused():
    with pytest.raises(ConfigurationError, match="expected an object with 'sentence' or 'words', found 3"):
        read_request(3)
