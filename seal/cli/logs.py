"""The console shows warnings and important messages; the log file of a run has everything."""

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

#: AllenNLP's warnings that repeat a setting of the config, or that every recovered run would show.
NO_NEWS = (
    "patience was set to None",
    "vocabulary serialization directory",
    "was found in both **extras and in params",
    "completed its entire epoch",
)


class Warnings(logging.Formatter):
    """Formats a warning as `warning: ...`, like the `error: ...` of `seal.cli.errors`."""

    def format(self, record: logging.LogRecord) -> str:
        kind = "" if record.levelno < logging.WARNING else f"{record.levelname.lower()}: "
        return kind + super().format(record)


class ForConsole(logging.Filter):
    """
    Selects the messages for the console: each warning once, although every epoch of every fold may repeat it, and
    messages that are logged with `extra={"news": True}`.
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
    """Progress bars without a terminal: a line every ten seconds, only in the `out.log` of the run."""

    def write(self, message: str) -> None:
        if allennlp_logging.FILE_FRIENDLY_LOGGING:  # The option --file-friendly-logging asks for lines.
            super().write(message)
        else:
            with redirect_stderr(io.StringIO()):
                super().write(message)


def log_quietly() -> None:
    """
    Sends warnings and important messages to standard error, and progress bars if it is a terminal. With
    `ALLENNLP_LOG_LEVEL` or `ALLENNLP_DEBUG`, AllenNLP logs in its own way. Lines that a full disk refuses are lost.
    """
    logging.raiseExceptions = False  # Python would print a traceback for each of these lines.
    if _logs_as_allennlp():
        # This import configures the log.
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
    """Restricts the console of a run to warnings and important messages; its `out.log` has everything."""
    original(*args, **kwargs)
    if _logs_as_allennlp():
        return
    for own in logging.getLogger().handlers:
        if type(own) is logging.StreamHandler:
            own.setStream(sys.stderr)
            own.setFormatter(Warnings())
            own.addFilter(ForConsole())
