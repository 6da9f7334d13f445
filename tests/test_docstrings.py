import inspect
import re

import pytest
from allennlp.common import Registrable
from allennlp.common.util import import_module_and_submodules
from allennlp.data import DatasetReader
from allennlp.models import Model
from allennlp.nn.parallel import DdpAccelerator
from allennlp.training.metrics import Metric

import_module_and_submodules("seal")

#: Checked beside the base classes of seal. Trainers, callbacks and optimizers inherit parameters that AllenNLP and
#: PyTorch document.
BASES = (DatasetReader, DdpAccelerator, Metric, Model)


def registered():
    for base, classes in Registrable._registry.items():
        for name, (kind, constructor) in classes.items():
            if kind.__module__.startswith("seal.") and (base in BASES or base.__module__.startswith("seal.")):
                yield pytest.param(kind, constructor or "__init__", id=f"{base.__name__}-{name}")


def documented(kind):
    """The names in the section `# Parameters` of a class, with those of the class behind 'As for', but for 'except'."""
    text = inspect.cleandoc(vars(kind).get("__doc__") or "")
    section = re.search(r"^# Parameters\n(.*?)(?=^# |\Z)", text, re.DOTALL | re.MULTILINE)
    if section is None:
        return set()
    names = {name for line in re.findall(r"^(\w+(?:, \w+)*) :", section[1], re.MULTILINE) for name in line.split(", ")}
    for other, more in re.findall(r"^As for `(\w+)`(.*)$", section[1], re.MULTILINE):
        (base,) = [base for base in kind.__mro__ if base.__name__ == other]
        lacking = re.findall(r"`(\w+)`", more) if "except" in more else []
        assert set(lacking) <= documented(base)
        names |= documented(base) - set(lacking)
    return names


@pytest.mark.parametrize("kind, constructor", list(registered()))
def test_the_parameters_that_a_class_documents_are_those_it_has(kind, constructor):
    found = inspect.signature(getattr(kind, constructor)).parameters.values()
    names = {p.name for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    assert documented(kind) == names - {"self"}
