"""The order in which loading processes give instances and batches, and how these processes end."""

import inspect
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from allennlp.data import DatasetReader, Instance, Token, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.fields import MetadataField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer

from seal.allennlp.loading_order import WorkerQueues, go_to_place, place_in_pass
from tests.forked import Forked

ROOT = Path(__file__).resolve().parents[2]


class Slow(DatasetReader):
    """Numbers from 0 to 9. One process is slower than the other, and another one at each pass."""

    slow = 0

    def __init__(self) -> None:
        super().__init__(manual_distributed_sharding=False, manual_multiprocess_sharding=False)

    def _read(self, file_path):
        for number in range(10):
            worker = self.get_worker_info()
            if worker is not None and worker.id == self.slow:
                time.sleep(0.01)
            yield Instance({"text": TextField([Token("a")]), "metadata": MetadataField((number, random.random()))})

    def apply_token_indexers(self, instance):
        instance["text"].token_indexers = {"tokens": SingleIdTokenIndexer()}


def loader_of(slow: int, **settings) -> MultiProcessDataLoader:
    reader = Slow()
    reader.slow = slow
    random.seed(5)
    loader = MultiProcessDataLoader(reader, "numbers", batch_size=2, num_workers=2, quiet=True, **settings)
    loader.index_with(Vocabulary())
    return loader


def numbers(loader) -> list:
    return [batch["metadata"] for batch in loader]


IN_PARTS = [{"max_instances_in_memory": 2}, {"max_instances_in_memory": 4, "shuffle": True}]


@pytest.mark.parametrize("settings", [{}, *IN_PARTS])
def test_the_order_does_not_depend_on_which_process_is_faster(settings):
    first = numbers(loader_of(0, **settings))
    assert sorted(number for batch in first for number, _ in batch) == list(range(10))
    # Neither does what the processes draw.
    assert numbers(loader_of(1, **settings)) == first


def test_processes_take_turns():
    class Queue:
        def __init__(self, *items):
            self.items, self.done = [*((item, None) for item in items), (None, None)], 0

        def get(self):
            return self.items.pop(0)

        def task_done(self):
            self.done += 1

    queues = [Queue(1, 2, 3), Queue(10)]
    turns, found = WorkerQueues(list(queues)), []
    for _ in queues:
        for item, _ in iter(turns.get, (None, None)):
            found.append(item)
            turns.task_done()
    assert found == [1, 10, 2, 3]
    # Each process waits until its end, too, is counted.
    turns.task_done()
    turns.task_done()
    assert [queue.done for queue in queues] == [4, 2]
    with pytest.raises(ValueError):
        turns.task_done()


def test_a_place_in_a_pass():
    settings = {"batches_per_epoch": 3, "shuffle": True}
    whole = loader_of(0, **settings)
    assert place_in_pass(whole) is None
    epochs = [numbers(whole) for _ in range(4)]
    stopped = loader_of(0, **settings)
    before = [numbers(stopped) for _ in range(2)]
    place, state = place_in_pass(stopped), random.getstate()
    later = loader_of(0, **settings)
    go_to_place(later, place)
    random.setstate(state)
    assert before + [numbers(later) for _ in range(2)] == epochs


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
import seal.plugin
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
        loading = threading.Thread(target=load)
        loading.start()
        loading.join()
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
def test_data_workers_end_with_the_process_that_started_them(tmp_path, monkeypatch, method, how, thread):
    """Whatever they wait for, and although each holds the pipes of those that were forked before it."""
    if how == "c" and sys.platform != "linux":
        pytest.skip("only Linux ends a process whose other code keeps Python's lock")
    script, folder = tmp_path / "loads.py", tmp_path / "numbers"
    script.write_text(LOADS)
    folder.mkdir()
    arguments = [str(folder), method, how, thread]
    if method == "spawn":
        command = subprocess.Popen([sys.executable, script, *arguments], env={**os.environ, "PYTHONPATH": str(ROOT)})
    else:
        monkeypatch.syspath_prepend(tmp_path)
        command = Forked("loads", *arguments, cwd=tmp_path)
    try:
        wait_until(lambda: len(os.listdir(folder)) == 2 or command.poll() is not None, 120)
        workers = [int(name) for name in os.listdir(folder)]
        assert len(workers) == 2 and all(map(runs, workers))
    finally:
        command.send_signal(signal.SIGKILL)
        command.communicate()
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


@pytest.mark.parametrize("start", ["_start_instance_workers", "_start_batch_workers"])
def test_data_workers_that_are_spawned_get_a_lock_that_they_can_have(start):
    class Worker:
        """A process that is not started: only what it is given counts."""

        def __init__(self, target, args, daemon):
            locks.append(args[2])

        def start(self):
            pass

    locks = []
    spawn = multiprocessing.get_context("spawn")
    context = SimpleNamespace(RLock=spawn.RLock, Pipe=spawn.Pipe, Process=Worker, JoinableQueue=SimpleNamespace)
    # Not all in memory, which would be read at once.
    settings = {"batch_size": 2, "num_workers": 2, "start_method": "spawn", "max_instances_in_memory": 2}
    loader = MultiProcessDataLoader(Slow(), "x", **settings)
    patched = getattr(MultiProcessDataLoader, start)
    for run in (patched, inspect.unwrap(patched)):
        run(loader, SimpleNamespace(_maxsize=2), context)
    # A process that is spawned refuses a lock of the context of forks, in which the other is made.
    assert [lock._is_fork_ctx for lock in locks] == [False, False, True, True]
