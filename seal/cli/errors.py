"""
Ends a command after a user's mistake with one line on standard error, `error: ...`, and exit status 1. A stopped
command prints `stopped` and has exit status 130 (Control-C) or 143 (SIGTERM).

The line replaces the traceback, which goes to the `out.log` of a run, and with `SEAL_TRACEBACK=1` to the console.
`seal.allennlp.error_sentences` makes the sentences.
"""

import functools
import logging
import multiprocessing
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from allennlp.common.util import SigTermReceived

from seal.allennlp.error_sentences import describe

logger = logging.getLogger(__name__)

TRACEBACK_VARIABLE = "SEAL_TRACEBACK"


def in_sentences(function: Callable) -> Callable:
    """Decorator: if an error is a user's mistake, the function prints its sentence and ends with the exit status."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            result = function(*args, **kwargs)
            sys.stdout.flush()  # When the process ends, an error would print a traceback.
            return result
        except (KeyboardInterrupt, SigTermReceived) as error:
            if _traceback_is_wanted():
                raise
            _stop(error)
        except Exception as error:
            if isinstance(error, BrokenPipeError) and _reader_is_gone():
                drop_output()
                raise SystemExit(1) from error
            sentence = None if _traceback_is_wanted() else describe(error)
            if sentence is None:
                raise
            _keep_traceback(error)
            _print(f"error: {sentence}")
            try:
                sys.stdout.flush()
            except OSError:  # The disk is full, as the sentence says.
                drop_output()
            raise SystemExit(1) from error

    return called


def _traceback_is_wanted() -> bool:
    return os.environ.get(TRACEBACK_VARIABLE, "0") not in ("", "0")


def _stop(error: BaseException) -> NoReturn:
    """Ends a command that a signal has stopped, with the exit status that shells expect."""
    # `seal train` adds how to continue the run.
    _print("; ".join(["stopped", *getattr(error, "remedies", ())]))
    for worker in multiprocessing.active_children():  # Python would wait for them.
        worker.terminate()
    raise SystemExit(128 + (signal.SIGINT if isinstance(error, KeyboardInterrupt) else signal.SIGTERM)) from error


def _reader_is_gone() -> bool:
    """Whether the reader of standard output has had enough, as `head` has after its lines."""
    poll = select.poll()
    poll.register(sys.stdout, 0)  # A closed pipe is reported without being asked for.
    return bool(poll.poll(0))


def drop_output() -> None:
    """Drops what is left for standard output, which Python would flush when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print(sentence: str) -> None:
    # A progress bar that the error cut short has left the cursor in the middle of a line.
    start = "\n" if sys.stderr.isatty() else ""
    print(f"{start}{sentence}", file=sys.stderr, flush=True)


def _keep_traceback(error: Exception) -> None:
    """Writes the traceback to the log of the run, if there is one."""
    exc_info = (type(error), error, error.__traceback__)
    record = logger.makeRecord(logger.name, logging.CRITICAL, __file__, 0, "Uncaught exception", (), exc_info)
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.FileHandler):
            handler.handle(record)
