"""
A user's mistake on the command line ends in one sentence on standard error and exit status 1, not in a
traceback. So does a command that is stopped, with status 130 (by Control-C) or 143 (by SIGTERM).

The sentence is `error: ...`. The traceback of a run that has begun goes to its `out.log`; set `SEAL_TRACEBACK=1` to see
it on the console too. Only the command has the hook (`seal.plugin`): a script or a notebook that imports `seal` keeps
Python's own. What the sentence says is in `error_sentences`.
"""

import functools
import logging
import multiprocessing
import os
import signal
import sys
from types import TracebackType
from typing import Optional

from allennlp.common import logging as allennlp_logging
from allennlp.common.util import SigTermReceived

from seal.allennlp.error_sentences import describe
from seal.allennlp.replacing import replace_once
from seal.files.whole_files import FULL

logger = logging.getLogger(__name__)

TRACEBACK_VARIABLE = "SEAL_TRACEBACK"


def _print(sentence: str) -> None:
    # A progress bar that the error cut short has left the cursor in the middle of a line.
    start = "\n" if sys.stderr.isatty() else ""
    print(f"{start}{sentence}", file=sys.stderr, flush=True)


def _end(number: int, error: BaseException) -> None:
    """Ends the command that a signal has stopped, as a shell expects it."""
    # What continues it is known where it was stopped (`seal.allennlp.run_folder`).
    _print("; ".join(["stopped", *getattr(error, "remedies", ())]))
    for worker in multiprocessing.active_children():  # Python would wait for them.
        worker.terminate()
    # The interpreter takes this from a hook as the exit status.
    raise SystemExit(128 + number)


def _tell(kind: type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> bool:
    """Prints the sentence for a user's mistake. Returns `False` where there is none and the traceback is needed."""
    if os.environ.get(TRACEBACK_VARIABLE, "0") not in ("", "0"):
        return False
    if isinstance(error, (KeyboardInterrupt, SigTermReceived)):
        _end(signal.SIGINT if isinstance(error, KeyboardInterrupt) else signal.SIGTERM, error)
    sentence = describe(error)
    if sentence is None:
        return False
    record = logger.makeRecord(
        logger.name, logging.CRITICAL, __file__, 0, "Uncaught exception", (), (kind, error, trace)
    )
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.FileHandler):
            handler.handle(record)
    _print(f"error: {sentence}")
    return True


def quiet_on_a_full_disk() -> None:
    """Lines of a log that a full disk does not take are lost; Python would print a traceback for each of them."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.FileHandler):
            handler.handleError = functools.partial(_lose, handler)


def _lose(handler: logging.Handler, record: logging.LogRecord) -> None:
    error = sys.exc_info()[1]
    if not (isinstance(error, OSError) and error.errno in FULL):
        logging.Handler.handleError(handler, record)


def _put_on_top() -> None:
    previous = sys.excepthook
    if getattr(previous, "tells_user_errors", False):
        return

    def excepthook(kind, error, trace) -> None:
        if not _tell(kind, error, trace):
            previous(kind, error, trace)

    excepthook.tells_user_errors = True
    sys.excepthook = excepthook


def install() -> None:
    """
    Installs a hook for uncaught exceptions that prints the sentence, or calls the previous hook where there is none.
    `allennlp train` sets its own hook when it opens its logs (`allennlp.common.logging.prepare_global_logging`), after
    which ours is installed again. Safe to call twice.
    """

    def prepare_global_logging(original, *args, **kwargs) -> None:
        original(*args, **kwargs)
        quiet_on_a_full_disk()
        _put_on_top()

    _put_on_top()
    replace_once(allennlp_logging, "prepare_global_logging", prepare_global_logging)
