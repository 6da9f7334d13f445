"""
Trains the nets of folds in parallel processes while the run trains its own net, and forwards their logs and errors.
"""

import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection, wait
from multiprocessing.pool import ExceptionWithTraceback  # type: ignore[attr-defined]
from typing import Any, Optional

import torch
from allennlp.common import tqdm as bars
from allennlp.common.checks import ConfigurationError
from allennlp.training import TrainerCallback

from seal.allennlp.loading_order import end_with_the_parent

logger = logging.getLogger(__name__)


class FoldProcesses:
    """
    A context manager with a forked process for each fold, of which at most `jobs - 1` train at the same time. The
    processes start at its beginning and end with it.

    A fork shares the memory of this process, so that no data are sent or read again. Log records and errors of a
    process come back through a pipe. `listen` reads it: it logs the records in this process, which alone writes to the
    console and to the run's log, and raises the error.

    # Parameters

    train : `Callable[[int], None]`
        Trains and scores a fold; it is called in the process of that fold.
    folds : `dict[int, str]`
        The name of each fold, for messages.
    jobs : `int`
        The number of processes that train at the same time, including this one; at least 2.
    threads : `int`
        The number of threads of each process.
    """

    def __init__(self, train: Callable[[int], None], folds: dict[int, str], jobs: int, threads: int) -> None:
        self._train, self._names, self._threads = train, folds, threads
        self._context = multiprocessing.get_context("fork")
        self._turns = self._context.Semaphore(jobs - 1)
        # The running processes with their folds, by the connections to them.
        self._running: dict[Any, tuple[Any, int]] = {}

    def __enter__(self) -> "FoldProcesses":
        for fold in self._names:
            here, there = self._context.Pipe(duplex=False)
            process = self._context.Process(target=self._work, args=(fold, there), name=self._names[fold])
            process.start()
            there.close()  # The pipe then ends with the process.
            self._running[here] = process, fold
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        for process, _ in self._running.values():
            process.terminate()
        for connection, (process, _) in self._running.items():
            process.join()
            connection.close()

    def listen(self, seconds: Optional[float] = 0.0) -> None:
        """
        Handles the reports of the processes. Waits up to `seconds` for a report; `None`: without limit.

        # Raises

        The error that has ended a process, or `ConfigurationError` if the system has killed one.
        """
        ready: list[Any] = wait(list(self._running), seconds)
        while ready:
            for connection in ready:
                self._receive(connection)
            ready = wait(list(self._running), 0)

    def finish(self) -> None:
        """Lets another process train instead of this one, and waits for all; raises the errors of `listen`."""
        self._turns.release()
        while self._running:
            self.listen(None)

    def _receive(self, connection: Connection) -> None:
        try:
            report = connection.recv()
        except EOFError:
            process, fold = self._running.pop(connection)
            connection.close()
            process.join()
            if process.exitcode:
                raise ConfigurationError(_how_it_ended(self._names[fold], process.exitcode)) from None
            return
        if isinstance(report, BaseException):
            raise report
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")  # The line takes the place of a progress bar, which is drawn anew below it.
        logging.getLogger().handle(report)

    # In the process of a fold.

    def _work(self, fold: int, connection: Connection) -> None:
        # Control-C reaches all processes of a terminal; the first one ends the others.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        end_with_the_parent("fork")
        _report_to(connection, self._names[fold])
        failed: list[BaseException] = []

        def work() -> None:
            torch.set_num_threads(self._threads)
            try:
                with self._turns:
                    self._train(fold)
            except BaseException as error:
                failed.append(error)

        # In a forked process, OpenMP waits forever for the threads that the main thread had before the fork.
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        for error in failed:
            connection.send(_portable(error))
            raise SystemExit(1)


class _Handler(QueueHandler):
    """Sends log records through a pipe, with the name of the fold before the logger's name."""

    def __init__(self, connection: Any, fold: str) -> None:
        super().__init__(connection)
        self._fold = fold

    def enqueue(self, record: logging.LogRecord) -> None:
        record.name = f"{self._fold}: {record.name}"
        self.queue.send(record)  # type: ignore[attr-defined]


def _report_to(connection: Connection, fold: str) -> None:
    """Redirects the log records of this process to a pipe, and disables progress bars."""
    logging.getLogger().handlers = [_Handler(connection, fold)]
    bars._tqdm = partial(bars._tqdm, disable=True)


