"""
The order of training data is the same in every run with the same seeds, and a run that is recovered goes on in it.
Processes that load data end with the one that has started them.
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
    A queue for each loading process, of which the reader takes one item after the other in turn, so that their order
    does not depend on which process is faster.
    """

    def __init__(self, queues: list[Any]) -> None:
        self.queues = queues
        self._waiting = list(queues)
        self._turn = 0
        self._taken: Optional[Any] = None

    def get(self) -> Any:
        """The next item; `(None, None)` at the end of each process."""
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
        """Reports the last item as done or, after the last item, the end to each process that waits for it."""
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
    """What is read of AllenNLP's loader of several processes here, and what is added to it."""

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

    Symptom: with `num_workers`, instances and batches come in the order in which the processes happen to give them,
    and spawned processes draw random numbers of their own, so that no two runs are the same. With `start_method:
    "spawn"`, `RuntimeError: A SemLock created in a fork context is being shared with a process in a spawn context`: the
    lock of progress bars is made in the default context. Where one process fails, AllenNLP ends the others by SIGTERM;
    they inherit the command's handler, which raises an error, so each prints its own traceback. And a process looks for
    the one that has started it only before it hands out an instance, so that where that is killed, one that waits for a
    lock, or reads, stays for ever.

    Can go: when AllenNLP's loader takes from its processes in turn, seeds them, and ends them in order.
    """

    def start(original: Callable, self: _Loader, queue: Any, context: Any) -> Any:
        if self.start_method == "fork" or type(self.reader).__module__.startswith("seal."):
            # Another process imports what its reader needs, and may know nothing of this patch.
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
    """A queue for each process; the loader reads them in turn, from the queue that it has made."""
    # Without a change of the generator's state.
    generator = random.Random()
    generator.setstate(random.getstate())
    loader.worker_seed = generator.getrandbits(31)
    size = max(1, queue._maxsize // loader.num_workers)
    queues = [context.JoinableQueue(maxsize=size) for _ in range(loader.num_workers)]
    turns = WorkerQueues(queues)
    queue.get, queue.task_done, queue.close = turns.get, turns.task_done, turns.close
    return queues


# Of `prctl` of Linux, in `linux/prctl.h`.
_PR_SET_PDEATHSIG = 1


def end_with_the_parent(start_method: str, seconds: float = 1.0) -> None:
    """
    From now on this process is killed where the one that has started it has ended, in whatever way: by a thread, which
    looks after it, and where it can be by Linux, as a thread does not run while other code keeps Python's lock.
    """
    parent = require(multiprocessing.parent_process(), "a process that has started this one")
    # Workers that are forked keep each other's ends of the pipe that `is_alive` looks at. A fork server is the parent
    # of its processes, and is none of ours.
    is_child = os.getppid() == parent.pid

    def watch() -> None:
        while (os.getppid() == parent.pid) if is_child else parent.is_alive():
            time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGKILL)

    # Linux tells of the end of the thread that has forked, which may end before its process, if it is not the main one.
    by_main_thread = threading.current_thread().name == "MainThread"
    if sys.platform == "linux" and start_method == "fork" and is_child and by_main_thread:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=watch, daemon=True).start()


def remember_passes() -> None:
    """
    Patches: `allennlp.data.data_loaders.MultiProcessDataLoader._iter_batches`.

    Symptom: with `batches_per_epoch` a pass over the data spans several epochs, and a run that is recovered begins a
    new one.

    Can go: when AllenNLP's checkpoints have the place in the pass.
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
    How far a loader is in a pass over its data that spans several epochs: the generators' states at its start, and the
    number of batches since. `None` for a loader whose epochs are whole passes.
    """
    if getattr(loader, "_batch_generator", None) is None:
        return None
    return {"start": loader.pass_start, "taken": loader.pass_taken}


def go_to_place(loader: Any, place: dict[str, Any]) -> None:
    """Brings a loader to the place that `place_in_pass` has returned. Changes the generators' states."""
    set_random_state(place["start"])
    loader._batch_generator = loader._iter_batches()
    for _ in range(place["taken"]):
        next(loader._batch_generator)


PATCHES = (load_in_turns, remember_passes)
