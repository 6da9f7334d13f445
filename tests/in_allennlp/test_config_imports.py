"""The library of configs by its name, from a folder that has nothing of it; in a clone and in an installed package."""

import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from allennlp.common import params as allennlp_params
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import Params
from allennlp.common.util import SigTermReceived, install_sigterm_handler

import seal.plugin  # noqa: F401
from seal.allennlp import config_imports
from seal.cli.configs import read_config
from tests.forked import Forked

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "training_configs" / "lib"
SHIPPED = (ROOT / "training_configs" / "srl_nce.jsonnet").read_text(encoding="utf-8")


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine" / "config.jsonnet"
    path.parent.mkdir()
    path.write_text(SHIPPED, encoding="utf-8")
    return path


@pytest.mark.parametrize("relative", [False, True], ids=["absolute", "relative"])
def test_a_config_anywhere_imports_the_library(config, relative, tmp_path):
    found = Params.from_file(str(config.relative_to(tmp_path) if relative else config))
    assert found.as_dict(quiet=True) == Params.from_file(str(ROOT / "training_configs" / "srl_nce.jsonnet")).as_dict()
    with pytest.raises(RuntimeError, match="seal/srl.libsonnet"):
        inspect.unwrap(allennlp_params.evaluate_file)(str(config))


def test_overrides_and_texts_import_it_too(config):
    overrides = "{ 'trainer.num_epochs': (import 'seal/srl.libsonnet').training.sample.epochs + 1 }"
    plain, changed = (Params.from_file(str(config), given)["trainer"]["num_epochs"] for given in ("{}", overrides))
    assert changed == plain + 1
    config.write_text("{ a: importstr 'seal/check.libsonnet' }", encoding="utf-8")
    assert Params.from_file(str(config))["a"] == (LIBRARY / "check.libsonnet").read_text(encoding="utf-8")


def test_a_file_beside_the_config_comes_first(config):
    (config.parent / "seal").mkdir()
    (config.parent / "seal" / "srl.libsonnet").write_text("{ mine: importstr 'name' }", encoding="utf-8")
    (config.parent / "seal" / "name").write_text("é", encoding="utf-8")
    config.write_text("import 'seal/srl.libsonnet'", encoding="utf-8")
    assert Params.from_file(str(config)).as_dict() == {"mine": "é"}


@pytest.mark.parametrize(
    "name, told",
    [
        ("seal/slr.libsonnet", '"seal/srl.libsonnet"'),
        ("lib/srl.libsonnet", ""),
        ("folder", ""),
    ],
)
def test_what_is_not_there(config, name, told):
    (config.parent / "folder").mkdir()
    config.write_text(f"import '{name}'", encoding="utf-8")
    with pytest.raises(ConfigurationError) as error:
        read_config(str(config))
    assert str(error.value).startswith(f"{config}:1:1-") and name in str(error.value) and told in str(error.value)


def test_the_library_is_found_in_an_installed_package_and_in_a_clone(tmp_path, monkeypatch):
    assert config_imports.library_folder() == LIBRARY
    shutil.copytree(LIBRARY, tmp_path / "seal" / "config_library")
    monkeypatch.setattr(config_imports, "_PACKAGE", tmp_path / "seal")
    path, content = config_imports.find_import("", "seal/srl.libsonnet")
    assert Path(path) == tmp_path / "seal" / "config_library" / "srl.libsonnet"
    assert content == (LIBRARY / "srl.libsonnet").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("command", [["allennlp", "train", "--include-package", "seal"], ["seal", "train"]], ids=str)
def test_the_commands_take_such_a_config(config, command, tmp_path):
    program, *words = command
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    asked = [program, *words, str(config), "-s", str(tmp_path / "run"), "--dry-run"]
    (tmp_path / "data").symlink_to(ROOT / "data")
    if program == "allennlp":
        asked = [sys.executable, "-m", *asked]
        done = subprocess.run(asked, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
        told = done.stderr
    else:
        done = Forked(*asked, cwd=tmp_path)
        told = done.communicate()
    assert done.returncode == 0, told
    assert json.loads((tmp_path / "run" / "config.json").read_text())["train_data_path"].startswith("data/srl_sample")


@pytest.mark.parametrize("number, stop", [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SigTermReceived)])
def test_a_command_that_is_stopped_while_it_reads_its_config(config, monkeypatch, number, stop):
    before, find_import = signal.getsignal(signal.SIGTERM), config_imports.find_import
    # It is ignored where a shell has started the tests in the background.
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)

    def find_and_stop(folder, name):
        os.kill(os.getpid(), number)
        return find_import(folder, name)

    monkeypatch.setattr(config_imports, "find_import", find_and_stop)
    config.write_text("{ a: importstr 'seal/check.libsonnet' }", encoding="utf-8")
    install_sigterm_handler()
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        with pytest.raises(stop):
            Params.from_file(str(config))
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGINT, interrupt)
