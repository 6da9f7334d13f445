"""The lock, the packaging and the plugin file agree, and an install from them works."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import textwrap
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.test_torch_alone import ALONE, CORE

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.txt"

# The upper bounds that AllenNLP and allennlp-models declare and no supported Python can meet; --no-deps ignores them.
CAPPED = {
    "allennlp": {
        "torch",
        "torchvision",
        "cached-path",
        "spacy",
        "transformers",
        "filelock",
        "termcolor",
        "wandb",
        "protobuf",
    },
    "allennlp-models": {"torch", "conllu"},
}
EXTRAS = ("allennlp", "demo", "measure", "dev")
# Programs of a user of the installed package: with torch and NumPy alone, and with a config that imports the library.
WITHOUT_ALLENNLP = f"""
{textwrap.dedent(ALONE)}
import {", ".join(CORE)}
print(seal.__file__)
"""
OWN_CONFIG = """
import allennlp.models, seal
from allennlp.common import Params
assert Params.from_file("mine.jsonnet")["data"]["train"].startswith("data/srl_sample/train")
print(seal.__file__)
"""
# Declared by AllenNLP, but imported nowhere.
LEFT_OUT = {"traitlets"}


def _run(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
    """A program of this Python's, which ends well."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    return done


def _lines(path: Path) -> list:
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _locked() -> dict:
    requirements = [Requirement(line) for line in _lines(LOCK)]
    return {canonicalize_name(r.name): r for r in requirements}


def _needs(name: str, extras: frozenset) -> list:
    """The requirements of an installed package on this machine, with the extras it was itself required with."""
    needs = []
    for line in importlib.metadata.requires(name) or []:
        need = Requirement(line)
        if need.marker is None or any(need.marker.evaluate({"extra": e}) for e in extras | {""}):
            needs.append(need)
    return needs


@pytest.mark.parametrize("path", [LOCK, ROOT / "requirements-measure.txt"], ids=lambda path: path.name)
def test_every_line_pins_one_package_and_names_no_index(path):
    names = []
    for line in _lines(path):
        assert not line.startswith("-") and "://" not in line and "@" not in line, line
        requirement = Requirement(line)
        assert re.fullmatch(r"==[\w.]+", str(requirement.specifier)), f"not pinned: {line}"
        names.append(canonicalize_name(requirement.name))
    assert len(names) == len(set(names)), "named twice"


def test_the_lock_is_complete_consistent_and_holds_nothing_else():
    locked = _locked()
    wanted = [(need.name, frozenset(need.extras)) for need in _setup_requirements()]
    seen = set()
    while wanted:
        name, extras = wanted.pop()
        name = canonicalize_name(name)
        if (name, extras) in seen or name in LEFT_OUT:
            continue
        seen.add((name, extras))
        assert name in locked, f"{name} is needed and not in requirements.txt"
        for need in _needs(name, extras):
            needed = canonicalize_name(need.name)
            wanted.append((needed, frozenset(need.extras)))
            if needed in locked and needed not in CAPPED.get(name, ()):
                version = next(iter(locked[needed].specifier)).version
                fits = need.specifier.contains(version, prereleases=True)
                assert fits, f"{name} needs {need}, not {version}"
    unneeded = {name for name, r in locked.items() if r.marker is None or r.marker.evaluate()} - {
        name for name, _ in seen
    }
    assert not unneeded, f"nothing needs {sorted(unneeded)}"


def _setup_requirements() -> list:
    """Of the core and of all extras."""
    lists = re.findall(r"^(?:CORE|ALLENNLP|MEASURE|DEV) = \[(.*?)\]$", _setup_text(), flags=re.DOTALL | re.MULTILINE)
    assert len(lists) == 4
    return [Requirement(line) for each in lists for line in re.findall(r'"([^"]+)"', each)]


def _setup_text() -> str:
    return (ROOT / "setup.py").read_text(encoding="utf-8")