def _portable(error: BaseException) -> ExceptionWithTraceback:
    """Makes an error that can be pickled. In the receiving process its cause is the text of the traceback here."""
    traceback = error.__traceback__
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return ExceptionWithTraceback(error, traceback)


def _how_it_ended(fold: str, status: int) -> str:
    how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"has ended with status {status}"
    return (
        f"{fold}: its process {how}; the system kills one where memory runs out. --recover continues the run; with "
        "OMP_NUM_THREADS=1 in the environment it trains one net at a time."
    )


class FoldReports(TrainerCallback):
    """A callback of the run's own trainer that reads the reports of the processes after each batch."""

    def __init__(self, processes: FoldProcesses) -> None:
        super().__init__("")
        self._processes = processes

    def on_batch(self, *args: Any, **kwargs: Any) -> None:
        self._processes.listen()


class EpochLines(TrainerCallback):
    """A callback that logs a line after each epoch, in place of a progress bar."""

    def __init__(self, net: str) -> None:
        super().__init__("")
        self._net = net

    def on_epoch(
        self, trainer: Any, metrics: dict[str, Any], epoch: int, is_primary: bool = True, **kwargs: Any
    ) -> None:
        names = [name for _, name in trainer.metric_tracker.tracked_metrics]
        scores = [
            f", validation {name} {metrics[f'validation_{name}']:.4g}"
            for name in names
            if f"validation_{name}" in metrics
        ]
        message = "%s: epoch %d of %d%s"
        logger.info(message, self._net, epoch + 1, trainer.num_epochs, "".join(scores), extra={"news": True})


def jobs_and_threads(nets: int, jobs_setting: Optional[int], model: torch.nn.Module) -> tuple[int, int]:
    """
    The number of nets that are trained in parallel, and the number of threads of each. The threads of this process (all
    cores, or `OMP_NUM_THREADS`) are divided among the nets. The number of threads changes the rounding of sums;
    therefore it depends on the settings and the machine only. Free memory limits only the number of parallel nets.

    # Parameters

    nets : `int`
        The number of nets to train.
    jobs_setting : `int`, optional
        The setting `fold_jobs`.
    model : `torch.nn.Module`
        One of the nets.

    # Raises

    `ConfigurationError` if `fold_jobs` is above 1 and the nets are on a GPU, which a forked process cannot use.
    """
    budget = torch.get_num_threads()
    on_cpu = all(parameter.device.type == "cpu" for parameter in model.parameters())
    if jobs_setting is None:
        # On macOS the library for matrix products does not work in a forked process.
        jobs = min(nets, budget) if on_cpu and sys.platform == "linux" else 1
        return _that_fit(jobs, model), budget // jobs
    if jobs_setting > 1 and not on_cpu:
        raise ConfigurationError("trainer.fold_jobs: nets on a GPU are trained one after the other; leave it out.")
    jobs = min(nets, jobs_setting)
    return jobs, max(1, budget // jobs)


def _that_fit(jobs: int, model: torch.nn.Module) -> int:
    """The number of jobs, reduced to those that fit in memory."""
    # The memory of this process, which is shared until it changes, and the weights, gradients and moments of Adam.
    weights = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    needed, free = _resident_memory() + 4 * weights, _free_memory()
    fit = max(1, min(jobs, 1 + free // needed))
    if fit < jobs:
        message = "trainer.fold_jobs: %d nets at a time, not %d: each may take %.1f GB more, and %.1f GB are free"
        logger.warning(message, fit, jobs, needed / 1e9, free / 1e9)
    return fit


def _resident_memory() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _free_memory() -> int:
    """The free memory in bytes: of the machine or, if less, of its container (cgroup, version 2)."""
    with open("/proc/meminfo", encoding="ascii") as file:
        lines = dict(line.split(":") for line in file)
    free = int(lines["MemAvailable"].split()[0]) * 1024
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            most = int(file.read())  # "max" where there is no limit.
        with open("/sys/fs/cgroup/memory.stat", encoding="ascii") as file:
            used = dict(line.split() for line in file)
    except (OSError, ValueError):
        return free
    return max(0, min(free, most - int(used["anon"]) - int(used.get("kernel", 0))))
