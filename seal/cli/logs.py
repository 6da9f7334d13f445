"""What the command `seal` says on the console, and what goes to the log of a run alone."""

import io
import logging
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stderr
from typing import Any

from allennlp.common import logging as allennlp_logging
from allennlp.common import tqdm as bars

from seal.allennlp.replacing import replace_once

#: Warnings of AllenNLP about what the config says, and about what every run that goes on finds.
NO_NEWS = (
    "patience was set to None",
    "vocabulary serialization directory",
    "was found in both **extras and in params",
    "completed its entire epoch",
)


class Warnings(logging.Formatter):
    """`warning: ...`, as `seal.cli.errors` writes `error: ...`."""

    def format(self, record: logging.LogRecord) -> str:
        kind = "" if record.levelno < logging.WARNING else f"{record.levelname.lower()}: "
        return kind + super().format(record)


class ForConsole(logging.Filter):
    """
    What a training tells on the console: each warning once, though every epoch of every fold may give it, and what a
    logger is given with `extra={"news": True}`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return getattr(record, "news", False)
        text = record.getMessage()
        again = record.levelno == logging.WARNING and text in self._said
        self._said.add(text)
        return not again and not any(words in str(record.msg) for words in NO_NEWS)


class _BarsInLog(bars.TqdmToLogsWriter):
    """Progress bars where standard error is no terminal: every ten seconds a line in the run's `out.log` alone."""

    def write(self, message: str) -> None:
        if allennlp_logging.FILE_FRIENDLY_LOGGING:  # They are asked for, by an option of AllenNLP's.
            super().write(message)
        else:
            with redirect_stderr(io.StringIO()):
                super().write(message)


def log_quietly() -> None:
    """
    Warnings and news on standard error, and progress bars if it is a terminal. `ALLENNLP_LOG_LEVEL` and
    `ALLENNLP_DEBUG` are for AllenNLP's own log, as ever. Lines that a full disk does not take are lost.
    """
    logging.raiseExceptions = False  # Python would print a traceback for each of these lines.
    if _logs_as_allennlp():
        # Not imported otherwise: it configures the log.
        import allennlp.__main__  # noqa: F401
    else:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(Warnings())
        logging.basicConfig(level=logging.WARNING, handlers=[handler])
        logging.getLogger("filelock").setLevel(logging.WARNING)
        if not sys.stderr.isatty():
            bars.TqdmToLogsWriter = _BarsInLog  # type: ignore[misc]
    replace_once(allennlp_logging, "prepare_global_logging", _prepare_global_logging)


def _logs_as_allennlp() -> bool:
    return any(os.environ.get(name) for name in ("ALLENNLP_LOG_LEVEL", "ALLENNLP_DEBUG"))


def _prepare_global_logging(original: Callable, *args: Any, **kwargs: Any) -> None:
    """The run's `out.log` has everything; the console, warnings and news alone, on standard error."""
    original(*args, **kwargs)
    if _logs_as_allennlp():
        return
    for own in logging.getLogger().handlers:
        if type(own) is logging.StreamHandler:
            own.setStream(sys.stderr)
            own.setFormatter(Warnings())
            own.addFilter(ForConsole())
