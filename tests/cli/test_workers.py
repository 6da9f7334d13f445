"""Workers that never come, and workers whose command is killed."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from allennlp.common.util import find_open_port

from seal.cli import workers
from seal.cli.workers import Group, Workers, group_of
from seal.registry import ConfigurationError

ROOT = Path(__file__).resolve().parents[2]


def work(rank: int, folder: Path, port: int, size: int) -> None:
    try:
        workers._meet(f"tcp://127.0.0.1:{port}", Workers([-1] * size, timeout=3), rank)
    except ConfigurationError as error:
        (folder / str(rank)).write_text(str(error))
    os._exit(0)


@pytest.mark.parametrize("present, size", [([0], 2), ([0, 1], 3), ([1], 2)])
def test_every_node_says_that_one_never_comes(tmp_path, present, size):
    # Forked: the imports are done.
    context, port = torch.multiprocessing.get_context("fork"), find_open_port()
    processes = [context.Process(target=work, args=(rank, tmp_path, port, size)) for rank in present]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        process.kill()
    for rank in present:
        told = (tmp_path / str(rank)).read_text()
        assert f"worker {rank} on {socket.gethostname()}" in told and f"127.0.0.1:{port}" in told


def test_where_workers_meet():
    group = group_of({"cuda_devices": [-1, -1]}, 0, [])
    assert group.method.startswith("tcp://127.0.0.1:") and group.workers.size == 2 and group.workers.timeout == 120
    section = {"cuda_devices": [0], "num_nodes": 2, "primary_address": "host", "primary_port": 29500, "timeout": 9}
    group = group_of(section, 1, ["mine"])
    assert group == Group("tcp://host:29500", Workers([0], 2, "host", 29500, 9), 1, ["mine"], False)
    del section["primary_port"]
    with pytest.raises(ConfigurationError, match="distributed.primary_port"):
        group_of(section, 1, [])


ORPHAN = """
import multiprocessing, os, signal, time
from seal.allennlp.loading_order import end_with_the_parent

def work():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_the_parent("spawn", 0.1)
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
