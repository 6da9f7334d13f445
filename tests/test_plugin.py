"""AllenNLP's room is put in order by whatever enters it first, and only then."""

import json
import subprocess
import sys
import textwrap

import pytest

# What is tried is the order of imports, so each entry has a process of its own, which has all but AllenNLP and seal.
TELL = """
    import json, os, sys
    import sklearn.linear_model, spacy, torchvision, transformers, transformers.models.auto

    for entry in json.loads(sys.argv[1]):
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            exec(entry)
            from allennlp.common import cached_transformers
            patched = hasattr(cached_transformers.get_tokenizer, "__wrapped__")
            print(json.dumps([entry, "seal.commands.tag_pairs" in sys.modules, patched, sys.excepthook.__module__]))
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)
"""

PROGRAMS = {
    "that imports AllenNLP first": "import allennlp.models, seal",
    "that imports seal first": "import seal; from allennlp.predictors import Predictor",
    "that begins with a room of seal's": "import seal.models",
    "that takes of the core what needs AllenNLP": "import seal.losses; from seal.nets import StackedNet",
}
COMMAND = "import allennlp.__main__; from allennlp.commands import main; import seal"


@pytest.fixture(scope="module")
def told():
    command = [sys.executable, "-c", textwrap.dedent(TELL), json.dumps([*PROGRAMS.values(), COMMAND])]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return {entry: found for entry, *found in map(json.loads, ended.stdout.splitlines())}, ended.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_room_is_in_order_in_a_program(program, told):
    found, errors = told
    assert found.get(PROGRAMS[program]) == [True, True, "sys"], errors


def test_only_the_allennlp_command_takes_the_hook_for_errors(told):
    found, errors = told
    assert found.get(COMMAND) == [True, True, "seal.patches.user_errors"], errors
