"""
Loads training data in the same order in every run with the same seeds. A recovered run continues in that order.
Processes that load data end with the process that started them.
"""

import ctypes
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Optional, Protocol

import numpy
import torch
from allennlp.data import DatasetReader, TensorDict
from allennlp.data.data_loaders import MultiProcessDataLoader, multiprocess_data_loader

from seal.allennlp.replacing import replace_once
from seal.common.random_states import random_state, set_random_state
from seal.common.setting_checks import require


class WorkerQueues:
    """
    A queue for each loading process. The reader takes one item from each queue in turn, so that the order of items does
    not depend on the speed of the processes.
    """

    def __init__(self, queues: list[Any]) -> None:
        self.queues = queues
        self._waiting = list(queues)
        self._turn = 0
        self._taken: Optional[Any] = None

    def get(self) -> Any:
        """The next item; `(None, None)` when a process has ended."""
        self._turn %= len(self._waiting)
        queue = self._waiting[self._turn]
        item = queue.get()
        if item[0] is None and item[1] is None:
            self._waiting.remove(queue)
        else:
            self._taken = queue
            self._turn += 1
        return item

    def task_done(self) -> None:
        """Reports the last item as done. After the last item, it reports this to each process that waits for it."""
        queue, self._taken = self._taken, None
        if queue is not None:
            return queue.task_done()
        for queue in [queue for queue in self.queues if queue not in self._waiting][:1]:
            self.queues = [other for other in self.queues if other is not queue]
            return queue.task_done()
        raise ValueError("no process has ended")

    def close(self) -> None:
        for queue in self.queues:
            queue.close()


class _Loader(Protocol):
    """The attributes of AllenNLP's loader that are used here, and the attributes that are added to it."""

    reader: DatasetReader
    num_workers: int
    start_method: str
    batches_per_epoch: Optional[int]
    #: The seed of the first process.
    worker_seed: int
    #: The generators' states at the start of the pass, and the number of batches since.
    pass_start: Any
    pass_taken: int


def load_in_turns() -> None:
    """
    Patches: `allennlp.data.data_loaders.MultiProcessDataLoader._start_instance_workers`, `_start_batch_workers`,
    `_instance_worker` and `_batch_worker`.

    Symptom: with `num_workers`, instances and batches arrive in the order in which the processes finish them, and
    spawned processes are not seeded, so that two runs differ. With `start_method: "spawn"`, training ends in
    `RuntimeError: A SemLock created in a fork context is being shared with a process in a spawn context`, because the
    lock of progress bars is made in the default context. If one process fails, AllenNLP ends the others by SIGTERM;
    they inherit the command's handler, which raises an error, so that each prints a traceback. If the command is
    killed, a process that reads or waits for a lock stays for ever: it looks for the command only before it hands out
    an instance.

    Can go: when AllenNLP's loader takes items from its processes in turn, seeds the processes, and ends them in order.
    """

    def start(original: Callable, self: _Loader, queue: Any, context: Any) -> Any:
        if self.start_method == "fork" or type(self.reader).__module__.startswith("seal."):
            # A spawned process imports only what its reader needs. If the reader is not seal's, it lacks this patch.
            queue = _queues(self, queue, context)
        module = vars(multiprocess_data_loader)
        before, module["mp"] = module["mp"], SimpleNamespace(RLock=context.RLock)
        try:
            return original(self, queue, context)
        finally:
            module["mp"] = before

    def work(original: Callable, self: _Loader, worker: int, queues: Any, *args: Any) -> Any:
        # Only in a worker process: in the main process this would remove the command's own handler.
        if multiprocessing.parent_process() is not None:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            end_with_the_parent(getattr(self, "start_method", "fork"))
        if not isinstance(queues, list):
            return original(self, worker, queues, *args)
        seed = self.worker_seed + worker
        random.seed(seed)
        numpy.random.seed(seed)
        torch.manual_seed(seed)
        return original(self, worker, queues[worker], *args)

    for name in ("_start_instance_workers", "_start_batch_workers"):
        replace_once(MultiProcessDataLoader, name, start)
    for name in ("_instance_worker", "_batch_worker"):
        replace_once(MultiProcessDataLoader, name, work)


def _queues(loader: _Loader, queue: Any, context: Any) -> list[Any]:
    """Makes a queue for each process, and lets the loader's own `queue` read them in turn."""
    # A copy of the generator: its state must not change.
    generator = random.Random()
    generator.setstate(random.getstate())
    loader.worker_seed = generator.getrandbits(31)
    size = max(1, queue._maxsize // loader.num_workers)
    queues = [context.JoinableQueue(maxsize=size) for _ in range(loader.num_workers)]
    turns = WorkerQueues(queues)
    queue.get, queue.task_done, queue.close = turns.get, turns.task_done, turns.close
    return queues


# The option of `prctl`, from `linux/prctl.h`.
_PR_SET_PDEATHSIG = 1


def end_with_the_parent(start_method: str, seconds: float = 1.0) -> None:
    """
    Makes this process end when its parent ends. A thread checks for the parent every few `seconds`. On Linux the system
    also kills a forked process, because a thread does not run while other code holds Python's lock.
    """
    parent = require(multiprocessing.parent_process(), "a process that has started this one")
    # `is_alive` reads a pipe, of which forked workers hold each other's ends, so the parent's id is compared instead.
    # The parent of a process of a fork server is that server.
    is_child = os.getppid() == parent.pid

    def watch() -> None:
        while (os.getppid() == parent.pid) if is_child else parent.is_alive():
            time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGKILL)

    # Linux reports the end of the forking thread. Only the main thread lives as long as its process.
    by_main_thread = threading.current_thread().name == "MainThread"
    if sys.platform == "linux" and start_method == "fork" and is_child and by_main_thread:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=watch, daemon=True).start()


def remember_passes() -> None:
    """
    Patches: `allennlp.data.data_loaders.MultiProcessDataLoader._iter_batches`.

    Symptom: with `batches_per_epoch` a pass over the data spans several epochs, and a recovered run begins a new pass.

    Can go: when AllenNLP's checkpoints contain the position in the pass.
    """

    def _iter_batches(original: Callable, self: _Loader) -> Iterator[TensorDict]:
        if self.batches_per_epoch is None:
            yield from original(self)
            return
        self.pass_start, self.pass_taken = random_state(), 0
        for batch in original(self):
            self.pass_taken += 1
            yield batch

    replace_once(MultiProcessDataLoader, "_iter_batches", _iter_batches)


def place_in_pass(loader: Any) -> Optional[dict[str, Any]]:
    """
    The position of a loader in a pass over its data that spans several epochs: the states of the random generators at
    the start of the pass, and the number of batches since then. `None` if the loader's epochs are whole passes.
    """
    if getattr(loader, "_batch_generator", None) is None:
        return None
    return {"start": loader.pass_start, "taken": loader.pass_taken}


def go_to_place(loader: Any, place: dict[str, Any]) -> None:
    """Moves a loader to a result of `place_in_pass`. It changes the states of the random generators."""
    set_random_state(place["start"])
    loader._batch_generator = loader._iter_batches()
    for _ in range(place["taken"]):
        next(loader._batch_generator)


PATCHES = (load_in_turns, remember_passes)