def test_the_lock_meets_what_setup_py_asks_for():
    locked = _locked()
    for need in _setup_requirements():
        version = next(iter(locked[canonicalize_name(need.name)].specifier)).version
        assert need.specifier.contains(version), f"setup.py needs {need}, requirements.txt has {version}"


@pytest.mark.slow
def test_a_wheel_brings_the_core_and_the_library_of_configs(tmp_path):
    copied = tmp_path / "clone"
    for folder in ("seal", "scripts/seal_inspect", "training_configs/lib"):
        shutil.copytree(ROOT / folder, copied / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("setup.py", "README.md"):
        shutil.copy(ROOT / file, copied)
    _run("setup.py", "-q", "bdist_wheel", "-d", str(tmp_path), cwd=copied)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = wheel.namelist()
        told = wheel.read(next(name for name in names if name.endswith("METADATA"))).decode()
    library = {path.name for path in (ROOT / "training_configs" / "lib").glob("*.libsonnet")}
    assert {Path(name).name for name in names if name.endswith(".libsonnet")} == library
    assert all(name.startswith("seal/config_library/") for name in names if name.endswith(".libsonnet"))
    models = {path.name for path in (ROOT / "seal" / "ready_models").glob("*.tar.gz")}
    assert {Path(name).name for name in names if name.startswith("seal/ready_models/")} >= models
    packages = (ROOT / "seal", ROOT / "scripts" / "seal_inspect")
    assert sum(name.endswith(".py") for name in names) == sum(len(list(one.rglob("*.py"))) for one in packages)
    assert "seal_inspect/demo_page.html" in names
    needs = [Requirement(line) for line in re.findall(r"^Requires-Dist: (.+)$", told, flags=re.MULTILINE)]
    assert {need.name for need in needs if need.marker is None} == {"torch", "numpy"}
    extras = {extra: {n.name for n in needs if n.marker and n.marker.evaluate({"extra": extra})} for extra in EXTRAS}
    assert {"allennlp", "transformers", "jsonnet", "scikit-learn"} <= extras["allennlp"] == extras["demo"]
    assert extras["measure"] - extras["allennlp"] == {"allennlp-models", "setuptools"}
    # Unpacked, as pip does, and used from a folder that has nothing else.
    site, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    shutil.unpack_archive(next(tmp_path.glob("*.whl")), site, format="zip")
    (empty / "mine.jsonnet").write_text("local srl = import 'seal/srl.libsonnet'; { data: srl.data.sample }")
    for program in (WITHOUT_ALLENNLP, OWN_CONFIG):
        done = _run("-c", program, cwd=empty, PYTHONPATH=str(site), HF_HUB_OFFLINE="1")
        assert Path(done.stdout.strip()).is_relative_to(site)


def test_the_command_and_its_sub_commands_come_with_the_package():
    (command,) = entry_points(group="console_scripts", name="seal")
    assert command.value == "seal.__main__:run"
    found = {entry.name: entry.load() for entry in entry_points(group="seal.commands")}
    inspecting = {"compare-networks", "components", "demo", "label-interactions", "report", "tag-interactions"}
    assert set(found) == inspecting
    assert Path(found["demo"].__file__).with_name("demo_page.html").is_file()


def test_every_module_registers_itself_at_import():
    """A plugins file imports `seal` and nothing below it, when the command has imported AllenNLP."""
    import allennlp.commands  # noqa: F401

    import seal

    # They register nothing: the command, and what is for programs with scikit-learn.
    apart = ("__init__.py", "__main__.py")
    files = [path for path in Path(seal.__file__).parent.rglob("*.py") if path.name not in apart]
    files = [path for path in files if path.parent.name not in ("cli", "sklearn")]
    root = Path(seal.__file__).parents[1]
    for file in files:
        module = ".".join(file.relative_to(root).with_suffix("").parts)
        assert module in sys.modules, f"{module} was not imported (is an __init__.py missing?)"
