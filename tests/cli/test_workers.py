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
from allennlp.common.util import find_open_port

from seal.cli.workers import Group, Pulse, Workers, group_of, pulse_of
from seal.registry import ConfigurationError

ROOT = Path(__file__).resolve().parents[2]


def work(rank: int, seconds: int, ending: int, folder: Path, port: int, size: int = 2, later: bool = False) -> None:
    told = "nothing"
    try:
        with pulse_of(f"tcp://127.0.0.1:{port}", Workers([-1] * size, timeout=seconds), rank):
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


def told_by(folder: Path, ranks: list[int], *, size: int = 2, ending: int = signal.SIGKILL, seconds: int, later=False):
    """What the first of the workers with these ranks says, or all where none ends; and where they meet."""
    # Forked: the imports are done.
    context, port = torch.multiprocessing.get_context("fork"), find_open_port()
    workers = [context.Process(target=work, args=(rank, seconds, ending, folder, port, size, later)) for rank in ranks]
    for worker in workers:
        worker.start()
    for worker in workers if len(ranks) < size else workers[:1]:
        worker.join(60)
    for worker in workers:
        worker.kill()
        worker.join()
    return [file.read_text() for file in sorted(folder.iterdir())], f"tcp://127.0.0.1:{port}"


# The frozen one is waited for; "later", where an exchange goes on beside other work.
@pytest.mark.parametrize(
    "ending, later",
    [(signal.SIGKILL, False), (signal.SIGKILL, True), pytest.param(signal.SIGSTOP, True, marks=pytest.mark.slow)],
)
def test_a_worker_that_is_killed_or_frozen_is_named(tmp_path, ending, later):
    host = socket.gethostname()
    told = f"worker 1 on {host} has ended or is frozen (seen by worker 0 on {host}); --recover continues the run"
    # So long that a worker which is only slow on a busy machine is not given up before it ends.
    assert told_by(tmp_path, [0, 1], ending=ending, seconds=12, later=later)[0] == [told]


@pytest.mark.parametrize("present, size", [([0], 2), ([0, 1], 3), ([1], 2)])
def test_every_node_says_that_one_never_comes(tmp_path, present, size):
    found, place = told_by(tmp_path, present, size=size, seconds=3)
    assert len(found) == len(present)
    for rank, told in zip(present, found):
        assert told.startswith(f"worker {rank} on {socket.gethostname()}: not all of {size} workers met at {place} ")
        assert "within 3 s (distributed.timeout); start the command on every node" in told


def test_an_error_of_training_is_no_lost_worker():
    place = f"tcp://127.0.0.1:{find_open_port()}"
    try:
        with pytest.raises(RuntimeError, match="^shapes differ$"), pulse_of(place, Workers([-1], timeout=5), 0):
            raise RuntimeError("shapes differ")
    finally:
        dist.destroy_process_group()


def test_where_workers_meet():
    group = group_of({"cuda_devices": [-1, -1]}, 0, [])
    assert group.method.startswith("tcp://127.0.0.1:") and group.workers.size == 2 and group.workers.timeout == 120
    section = {"cuda_devices": [0], "num_nodes": 2, "primary_address": "host", "primary_port": 29500, "timeout": 9}
    group = group_of(section, 1, ["mine"])
    assert group == Group("tcp://host:29500", Workers([0], 2, "host", 29500, 9), 1, ["mine"], False)
    del section["primary_port"]
    with pytest.raises(ConfigurationError, match="distributed.primary_port"):
        group_of(section, 1, [])


def test_a_pulse_that_has_ended_beats_no_more():
    class Store(dict):
        def set(self, key, value):
            self[key] = value

        def add(self, key, number):
            self[key] = self.get(key, 0) + number

    store = Store()
    pulse = Pulse(store, 0, 1, 0.01)
    time.sleep(0.2)
    pulse.end()
    beats = store["beat-0"]
    assert beats > 1 and not pulse._thread.is_alive()
    time.sleep(0.1)
    assert store["beat-0"] == beats


ORPHAN = """
import multiprocessing, os, signal, time
from seal.cli.workers import Pulse

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
    done = subprocess.run([sys.executable, "-c", ORPHAN], cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == -signal.SIGKILL and done.stderr == ""
