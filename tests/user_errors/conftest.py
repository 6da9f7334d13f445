"""For tests of a user's mistakes: a small config, its trained archive, and the command `seal` in this process."""

import json
import re
import shutil
import traceback
from pathlib import Path

import pytest
from allennlp.commands.train import train_model_from_file
from allennlp.common import logging as logging_of_allennlp

from seal.cli.errors import TRACEBACK_VARIABLE
from seal.cli.main import main
from tests.stock_tagger import CONFIG


def write(folder: Path) -> str:
    (folder / "train.tsv").write_text("the###D dog###N\na###D cat###N\n", encoding="utf-8")
    path = folder / "config.jsonnet"
    path.write_text(json.dumps({**CONFIG, "train_data_path": str(folder / "train.tsv")}), encoding="utf-8")
    return str(path)


@pytest.fixture
def config(tmp_path: Path) -> str:
    return write(tmp_path)


@pytest.fixture
def command(monkeypatch, capsys, tmp_path, allennlp_logging):
    """Runs the command, which ends with an error: its sentence, from `error: ` to the end, or the traceback."""
    monkeypatch.delenv(TRACEBACK_VARIABLE, raising=False)

    def run(*arguments: str) -> str:
        capsys.readouterr()
        try:
            main(arguments)
        except SystemExit as ended:
            assert ended.code == 1
            return re.search("^error: .*", capsys.readouterr().err, re.MULTILINE | re.DOTALL).group()
        except Exception:
            return traceback.format_exc()
        pytest.fail("nothing went wrong")

    return run


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logging_of_allennlp, "prepare_global_logging", lambda *_, **__: None)
        train_model_from_file(write(folder), str(folder / "trained"))
    return folder


@pytest.fixture
def archive(config, tmp_path, trained) -> Path:
    """As if `config` had been trained."""
    shutil.copytree(trained / "trained", tmp_path / "trained")
    made = tmp_path / "trained" / "config.json"
    made.write_text(made.read_text().replace(str(trained), str(tmp_path)))
    return tmp_path / "trained" / "model.tar.gz"
