"""
A worker of a distributed run that is killed or frozen, or a node that never comes, ends the run on every node in one
sentence, within `distributed.timeout` seconds. Processes that load data end with the one that has started them.
"""

import atexit
import ctypes
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Optional

import torch.distributed as dist
from allennlp.commands import train
from allennlp.common.checks import ConfigurationError
from allennlp.data.data_loaders import MultiProcessDataLoader
from torch.distributed import distributed_c10d

from seal.allennlp.replacing import replace_once
from seal.common.setting_checks import check_range

#: How long a worker waits for the others, in seconds.
DEFAULT_TIMEOUT = 120.0

# By this variable the command tells its workers, which it spawns.
_VARIABLE = "SEAL_WORKER_TIMEOUT"
# The exchanges of a run in which a worker waits for the others.
_EXCHANGES = ("all_gather_object", "all_reduce", "barrier", "broadcast", "broadcast_object_list")


class Pulse:
    """
    Tells the other workers that this one is alive, and which host it is on, as long as its process runs; and ends it
    where the command that started it was killed, so that it does not write beside the run that goes on.

    # Parameters

    store : `torch.distributed.Store`
        That of the group of workers.
    rank, size : `int`
    seconds : `float`
        The time between two beats.
    """

    def __init__(self, store: Any, rank: int, size: int, seconds: float) -> None:
        self._store, self._size, self._seconds = store, size, seconds
        self._store.set(f"host-{rank}", socket.gethostname())
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, args=(f"beat-{rank}",), daemon=True)
        self._thread.start()
        # A thread that is inside the store when Python ends aborts the process, whose work was done.
        atexit.register(self.end)

    def _beat(self, key: str) -> None:
        command = multiprocessing.parent_process()
        try:
            self._store.add(key, 1)
            while not self._ended.wait(self._seconds):
                if command is not None and not command.is_alive():
                    # PyTorch sends SIGINT then, which what a shell script starts with `&` ignores.
                    os.kill(os.getpid(), signal.SIGKILL)
                self._store.add(key, 1)
        except RuntimeError:
            pass  # The first worker, which has the store, has ended.

    def end(self) -> None:
        """No more beats; waits for one that is under way."""
        self._ended.set()
        self._thread.join(timeout=5)

    def lost(self) -> str:
        """The workers whose pulse has stopped, with their hosts, in words; empty if all have one."""
        try:
            before = self._beats()
            time.sleep(3 * self._seconds)
            after = self._beats()
            found = [rank for rank in range(self._size) if before[rank] == after[rank]]
            return " and ".join(f"worker {rank} on {self._store.get(f'host-{rank}').decode()}" for rank in found)
        except RuntimeError:
            return "worker 0, which the others meet at,"

    def _beats(self) -> list[int]:
        return [self._store.add(f"beat-{rank}", 0) for rank in range(self._size)]


_pulse: Optional[Pulse] = None


def take_the_timeout() -> None:
    """
    Patches: `allennlp.commands.train.train_model`.

    Symptom: AllenNLP has no setting for how long workers wait; PyTorch's default is half an hour.

    Can go: when AllenNLP has one.
    """

    def train_model(original: Callable, params: Any, *args: Any, **kwargs: Any) -> Any:
        workers = params.params.get("distributed")
        seconds = workers.pop("timeout", DEFAULT_TIMEOUT) if isinstance(workers, dict) else DEFAULT_TIMEOUT
        if type(seconds) not in (int, float):
            raise ConfigurationError(f'config key "distributed.timeout" must be a number of seconds, found {seconds!r}')
        check_range('config key "distributed.timeout"', seconds, least=1)
        os.environ[_VARIABLE] = str(seconds)
        try:
            return original(params, *args, **kwargs)
        finally:
            # What else this process starts has no such workers.
            os.environ.pop(_VARIABLE, None)

    replace_once(train, "train_model", train_model)


def name_lost_workers() -> None:
    """
    Patches: `torch.distributed.init_process_group`, the exchanges `all_gather_object`, `all_reduce`, `barrier`,
    `broadcast` and `broadcast_object_list`, and `wait` of those that go on meanwhile.

    Symptom: where a worker is killed, the others end in a traceback about a connection; where one is frozen, or a node
    does not come, they wait for half an hour. None says which worker it was.

    Can go: when PyTorch's errors name the rank and the host.
    """

    def init_process_group(original: Callable, *args: Any, **kwargs: Any) -> Any:
        global _pulse
        if _VARIABLE not in os.environ:
            return original(*args, **kwargs)
        seconds = float(os.environ[_VARIABLE])
        kwargs.setdefault("timeout", timedelta(seconds=seconds))
        rank, size = kwargs.get("rank"), kwargs.get("world_size")
        try:
            result = original(*args, **kwargs)
        except RuntimeError as error:  # `DistStoreError` is one.
            raise ConfigurationError(
                f"worker {rank} on {socket.gethostname()}: not all of {size} workers met at "
                f"{kwargs.get('init_method')} within {seconds:g} s (distributed.timeout); start the command on every "
                "node, each with its --node-rank"
            ) from error
        _pulse = Pulse(distributed_c10d._get_default_store(), rank, size, min(1.0, seconds / 10))
        return result

    def exchange(original: Callable, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except RuntimeError as error:
            if _pulse is None:
                raise
            lost = _pulse.lost()
            seconds = os.environ[_VARIABLE]
            what = f"{lost} has ended or is frozen" if lost else f"another worker took more than {seconds} s to answer"
            raise ConfigurationError(
                f"{what} (seen by worker {dist.get_rank()} on {socket.gethostname()}); --recover continues the run"
            ) from error

    replace_once(dist, "init_process_group", init_process_group)
    for name in _EXCHANGES:
        replace_once(dist, name, exchange)
    replace_once(dist.Work, "wait", exchange)


def end_data_workers() -> None:
    """
    Patches: `allennlp.data.data_loaders.MultiProcessDataLoader._instance_worker` (and `_batch_worker`).

    Symptom: where one data-loading worker fails, AllenNLP ends the others by SIGTERM. They inherit the command's
    handler, which raises an error, so each prints its own traceback beside the one sentence that names the mistake. And
    a worker looks for the process that has started it only before it hands out an instance, so that where that process
    is killed, one that waits for a lock, or reads, stays for ever.

    Can go: when AllenNLP's workers reset the handler, and end with that process.
    """

    def worker(original, self, *args, **kwargs):
        # Only in a worker process: in the main process this would remove the command's own handler.
        if multiprocessing.parent_process() is not None:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            _end_with_the_parent(getattr(self, "start_method", "fork"))
        return original(self, *args, **kwargs)

    replace_once(MultiProcessDataLoader, "_instance_worker", worker)
    replace_once(MultiProcessDataLoader, "_batch_worker", worker)


# Of `prctl` of Linux, in `linux/prctl.h`.
_PR_SET_PDEATHSIG = 1


def _end_with_the_parent(start_method: str, seconds: float = 1.0) -> None:
    """
    From now on this process is killed where the one that has started it has ended, in whatever way: by a thread, which
    looks after it, and where it can be by Linux, as a thread does not run while other code keeps Python's lock.
    """
    parent = multiprocessing.parent_process()
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


PATCHES = (take_the_timeout, name_lost_workers, end_data_workers)
