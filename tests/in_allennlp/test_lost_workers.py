"""Workers that are killed, frozen or never come."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from allennlp.commands import train
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import find_open_port
from allennlp.data.data_loaders import MultiProcessDataLoader
from torch.multiprocessing import ProcessExitedException

import seal  # noqa: F401  (puts the patches in place)
from seal.allennlp import lost_workers
from seal.allennlp.error_sentences import describe

ROOT = Path(__file__).resolve().parents[2]


def work(rank: int, seconds: int, ending: int, folder: Path, port: int, size: int = 2, later: bool = False) -> None:
    os.environ["SEAL_WORKER_TIMEOUT"] = str(seconds)
    told = "nothing"
    try:
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
        dist.barrier()
        if rank == 1:
            os.kill(os.getpid(), ending)
        exchanged = dist.all_reduce(torch.ones(1), async_op=later)
        if later:
            exchanged.wait()
    except ConfigurationError as error:
        told = str(error)
    (folder / str(rank)).write_text(told)
    os._exit(0)


def told_by_the_first(folder, present: int, ending: int, seconds: int, later: bool = False) -> str:
    # Forked: the imports are done.
    context, port = torch.multiprocessing.get_context("fork"), find_open_port()
    arguments = [(rank, seconds, ending, folder, port, 2, later) for rank in range(present)]
    workers = [context.Process(target=work, args=given) for given in arguments]
    for worker in workers:
        worker.start()
    workers[0].join(60)
    for worker in workers:
        worker.kill()
        worker.join()
    return (folder / "0").read_text()


# The frozen one is waited for; "later", where an exchange goes on beside other work.
@pytest.mark.parametrize(
    "ending, later",
    [(signal.SIGKILL, False), (signal.SIGKILL, True), pytest.param(signal.SIGSTOP, True, marks=pytest.mark.slow)],
)
def test_a_worker_that_is_killed_or_frozen_is_named(tmp_path, ending, later):
    host = socket.gethostname()
    told = f"worker 1 on {host} has ended or is frozen (seen by worker 0 on {host}); --recover continues the run"
    # So long that a worker which is only slow on a busy machine is not given up before it ends.
    assert told_by_the_first(tmp_path, 2, ending, 12, later) == told


def test_a_node_that_never_comes(tmp_path):
    told = told_by_the_first(tmp_path, 1, signal.SIGKILL, seconds=3)
    assert told.startswith(f"worker 0 on {socket.gethostname()}: not all of 2 workers met at tcp://127.0.0.1:")
    assert "within 3 s (distributed.timeout); start the command on every node" in told


@pytest.mark.parametrize("present, size", [([0, 1], 3), ([1], 2)])
def test_every_node_says_that_one_never_comes(tmp_path, present, size):
    context, port = torch.multiprocessing.get_context("fork"), find_open_port()
    workers = [context.Process(target=work, args=(rank, 3, 9, tmp_path, port, size)) for rank in present]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        worker.kill()
    for rank in present:
        told = f"worker {rank} on {socket.gethostname()}: not all of {size} workers met at tcp://127.0.0.1:{port} "
        assert (tmp_path / str(rank)).read_text().startswith(told)


def test_what_the_command_says_of_a_worker_that_was_killed():
    error = ProcessExitedException("killed", error_index=1, error_pid=7, exit_code=-9, signal_name="SIGKILL")
    assert describe(error) == f"worker 1 on {socket.gethostname()} was killed by SIGKILL; --recover continues the run"


@pytest.mark.parametrize("seconds", ["long", 0])
def test_a_timeout_that_is_none(tmp_path, seconds):
    params = Params({"distributed": {"cuda_devices": [-1, -1], "timeout": seconds}})
    with pytest.raises(ConfigurationError, match='config key "distributed.timeout" must be'):
        train.train_model(params, str(tmp_path / "run"))


def test_the_timeout_ends_with_the_run(tmp_path, monkeypatch):
    monkeypatch.delenv("SEAL_WORKER_TIMEOUT", raising=False)
    with pytest.raises(ConfigurationError, match="dataset_reader"):
        train.train_model(Params({}), str(tmp_path / "run"))
    assert "SEAL_WORKER_TIMEOUT" not in os.environ


def _handler_in_a_worker(queue):
    # AllenNLP's command installs such a handler, and workers inherit it.
    signal.signal(signal.SIGTERM, lambda *_: None)
    for name in ("_instance_worker", "_batch_worker"):
        try:
            getattr(MultiProcessDataLoader, name)(None, 0, None)
        except TypeError:
            pass  # AllenNLP's own function needs more arguments; the handler is reset before it is called.
        queue.put(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
        signal.signal(signal.SIGTERM, lambda *_: None)


def test_data_workers_end_quietly():
    context = torch.multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=_handler_in_a_worker, args=(queue,))
    process.start()
    assert [queue.get(), queue.get()] == [True, True]
    process.join()
    # The main process keeps its own handler.
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(TypeError):
        MultiProcessDataLoader._instance_worker(None)
    assert signal.getsignal(signal.SIGTERM) is before


LOADS = """
import ctypes, os, pathlib, sys, threading, time
import seal
from allennlp.data import DatasetReader
from allennlp.data.data_loaders import MultiProcessDataLoader

