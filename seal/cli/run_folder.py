"""
The folder of a run. Two runs in one would destroy each other, so the second is refused while the first lives. A config
that is refused leaves nothing in it; a training leaves what it was trained with (the commit, the versions, the machine
and the day) and an archive that is whole or not there.
"""

import json
import logging
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Optional

import allennlp
import torch
from allennlp.common import Params
from allennlp.common.meta import META_NAME, Meta
from allennlp.data.vocabulary import NAMESPACE_PADDING_FILE
from allennlp.models.archival import CONFIG_NAME, archive_model
from filelock import FileLock, Timeout

from seal.allennlp.safe_archives import DIGESTS, digests_of
from seal.files.atomic_files import atomic_write, with_filename
from seal.files.runs import ARCHIVE, ENVIRONMENT, trainings
from seal.registry import ConfigurationError
from seal.version import VERSION

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
    path = Path(os.path.dirname(folder), f".{os.path.basename(folder)}.lock")
    mine = f"process {os.getpid()} on {socket.gethostname()}"
    lock = FileLock(path, timeout=0, fallback_to_soft=False)
    try:
        lock.acquire()
        path.write_text(mine, encoding="utf-8")
    except Timeout:
        holder = path.read_text(encoding="utf-8", errors="replace") or "another process"
        raise ConfigurationError(
            f"-s {folder}: {holder} trains there; wait until it ends, stop it, or name another folder."
        ) from None
    except OSError as error:
        # If the folder cannot be written either, that is said where it is made.
        logger.warning(
            "%s: it is not locked, as %s cannot be written or locked (%s); no other run may write here",
            folder,
            path,
            error.strerror,
        )
    try:
        yield
    finally:
        # Removed while it is locked, which who waits for it notices. Where someone has removed it before, it may be
        # that of another run; and a run that has succeeded does not fail here.
        with suppress(OSError):
            if lock.is_locked and path.read_text(encoding="utf-8", errors="replace") == mine:
                path.unlink()
        lock.release()


def check_folder(folder: str, config: dict[str, Any], recover: bool, force: bool) -> None:
    """
    # Raises

    `ConfigurationError` if a run with this config cannot begin in the folder, or cannot be continued there.
    """
    path = os.path.join(folder, CONFIG_NAME)
    if recover and force:
        raise ConfigurationError("--recover continues a run, and --force starts anew; name one of the two")
    if os.path.isfile(folder):
        raise ConfigurationError(f"-s {folder}: this is a file, and a run needs a folder; name another")
    if recover and not os.path.exists(path):
        raise ConfigurationError(f"--recover: there is no run to continue in {folder}, which has no {CONFIG_NAME}")
    if recover:
        keys = _differing(Params(config).as_flat_dict(), Params.from_file(path).as_flat_dict())
        if keys:
            named = ", ".join(f'"{key}"' for key in keys[:3])
            further = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
            raise ConfigurationError(
                f"--recover: the config must be that of the run, {path}; it differs in {named}{further}"
            )
    elif not force and os.path.isdir(folder) and os.listdir(folder):
        raise ConfigurationError(
            f"-s {folder}: the folder is not empty; --force empties it and starts anew, --recover continues a run that "
            "was stopped"
        )


def _differing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """The keys of two configs that one of them lacks, or whose values differ."""
    return [key for key in sorted({**one, **other}) if not (key in one and key in other and one[key] == other[key])]


def fill_folder(folder: str, config: dict[str, Any], force: bool) -> None:
    """Makes the folder, or empties it with `force`, and writes what is known before the training."""
    if force and os.path.exists(folder):
        shutil.rmtree(folder)
    os.makedirs(folder, exist_ok=True)
    records = [*trainings(folder), environment()]
    with with_filename(folder):
        Params(config).to_file(os.path.join(folder, CONFIG_NAME))
        with open(os.path.join(folder, ENVIRONMENT), "w", encoding="utf-8") as file:
            json.dump(records, file, indent=2)
        Meta.new().to_file(os.path.join(folder, META_NAME))


def environment() -> dict[str, str]:
    """The environment of a training that begins now: commit, versions, machine and day."""
    device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "no GPU"
    return {
        "begun": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(),
        "seal": VERSION,
        "allennlp": allennlp.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": f"{sys.platform} {platform.machine()}, {os.cpu_count()} cores, {device}",
    }


def _commit() -> str:
    """The commit of this package's folder, and whether its files differ; an installed copy has none."""

    def git(*arguments: str) -> str:
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        command = ["git", "-C", folder, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    try:
        # Around an installed copy there may be a repository of something else.
        if not git("ls-files", "version.py"):
            return "unknown: not in a repository"
        changed = git("status", "--porcelain", "--untracked-files=no", ".")
        return git("rev-parse", "--short=12", "HEAD") + (", with changes" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown: no git"


def sort_namespaces(folder: str) -> None:
    """
    AllenNLP writes the namespaces without padding in the order of a set, which differs from process to process; in
    their order, the files of two runs are the same.
    """
    path = os.path.join(folder, "vocabulary", NAMESPACE_PADDING_FILE)
    with open(path, encoding="utf-8") as file:
        lines = sorted(file)
    with atomic_write(path) as draft, open(draft, "w", encoding="utf-8") as file:
        file.writelines(lines)


def write_archive(folder: str, include: Optional[list[str]]) -> str:
    """
    Packs the model of the best epoch, with digests of what it is made of, as `model.tar.gz`; nothing is left of one
    that is not written to its end. Returns its path.
    """
    path, digests = (os.path.join(folder, name) for name in (ARCHIVE, DIGESTS))
    with atomic_write(path) as draft:
        try:
            with with_filename(digests), open(digests, "w", encoding="utf-8") as file:
                file.writelines(f"{digest}  {name}\n" for name, digest in digests_of(folder, "best.th").items())
            archive_model(folder, archive_path=draft, include_in_archive=[*(include or ()), DIGESTS])
        finally:
            with suppress(FileNotFoundError):
                os.remove(digests)  # They are of the archive; in the folder the weights have another name.
    return path
