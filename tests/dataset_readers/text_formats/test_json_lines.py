import json

import pytest
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.text_formats import TextOptions
from seal.dataset_readers.text_formats.json_lines import read_json_lines


def read(tmp_path, *lines, **options):
    path = tmp_path / "a.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return list(read_json_lines(str(path), TextOptions(**options)))


def test_keys_of_our_files_and_of_published_ones(tmp_path):
    found = read(
        tmp_path,
        {"text": "a b", "labels": ["x", "y", "x"], "id": 3},
        "",
        {"token": ["a", "b"], "label": ["x/y"]},
        {"doc_token": ["a"], "doc_label": []},
    )
    assert [(text.text, text.labels) for text in found] == [("a b", ["x", "y"]), ("a b", ["x/y"]), ("a", [])]
    assert [text.source.rpartition(":")[2] for text in found] == ["1", "3", "4"]


def test_named_keys_are_joined(tmp_path):
    (found,) = read(tmp_path, {"title": "A", "text": "b c", "labels": []}, text_keys=("title", "text"))
    assert found.text == "A b c"


@pytest.mark.parametrize(
    "line, message",
    [
        ("{", r"a.jsonl:2: each line must be one JSON object: Expecting property name .* at character 2\."),
        ("[", r"a.jsonl:2: each line must be one JSON object: Expecting value at character 2\."),
        ("[" * 100_000, r"a.jsonl:2: the JSON is nested too deeply"),
        ('{"text": "a", "labels": ["x"], "labels": []}', r"a.jsonl:2: 'labels' is given twice"),
        ({"text": "a", "labels": ["x\r"]}, r"a.jsonl:2: the label begins or ends with a control .*: 'x\\r'"),
        ({"text": "a", "labels": ["\udc80"]}, r"a.jsonl:2: the label holds half a surrogate pair, .*: '\\udc80'"),
        ({"text": "a", "labels": ["x", ""]}, r"a.jsonl:2: the label is blank: ''"),
        ({"text": "a", "labels": [" x"]}, r"a.jsonl:2: the label begins or ends with white space: ' x'"),
        ("[1]", r"a.jsonl:2: expected a JSON object"),
        ({"labels": []}, r"a.jsonl:2: the object has none of text, token"),
        ({"text": 3, "labels": []}, r"'text' must be a string or a list of words, found 3"),
        ({"text": ["a", 1], "labels": []}, r"'text' must be a string or a list of words"),
        ({"text": "a"}, r"a.jsonl:2: the object has no 'labels'"),
        ({"text": "a", "labels": "x"}, r"'labels' must be a list of names, found 'x'"),
        ({"text": "a", "labels": [1]}, r"'labels' must be a list of names"),
    ],
)
def test_wrong_lines(tmp_path, line, message):
    with pytest.raises(ConfigurationError, match=message):
        read(tmp_path, {"text": "a", "labels": []}, line)


def test_a_named_key_that_is_missing(tmp_path):
    with pytest.raises(ConfigurationError, match=r"a.jsonl:1: the object has no 'title', which .* text_keys"):
        read(tmp_path, {"text": "a", "labels": []}, text_keys=("title",))
