"""The folder of a run: its lock, its records and its archive."""

import getpass
import json
import multiprocessing
import os
import signal
import socket
import tarfile
import time
from pathlib import Path

import pytest
import torch
from allennlp.common import Params
from allennlp.data import Vocabulary

from seal.cli import run_folder
from seal.cli.run_folder import check_folder, environment, fill_folder, locked, sort_namespaces, write_archive
from seal.cli.train import train
from seal.files.runs import trainings
from seal.registry import ConfigurationError
from tests.training.runs import config


def hold(folder, ready):
    with locked(folder):
        ready.set()
        time.sleep(300)


@pytest.fixture
def holder(tmp_path):
    """Another process that has the lock of `tmp_path / "run"`."""
    # Forked: the imports are done.
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    process = context.Process(target=hold, args=(str(tmp_path / "run"), ready))
    process.start()
    assert ready.wait(60)
    yield process
    process.kill()
    process.join()


def contents(folder):
    return {path: path.stat().st_mtime_ns for path in Path(folder).rglob("*")}


@pytest.mark.parametrize("how", [{"recover": True}, {"force": True}, {}])
def test_a_second_run_is_refused_and_destroys_nothing(tmp_path, holder, how):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "model_state_e1_b0.th").write_text("precious")
    before = contents(folder)
    with pytest.raises(ConfigurationError, match=f"process {holder.pid} on {socket.gethostname()}"):
        train(config(method="cross_entropy"), str(folder), **how)
    assert contents(folder) == before


def test_the_lock_of_a_process_that_was_killed_is_taken_over(tmp_path, holder):
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    assert (tmp_path / ".run.lock").exists()
    with locked(str(tmp_path / "run")):
        assert (tmp_path / ".run.lock").read_text() == f"process {os.getpid()} on {socket.gethostname()}"
    assert not list(tmp_path.iterdir())


def test_a_lock_that_someone_removes(tmp_path):
    lock = tmp_path / ".run.lock"
    with locked(str(tmp_path / "run")):
        lock.unlink()
    assert not lock.exists()
    with locked(str(tmp_path / "run")):
        lock.unlink()
        # Of another run, which may come in then.
        lock.write_text("process 1 on another")
    assert lock.read_text() == "process 1 on another"


@pytest.mark.parametrize("number", [95, 38, 30])
def test_a_folder_that_cannot_be_locked(tmp_path, monkeypatch, caplog, number):
    def no_lock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", no_lock)
    with locked(str(tmp_path / "run")):
        pass
    assert f"{tmp_path}/.run.lock" in caplog.text


@pytest.mark.parametrize(
    "change, told",
    [
        ({"a": {"b": 2}}, '"a.b"'),
        ({"a": {}, "w": 1, "x": 1, "y": 1}, '"a.b", "w", "x" and 1 more'),
    ],
)
def test_the_config_of_a_run_that_goes_on(tmp_path, change, told):
    config = {"a": {"b": 1}, "c": 3}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=f"--recover: .*{told}"):
        check_folder(str(tmp_path), {**config, **change}, True, False)
    check_folder(str(tmp_path), config, True, False)


@pytest.mark.parametrize(
    "name, recover, force, told",
    [
        ("", False, False, "-s .*--force .*--recover"),
        ("", True, False, "--recover: .*config.json"),
        ("", True, True, "--recover .*--force"),
        ("notes.txt", False, False, "-s .*notes.txt"),
        ("notes.txt", False, True, "-s .*notes.txt"),
    ],
)
def test_folders_in_which_no_run_can_begin(tmp_path, name, recover, force, told):
    run = tmp_path / "run"
    for _ in range(2):
        check_folder(str(run), {}, False, force)
        run.mkdir(exist_ok=True)
    (run / "notes.txt").write_text("mine")
    with pytest.raises(ConfigurationError, match=told):
        check_folder(str(run / name), {}, recover, force)


def test_each_training_is_recorded(tmp_path, monkeypatch):
    folder = str(tmp_path / "run")
    for commit, force, found in (("a", False, ["a"]), ("b", False, ["a", "b"]), ("c", True, ["c"])):
        monkeypatch.setattr(run_folder, "environment", lambda commit=commit: {"commit": commit})
        fill_folder(folder, {"a": 1}, force=force)
        assert [record["commit"] for record in trainings(folder)] == found
    assert json.loads((tmp_path / "run" / "config.json").read_text()) == {"a": 1}
    assert (tmp_path / "run" / "meta.json").exists()


def test_what_is_recorded_names_no_place_and_nobody():
    found = environment()
    assert found["torch"] == torch.__version__ and set(found) >= {"begun", "commit", "python", "machine"}
    text = json.dumps(found)
    assert socket.gethostname() not in text and f"/{getpass.getuser()}" not in text


def test_namespaces_are_in_order(tmp_path):
    names = ["*tags", "zebra", "*labels", "apple", "mango"]
    vocabulary = Vocabulary(counter={"apple": {"a": 1}}, non_padded_namespaces=names)
    vocabulary.save_to_files(str(tmp_path / "vocabulary"))
    sort_namespaces(str(tmp_path))
    found = (tmp_path / "vocabulary" / "non_padded_namespaces.txt").read_text().split()
    assert found == sorted(vocabulary._non_padded_namespaces)
    assert Vocabulary.from_files(str(tmp_path / "vocabulary")).get_vocab_size("apple") == 1


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
        write_archive(str(tmp_path), None)
    assert not (tmp_path / "model.tar.gz").exists()
    (tmp_path / "more.txt").write_text("x")
    with tarfile.open(write_archive(str(tmp_path), ["more.txt"])) as archive:
        assert {"config.json", "weights.th", "vocabulary", "more.txt", "SHA256SUMS"} <= set(archive.getnames())
    assert [path.name for path in tmp_path.glob("model.tar*")] == ["model.tar.gz"]
    assert not (tmp_path / "SHA256SUMS").exists()
