"""Exit statuses and error messages of the command-line scripts."""

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

from scripts.measure.user_error import UserError


class Stopped(Exception):
    """The program was told to end."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, such as a cluster's. A library that handles Control-C, as Optuna does, so handles it too."""


def _terminate(*_: Any) -> None:
    # A second signal must not end the waiting for threads: the interpreter would go down under one that scores.
    signal.signal(signal.SIGTERM, _end_at_once)
    raise Terminated()


def _end_at_once(*_: Any) -> None:
    os._exit(128 + signal.SIGTERM)


def exit_status(run: Callable[[], Optional[int]], stopped: str = "stopped") -> int:
    """
    Calls `run` and returns the exit status: what `run` returned, or 0 for `None`; 2 after a `UserError`, whose sentence
    is printed; 130 after Control-C and 143 after SIGTERM, which print `stopped`. A second SIGTERM ends it
    at once.
    """
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        return run() or 0
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, Stopped) as error:
        print(stopped, file=sys.stderr)
        return 128 + (signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT)
    finally:
        signal.signal(signal.SIGTERM, previous)


def at_least_one(arguments: argparse.Namespace, *names: str) -> None:
    """Checks arguments that are numbers. Raises `UserError` if one of them is given and below 1."""
    for name in names:
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise UserError(f"--{name.replace('_', '-')} must be at least 1, not {value}.")


def check_folder(option: str, folder: Path) -> None:
    """
    Checks the path of a folder, which need not exist. Raises `UserError` if there cannot be such a folder, since it or
    one above it is a file.
    """
    for path in (folder, *folder.parents):
        if path.exists() and not path.is_dir():
            raise UserError(f"--{option}: {path} is a file, not a folder.")


def make_folder(option: str, folder: Path) -> None:
    """
    Makes a folder, if there is none, so that nothing is measured that cannot be written. Raises `UserError` if there
    cannot be such a folder, or no file can be made in it.
    """
    check_folder(option, folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(f"--{option}: {folder} cannot be written to ({error.strerror}).") from error


def check_file(option: str, path: Path) -> None:
    """
    Checks the path of a file, which need not exist. Raises `UserError` if there cannot be such a file, since it is a
    folder or one above it is a file.
    """
    if path.is_dir():
        raise UserError(f"--{option}: {path} is a folder, not a file.")
    check_folder(option, path.parent)


@contextmanager
def mistakes_of_the_library() -> Iterator[None]:
    """Turns seal's errors about a config or a file into `UserError`s; any other error passes unchanged."""
    from seal.allennlp.error_sentences import describe

    try:
        yield
    except UserError:
        raise
    except Exception as error:
        sentence = describe(error)
        if sentence is None:
            raise
        raise UserError(sentence) from error
