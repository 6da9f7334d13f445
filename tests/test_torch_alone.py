"""The core needs PyTorch and NumPy alone: it is imported and used where nothing else can be."""

import json
import subprocess
import sys
import textwrap

import pytest

#: What is imported with torch and NumPy alone.
CORE = (
    "seal.energies",
    "seal.hypergradients",
    "seal.losses",
    "seal.nets",
    "seal.output_spaces",
    "seal.rewards",
    "seal.samplers",
    "seal.scores",
    "seal.structure",
    "seal.two_player",
)

# Of what the standard library lacks, these are there: PyTorch, NumPy, and what PyTorch itself needs.
ALONE = """
    import importlib.abc, importlib.machinery, sys

    class Missing(importlib.abc.MetaPathFinder):
        needed = {"seal", "torch", "numpy", "typing_extensions", "sympy", "mpmath", "filelock", "networkx", "jinja2",
                  "markupsafe", "fsspec", "torchgen", "functorch"}

        def find_spec(self, name, path=None, target=None):
            root = name.partition(".")[0]
            known = root in sys.stdlib_module_names | self.needed or root.startswith("_sysconfigdata")
            return None if known else importlib.machinery.ModuleSpec(name, None)

    found = importlib.machinery.PathFinder.find_spec
    hide = Missing()

    def only_what_is_there(name, path=None, target=None):
        spec = hide.find_spec(name)
        return found(name, path, target) if spec is None else None

    importlib.machinery.PathFinder.find_spec = only_what_is_there
"""

# Each package is imported in a child of its own, which has torch already, and tells what else it has loaded.
LOADED = """
    import importlib, json, os, sys
    import numpy, torch

    there = set(sys.modules)
    for name in sys.argv[1:]:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            importlib.import_module(name)
            loaded = sorted(set(sys.modules) - there)
            print(json.dumps([name, loaded, sys.excepthook is sys.__excepthook__]))
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)
"""

LABEL_SETS = """
    import torch
    from seal.structure import LabelSetStructure

    torch.manual_seed(0)
    # Two labels that are always together, of which the scores see one.
    gold = torch.randint(0, 2, (200, 1)).float().repeat(1, 2)
    logits = torch.stack([4 * gold[:, 0] - 2, 0.3 * torch.randn(200)], dim=1)
    structure = LabelSetStructure(2)
    structure.fit(logits, gold)
    assert torch.equal(structure.decide(logits, "subset_accuracy").float(), gold)
"""


def run(code, *arguments):
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def loaded_by(before, there):
    """What each package of the core loads beyond torch and NumPy, and whether Python's hook for errors stays."""
    ended = run(textwrap.dedent(before) + there + textwrap.dedent(LOADED), *CORE)
    return {name: (modules, kept) for name, modules, kept in map(json.loads, ended.stdout.splitlines())}, ended.stderr


@pytest.fixture(scope="module")
def alone():
    return loaded_by(ALONE, "")


@pytest.fixture(scope="module")
def beside_allennlp():
    return loaded_by("", "import transformers, spacy")


@pytest.mark.parametrize("name", ["allennlp", "sklearn", "transformers", "scipy"])
def test_what_is_hidden(name):
    ended = run(f"{textwrap.dedent(ALONE)}\nimport {name}")
    assert f"No module named '{name}'" in ended.stderr


@pytest.mark.parametrize("name", CORE)
def test_a_package_of_the_core_needs_torch_alone(name, alone):
    loaded, errors = alone
    assert name in loaded, errors
    modules, _ = loaded[name]
    assert name in modules
    others = {module.partition(".")[0] for module in modules} - sys.stdlib_module_names - {"seal", "torch", "numpy"}
    assert not others
    # A few modules of its own, and little else: some 40 to 110 when this was written.
    assert len(modules) < 150


@pytest.mark.parametrize("name", CORE)
def test_where_allennlp_is_installed_the_core_does_not_enter_its_room(name, beside_allennlp):
    loaded, errors = beside_allennlp
    assert name in loaded, errors
    modules, hook_kept = loaded[name]
    # Registered classes are AllenNLP's, for its configs.
    assert "allennlp.common.registrable" in modules
    room = ("allennlp.data", "allennlp.modules", "allennlp.models", "allennlp.training", "allennlp.commands")
    assert not [module for module in modules if module.startswith(room)]
    own = {".".join(module.split(".")[:2]) for module in modules if module.startswith("seal.")}
    assert not own & {"seal.models", "seal.training", "seal.predictors", "seal.commands", "seal.command_line"}
    assert hook_kept


def test_structure_needs_torch_alone():
    ended = run(f"{textwrap.dedent(ALONE)}\n{textwrap.dedent(LABEL_SETS)}\nprint('done')")
    assert ended.stdout == "done\n", ended.stderr