class Stuck(DatasetReader):
    def __init__(self, how):
        super().__init__()
        self.how = how

    def _read(self, path):
        pathlib.Path(path, str(os.getpid())).touch()
        if self.how == "c":
            ctypes.PyDLL(None).pause()  # Keeps Python's lock.
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()

if __name__ == "__main__":
    folder, method, how, thread = sys.argv[1:]
    load = lambda: MultiProcessDataLoader(Stuck(how), folder, batch_size=1, num_workers=2, start_method=method)
    if thread == "yes":
        threading.Thread(target=load).start()
    else:
        load()
"""


@pytest.mark.parametrize(
    "method, how, thread",
    [
        ("fork", "lock", "no"),
        ("fork", "c", "no"),
        pytest.param("fork", "lock", "yes", marks=pytest.mark.slow),
        pytest.param("spawn", "lock", "no", marks=pytest.mark.slow),
    ],
)
def test_data_workers_end_with_the_process_that_started_them(tmp_path, method, how, thread):
    """Whatever they wait for, and although each holds the pipes of those that were forked before it."""
    if how == "c" and sys.platform != "linux":
        pytest.skip("only Linux ends a process whose other code keeps Python's lock")
    script, folder = tmp_path / "loads.py", tmp_path / "numbers"
    script.write_text(LOADS)
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = subprocess.Popen([sys.executable, script, folder, method, how, thread], env=environment)
    try:
        wait_until(lambda: len(os.listdir(folder)) == 2 or command.poll() is not None, 120)
        workers = [int(name) for name in os.listdir(folder)]
        assert len(workers) == 2 and all(map(runs, workers))
    finally:
        command.kill()
        command.wait()
    try:
        wait_until(lambda: not any(map(runs, workers)), 15)
    finally:
        for worker in filter(runs, workers):
            os.kill(worker, signal.SIGKILL)


def runs(number):
    """Whether a process is there, and is not only waited for by its new parent."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True)
    return done.stdout.strip()[:1] not in ("", "Z")


def wait_until(is_so, seconds):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_pulse_that_has_ended_beats_no_more():
    class Store(dict):
        def set(self, key, value):
            self[key] = value

        def add(self, key, number):
            self[key] = self.get(key, 0) + number

    store = Store()
    pulse = lost_workers.Pulse(store, 0, 1, 0.01)
    time.sleep(0.2)
    pulse.end()
    beats = store["beat-0"]
    assert beats > 1 and not pulse._thread.is_alive()
    time.sleep(0.1)
    assert store["beat-0"] == beats


ORPHAN = """
import multiprocessing, os, signal, time
from seal.allennlp.lost_workers import Pulse

class Store:
    set = add = lambda *_: 0

def work():
    Pulse(Store(), 0, 1, 0.1)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(100)

multiprocessing.get_context("fork").Process(target=work).start()
time.sleep(100)
"""


def test_a_worker_ends_with_the_command_that_started_it():
    """Also where it ignores SIGINT."""
    # This waits until both have closed their output.
    done = subprocess.run([sys.executable, "-c", ORPHAN], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL and done.stderr == ""
