"""What the tests evaluate is what jsonnet itself does."""

import json
import subprocess
import sys
from pathlib import Path

import _jsonnet
import pytest

from seal.allennlp.config_imports import find_import
from tests.quick_jsonnet import of_json

CONFIGS = Path(__file__).resolve().parents[1] / "training_configs"
ITSELF = """
import sys, _jsonnet
from seal.allennlp.config_imports import find_import
print(_jsonnet.evaluate_snippet('all', sys.argv[1], import_callback=find_import), end='')
"""


def test_a_config_of_each_task_has_the_value_that_jsonnet_gives_it():
    names = [f"{task}_structured" for task in ("srl", "tagging", "parsing", "multilabel", "text")]
    paths = [CONFIGS / f"{name}.jsonnet" for name in (*names, "shapes_nce", "cora/nce")]
    source = "[" + ", ".join(f"import '{path.as_posix()}'" for path in paths) + "]"
    itself = subprocess.run([sys.executable, "-c", ITSELF, source], capture_output=True, text=True, check=True).stdout
    assert _jsonnet.evaluate_snippet("all", source, import_callback=find_import) == itself


def test_imports_are_found_from_each_file_and_in_the_folders_that_are_given(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "one.libsonnet").write_text("// import 'nowhere'\n{ one: import '../b/two.libsonnet' }")
    (tmp_path / "b" / "two.libsonnet").write_text('local x = 2; { two: x, again: import "three.libsonnet" }')
    (tmp_path / "b" / "three.libsonnet").write_text("3")
    config = "local x = import 'a/one.libsonnet'; x.one { more: import 'b/three.libsonnet' }"
    (tmp_path / "config.jsonnet").write_text(config)
    found = _jsonnet.evaluate_file(str(tmp_path / "config.jsonnet"))
    assert "".join(found.split()) == '{"again":3,"more":3,"two":2}'
    folders = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert _jsonnet.evaluate_snippet("page", "import 'three.libsonnet'", jpathdir=folders) == "3\n"


@pytest.mark.parametrize(
    "source",
    [
        '{"b": [1, 2.0, 1e300, -0.0, 0.1, 1e-7, 12345678901234567890], "a": {"\\u00e4": "\\ud83d\\ude00", "": null}}',
        "[true, false, [], {}]",
    ],
)
def test_json_is_what_jsonnet_makes_of_it(source):
    itself = subprocess.run([sys.executable, "-c", ITSELF, source], capture_output=True, text=True, check=True).stdout
    # Numbers are of the same types, too.
    assert repr(json.loads(of_json(source))) == repr(json.loads(itself))


@pytest.mark.parametrize("source", ['{"a": 1, "a": 2}', "[NaN]", "1e999", '{"a": [1e999]}', "{a: 1}", "{,}", "", "3"])
def test_what_is_no_json_or_may_be_something_else_is_left_to_jsonnet(source):
    assert of_json(source) is None


def test_a_text_is_evaluated_once_but_where_its_value_can_change(tmp_path):
    text = "{ a: std.extVar('some') + 1 }"
    found = [_jsonnet.evaluate_snippet("x", text, ext_vars={"some": value}) for value in ("1", "2", "1")]
    assert ["".join(one.split()) for one in found] == ['{"a":"11"}', '{"a":"21"}', '{"a":"11"}']
    config, beside = tmp_path / "config.jsonnet", tmp_path / "text"
    config.write_text("{ a: importstr 'text' }")
    for content in ("one", "two"):
        beside.write_text(content)
        assert content in _jsonnet.evaluate_file(str(config))


@pytest.mark.parametrize("text, told", [("{", "config.jsonnet:1:2"), ("import 'nowhere'", "couldn't open import")])
def test_errors_of_a_file_are_jsonnets_own(tmp_path, text, told):
    (tmp_path / "config.jsonnet").write_text(text)
    with pytest.raises(RuntimeError, match=told):
        _jsonnet.evaluate_file(str(tmp_path / "config.jsonnet"))
