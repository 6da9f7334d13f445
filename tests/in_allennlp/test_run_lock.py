import multiprocessing
import os
import signal
import socket
import time
from pathlib import Path

import pytest
from allennlp.commands import train
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from seal.allennlp.run_lock import locked
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
    told = f"process {holder.pid} on {socket.gethostname()} trains there; wait until it ends"
    with pytest.raises(ConfigurationError, match=told):
        train.train_model(Params(config(method="cross_entropy")), str(folder), **how)
    assert contents(folder) == before


def test_the_lock_of_a_process_that_was_killed_is_taken_over(tmp_path, holder):
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    assert (tmp_path / ".run.lock").exists()
    with locked(str(tmp_path / "run")):
        assert (tmp_path / ".run.lock").read_text() == f"process {os.getpid()} on {socket.gethostname()}"
    assert not list(tmp_path.iterdir())


def test_a_run_holds_it_to_its_end_and_leaves_nothing(tmp_path, allennlp_logging):
    folder = tmp_path / "run"
    for _ in range(2):
        train.train_model(Params(config(method="cross_entropy")), str(folder), force=True)
        assert [path.name for path in tmp_path.iterdir()] == ["run"]
    with pytest.raises(ConfigurationError, match="the folder is not empty"):
        train.train_model(Params(config(method="cross_entropy")), str(folder))
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_runs_beside_each_other(tmp_path, holder):
    with locked(str(tmp_path / "other")):
        assert (tmp_path / ".other.lock").exists()


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


@pytest.mark.parametrize("number", [95, 13, 30])
def test_a_folder_that_cannot_be_locked(tmp_path, monkeypatch, caplog, number):
    def no_lock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("seal.allennlp.run_lock.fcntl.flock", no_lock)
    with locked(str(tmp_path / "run")):
        pass
    assert f"run: it is not locked, as {tmp_path}/.run.lock cannot be written or locked ({os.strerror(number)})" in (
        caplog.text
    )


def test_another_name_of_the_folder(tmp_path, holder):
    (tmp_path / "run").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link").symlink_to(tmp_path / "run")
    with pytest.raises(ConfigurationError, match=f"process {holder.pid} on"), locked(str(tmp_path / "elsewhere/link")):
        pass
