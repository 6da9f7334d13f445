"""
Two runs in one folder would destroy each other: the second is refused while the first lives.
"""

import fcntl
import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from allennlp.commands import train
from allennlp.common.checks import ConfigurationError

from seal.allennlp.replacing import replace_once

logger = logging.getLogger(__name__)


@contextmanager
def locked(folder: str) -> Iterator[None]:
    """
    Keeps other runs out of a folder. The lock is that of a hidden file beside the folder (`--force` empties the folder
    itself), and the system ends it with the process, however that ends.

    # Raises

    `ConfigurationError` if another process has it.
    """
    folder = os.path.realpath(folder)
    path = os.path.join(os.path.dirname(folder), f".{os.path.basename(folder)}.lock")
    try:
        descriptor = _acquired(folder, path)
    except OSError as error:
        # If the folder cannot be written either, that is told where it is made.
        descriptor = None
        logger.warning(
            "%s: it is not locked, as %s cannot be written or locked (%s); no other run may write here",
            folder,
            path,
            error.strerror,
        )
    try:
        yield
    finally:
        if descriptor is not None:
            # Removed while it is locked: who opens it now sees that it is not this file any more. Where someone has
            # removed it before, it may be that of another run; and a run that has succeeded does not fail here.
            with suppress(OSError):
                if _is_at(path, descriptor):
                    os.unlink(path)
            os.close(descriptor)


def _acquired(folder: str, path: str) -> int:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 200).decode(errors="replace") or "another process"
            os.close(descriptor)
            raise ConfigurationError(
                f"-s {folder}: {holder} trains there; wait until it ends, stop it, or name another folder."
            ) from None
        except OSError:
            os.close(descriptor)
            raise
        if _is_at(path, descriptor):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())
            return descriptor
        # Its holder removed it in between.
        os.close(descriptor)


def _is_at(path: str, descriptor: int) -> bool:
    """Whether the path is that of the open file."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def keep_other_runs_out() -> None:
    """
    Patches: `allennlp.commands.train.train_model`.

    Symptom: a second run with `--recover` or `--force` in the folder of a living one destroys what that has written.

    Can go: when AllenNLP locks the folder.
    """

    def train_model(original: Callable, params: Any, serialization_dir: Any, *args: Any, **kwargs: Any) -> Any:
        # Further nodes of a distributed run share the folder with the first one.
        if kwargs.get("node_rank", args[2] if len(args) > 2 else 0):
            return original(params, serialization_dir, *args, **kwargs)
        with locked(os.fspath(serialization_dir)):
            return original(params, serialization_dir, *args, **kwargs)

    replace_once(train, "train_model", train_model)


PATCHES = (keep_other_runs_out,)
