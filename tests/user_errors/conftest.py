"""For tests of a user's mistakes: a small config, its trained archive, and the `allennlp` command in this process."""

import shutil
import sys
from pathlib import Path

import pytest
from allennlp.commands import main
from allennlp.commands.train import train_model_from_file
from allennlp.common import logging as logging_of_allennlp

from seal.allennlp import user_errors

CONFIG = """{
  dataset_reader: {type: 'sequence_tagging'},
  train_data_path: '%s',
  model: {
    type: 'simple_tagger',
    text_field_embedder: {token_embedders: {tokens: {type: 'embedding', embedding_dim: 4}}},
    encoder: {type: 'lstm', input_size: 4, hidden_size: 5},
  },
  data_loader: {batch_size: 2},
  trainer: {num_epochs: 1, cuda_device: -1, optimizer: 'adam'},
}
"""


def write(folder: Path) -> str:
    (folder / "train.tsv").write_text("the###D dog###N\na###D cat###N\n", encoding="utf-8")
    path = folder / "config.jsonnet"
    path.write_text(CONFIG % (folder / "train.tsv"), encoding="utf-8")
    return str(path)


@pytest.fixture
def config(tmp_path: Path) -> str:
    return write(tmp_path)


@pytest.fixture
def command(monkeypatch, capsys, tmp_path, allennlp_logging):
    """Runs the command in this process and hands what it raises to the hook for uncaught exceptions."""
    monkeypatch.delenv(user_errors.TRACEBACK_VARIABLE, raising=False)
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    user_errors.install()

    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["allennlp", *arguments])
        with pytest.raises(Exception) as error:
            main(prog="allennlp")
        capsys.readouterr()
        sys.excepthook(error.type, error.value, error.tb)
        return capsys.readouterr().err

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
