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
# The library has this name in configs that stand elsewhere.
ITSELF = """
import os, sys, _jsonnet

def find(folder, name):
    found = (os.path.join(folder, name), os.path.join(sys.argv[2], name.removeprefix('seal/')))
    path = next(path for path in found if os.path.isfile(path))
    with open(path, 'rb') as file:
        return path, file.read()

print(_jsonnet.evaluate_snippet('all', sys.argv[1], import_callback=find), end='')
"""


JSON = [
    '{"b": [1, 2.0, 1e300, -0.0, 0.1, 1e-7, 12345678901234567890], "a": {"\\u00e4": "\\ud83d\\ude00", "": null}}',
    "[true, false, [], {}]",
]


def test_the_values_are_those_that_jsonnet_gives():
    """Of a config of each task, and of JSON."""
    names = [f"{task}_structured" for task in ("srl", "tagging", "parsing", "multilabel", "text")]
    paths = [CONFIGS / f"{name}.jsonnet" for name in (*names, "shapes_nce", "cora/nce")]
    source = "[" + ", ".join([*(f"import '{path.as_posix()}'" for path in paths), *JSON]) + "]"
    command = [sys.executable, "-c", ITSELF, source, str(CONFIGS / "lib")]
    itself = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert _jsonnet.evaluate_snippet("all", source, import_callback=find_import) == itself
    # Numbers are of the same types, too.
    for one, value in zip(JSON, json.loads(itself)[-len(JSON) :]):
        assert repr(json.loads(of_json(one))) == repr(value)


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


@pytest.mark.parametrize("source", ['{"a": 1, "a": 2}', "[NaN]", "1e999", '{"a": [1e999]}', "{a: 1}", "{,}", "", "3"])
def test_what_is_no_json_or_may_be_something_else_is_left_to_jsonnet(source):
    assert of_json(source) is None
