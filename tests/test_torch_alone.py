"""The science needs PyTorch and NumPy alone: it is imported and used where nothing else can be."""

import subprocess
import sys
import textwrap

import pytest

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


def run(code):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("name", ["allennlp", "sklearn", "transformers", "scipy"])
def test_what_is_hidden(name):
    ended = run(f"{textwrap.dedent(ALONE)}\nimport {name}")
    assert f"No module named '{name}'" in ended.stderr


def test_structure_needs_torch_alone():
    ended = run(f"{textwrap.dedent(ALONE)}\n{textwrap.dedent(LABEL_SETS)}\nprint('done')")
    assert ended.stdout == "done\n", ended.stderr
