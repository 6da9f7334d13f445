"""AllenNLP is patched, and all modules are imported, by whatever needs it first."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# What is tried is the order of imports, so each entry has a process of its own, which has all but AllenNLP and seal.
TELL = """
    import contextlib, io, json, os, sys
    import cached_path, nltk, sklearn.linear_model, spacy, torchvision, transformers, transformers.models.auto

    for entry in json.loads(sys.argv[1]):
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            with contextlib.redirect_stderr(io.StringIO()) as told:
                exec(entry)
            from allennlp.common import cached_transformers
            patched = hasattr(cached_transformers.get_tokenizer, "__wrapped__")
            hook = sys.excepthook.__module__
            all_is_imported = "seal.training.trainer" in sys.modules
            print(json.dumps([entry, all_is_imported, patched, hook, told.getvalue()]))
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)
"""

PROGRAMS = {
    "that imports AllenNLP first": "import allennlp.models, seal",
    "that imports seal first": "import seal; from allennlp.predictors import Predictor; import seal.plugin",
    "that begins with a task": "import seal.tasks.srl",
    "that begins with trainers": "import seal.training",
    "that takes of the core what needs AllenNLP": "import seal.losses; from seal.nets import StackedNet",
}
COMMAND = "import allennlp.__main__; from allennlp.commands import main; import seal"


# In a folder whose files have the names of sub-packages of seal.
FOLDER = """import sys; sys.path.insert(0, "")
from allennlp.common.util import import_module_and_submodules; import_module_and_submodules("seal")
from seal.samplers import Sampler; assert "discrete" in Sampler.list_available()"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("folder")
    (folder / "metrics.py").write_text("raise SystemExit('a file of the working folder was run')")
    (folder / "models").mkdir()
    (folder / "models" / "__init__.py").write_text("raise SystemExit('a folder of the working folder was run')")
    entries = json.dumps([*PROGRAMS.values(), COMMAND, FOLDER])
    command = [sys.executable, "-c", textwrap.dedent(TELL), entries]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    return {entry: found for entry, *found in map(json.loads, ended.stdout.splitlines())}, ended.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_has_patches_and_all_modules(program, told):
    found, errors = told
    assert found.get(PROGRAMS[program], errors)[:3] == [True, True, "sys"]


def test_the_plugin_hides_warnings_of_allennlps_imports(told):
    found, errors = told
    assert "Warning" not in found.get(PROGRAMS["that begins with a task"], [errors])[-1]


def test_files_of_the_working_folder_are_not_run(told):
    found, errors = told
    assert FOLDER in found, errors


def test_the_command_allennlp_keeps_its_own_hook_for_errors(told):
    found, errors = told
    assert found.get(COMMAND, errors)[:3] == [True, True, "sys"]
