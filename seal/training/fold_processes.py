"""
Nets of folds in processes of their own, while the run trains its own net: how many at a time, what they report, and how
they end.
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
    Forked processes, one for each fold, that take turns beside this process. A context manager: the processes start at
    its beginning, and none outlives it.

    A fork has all that this process has in memory, so that nothing is sent or read again. Log records and errors of a
    process come back through a pipe, which `listen` reads: it handles the records here, so that one process alone
    writes to the console and to the run's log, and raises the error.

    # Parameters

    train : `Callable[[int], None]`
        Trains and scores a fold; it is called in the process of that fold.
    folds : `dict[int, str]`
        Each fold with its name in messages.
    jobs : `int`
        How many processes train at a time, this one included; at least 2.
    threads : `int`
        Of each process.
    """

    def __init__(self, train: Callable[[int], None], folds: dict[int, str], jobs: int, threads: int) -> None:
        self._train, self._names, self._threads = train, folds, threads
        self._context = multiprocessing.get_context("fork")
        self._turns = self._context.Semaphore(jobs - 1)
        # The processes that have not ended, with their folds, by the ends of their pipes.
        self._running: dict[Any, tuple[Any, int]] = {}

    def __enter__(self) -> "FoldProcesses":
        for fold in self._names:
            here, there = self._context.Pipe(duplex=False)
            process = self._context.Process(target=self._work, args=(fold, there), name=self._names[fold])
            process.start()
            there.close()  # So that the pipe ends with the process.
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
        Handles what the processes have reported, and waits up to some seconds for a report; without end if `None`.

        # Raises

        The error that has ended a process, or `ConfigurationError` if the system has killed one.
        """
        ready: list[Any] = wait(list(self._running), seconds)
        while ready:
            for connection in ready:
                self._receive(connection)
            ready = wait(list(self._running), 0)

    def finish(self) -> None:
        """Gives the turn of this process to the others, and waits for them; raises what `listen` does."""
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

        # OpenMP of a forked process waits for ever for the threads that its main thread had before the fork.
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        for error in failed:
            connection.send(_portable(error))
            raise SystemExit(1)


class _Handler(QueueHandler):
    """Sends records through a pipe, with the fold before the logger's name."""

    def __init__(self, connection: Any, fold: str) -> None:
        super().__init__(connection)
        self._fold = fold

    def enqueue(self, record: logging.LogRecord) -> None:
        record.name = f"{self._fold}: {record.name}"
        self.queue.send(record)  # type: ignore[attr-defined]


def _report_to(connection: Connection, fold: str) -> None:
    """From now on log records of this process go to a pipe, and there are no progress bars."""
    logging.getLogger().handlers = [_Handler(connection, fold)]
    bars._tqdm = partial(bars._tqdm, disable=True)


def _portable(error: BaseException) -> ExceptionWithTraceback:
    """An error that can be sent; where it arrives, its cause is the text of its traceback here."""
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
    """For the run's own trainer: reads the reports of the processes after each batch."""

    def __init__(self, processes: FoldProcesses) -> None:
        super().__init__("")
        self._processes = processes

    def on_batch(self, *args: Any, **kwargs: Any) -> None:
        self._processes.listen()


class EpochLines(TrainerCallback):
    """Logs a line after each epoch, where there is no progress bar."""

    def __init__(self, net: str) -> None:
        super().__init__("")
        self._net = net

    def on_epoch(
        self, trainer: Any, metrics: dict[str, Any], epoch: int, is_primary: bool = True, **kwargs: Any
    ) -> None:
        names = [name for _, name in trainer._metric_tracker.tracked_metrics]
        scores = [
            f", validation {name} {metrics[f'validation_{name}']:.4g}"
            for name in names
            if f"validation_{name}" in metrics
        ]
        message = "%s: epoch %d of %d%s"
        logger.info(message, self._net, epoch + 1, trainer._num_epochs, "".join(scores), extra={"news": True})


def jobs_and_threads(nets: int, jobs_setting: Optional[int], model: torch.nn.Module) -> tuple[int, int]:
    """
    How many of a number of nets are trained at a time, and the threads of each. This process's threads, which are all
    cores unless `OMP_NUM_THREADS` says otherwise, are divided among the nets. Their number decides the rounding of
    sums, so it depends on the settings and the machine alone; what memory is free changes only how many nets are
    trained at a time.

    # Parameters

    nets : `int`
    jobs_setting : `int`, optional
        The number that a user has set.
    model : `torch.nn.Module`
        One of the nets.

    # Raises

    `ConfigurationError` if a user has set several and the nets are on a GPU, which a forked process cannot use.
    """
    budget = torch.get_num_threads()
    on_cpu = all(parameter.device.type == "cpu" for parameter in model.parameters())
    if jobs_setting is None:
        # On macOS what computes matrix products does not work in a fork.
        jobs = min(nets, budget) if on_cpu and sys.platform == "linux" else 1
        return _that_fit(jobs, model), budget // jobs
    if jobs_setting > 1 and not on_cpu:
        raise ConfigurationError("trainer.fold_jobs: nets on a GPU are trained one after the other; leave it out.")
    jobs = min(nets, jobs_setting)
    return jobs, max(1, budget // jobs)


def _that_fit(jobs: int, model: torch.nn.Module) -> int:
    """As many of the jobs as there is memory for."""
    # What this process has, which is shared until it changes; gradients and the two moments of Adam.
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
    """Bytes that processes can still take: those of the machine or, if fewer, of its container (cgroup, version 2)."""
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
