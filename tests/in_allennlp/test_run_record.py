import json
import subprocess
import tarfile

import pytest
import torch
from allennlp.commands import train
from allennlp.common import Params
from allennlp.training import util

from seal.allennlp import run_record
from seal.allennlp.run_record import ENVIRONMENT, environment, trainings


def test_each_training_is_recorded(tmp_path, monkeypatch):
    folder, params = str(tmp_path / "run"), Params({})
    monkeypatch.setattr(run_record, "environment", lambda: {"commit": "first"})
    util.create_serialization_dir(params, folder, recover=False, force=False)
    assert trainings(folder) == [{"commit": "first"}]
    params.to_file(f"{folder}/config.json")
    monkeypatch.setattr(run_record, "environment", lambda: {"commit": "second"})
    util.create_serialization_dir(params, folder, recover=True, force=False)
    assert [record["commit"] for record in trainings(folder)] == ["first", "second"]
    util.create_serialization_dir(params, folder, recover=False, force=True)
    assert [record["commit"] for record in trainings(folder)] == ["second"]


def test_what_is_recorded_names_no_place_and_nobody(tmp_path):
    found = environment()
    assert found["torch"] == torch.__version__ and set(found) >= {"begun", "commit", "python", "machine"}
    text = json.dumps(found)
    import getpass
    import socket

    assert socket.gethostname() not in text and f"/{getpass.getuser()}" not in text


def test_a_record_that_cannot_be_read_counts_as_none(tmp_path):
    assert trainings(str(tmp_path)) == []
    (tmp_path / ENVIRONMENT).write_text("{")
    assert trainings(str(tmp_path)) == []


def test_without_git_the_commit_is_unknown(monkeypatch):
    def run(*_, **__):
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", run)
    assert environment()["commit"] == "unknown: no git"


@pytest.fixture
def trained(tmp_path):
    """A run's folder, as it is before the model is archived."""
    (tmp_path / "vocabulary").mkdir()
    Params({"model": {}}).to_file(str(tmp_path / "config.json"))
    torch.save({}, tmp_path / "best.th")


def test_an_archive_that_is_not_written_to_its_end_is_not_there(trained, tmp_path, monkeypatch):
    add = tarfile.TarFile.add

    def killed(self, name, arcname=None, **options):
        if arcname == "vocabulary":
            raise KeyboardInterrupt
        add(self, name, arcname, **options)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(tarfile.TarFile, "add", killed)
        train.archive_model(str(tmp_path))
    assert not (tmp_path / "model.tar.gz").exists()
    with tarfile.open(train.archive_model(str(tmp_path))) as archive:
        assert {"config.json", "weights.th", "vocabulary"} <= set(archive.getnames())
    assert [path.name for path in tmp_path.glob("model.tar*")] == ["model.tar.gz"]
