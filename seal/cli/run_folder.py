"""
The folder of a run: its lock against a second run, its files before the training (config, commit, versions, machine and
day), and the archive at the end.
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
    A context in which no other run can use the folder. It locks a hidden file beside the folder, because `--force`
    empties the folder. The system releases the lock when the process ends, also after a kill.

    # Raises

    `ConfigurationError` if another process has locked the folder.
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
        # If the folder cannot be written either, `fill_folder` raises the error.
        logger.warning(
            "%s: it is not locked, as %s cannot be written or locked (%s); no other run may write here",
            folder,
            path,
            error.strerror,
        )
    try:
        yield
    finally:
        # The file is removed while it is locked. If someone has removed it before, the present file may belong to
        # another run. A run that has succeeded must not fail here.
        with suppress(OSError):
            if lock.is_locked and path.read_text(encoding="utf-8", errors="replace") == mine:
                path.unlink()
        lock.release()


def check_folder(folder: str, config: dict[str, Any], recover: bool, force: bool) -> None:
    """
    Checks that a run with this config can begin in the folder, or continue there.

    # Raises

    `ConfigurationError` if it cannot.
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
    """The keys that only one of two configs has, and the keys whose values differ."""
    return [key for key in sorted({**one, **other}) if not (key in one and key in other and one[key] == other[key])]


def fill_folder(folder: str, config: dict[str, Any], force: bool) -> None:
    """Creates the folder, or empties it with `force`, and writes the config and the environment of the training."""
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
    """The commit, versions and machine of a training that begins now, and the time."""
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
    """The commit of this package's folder, and whether files have changed since; an installed package has none."""

    def git(*arguments: str) -> str:
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        command = ["git", "-C", folder, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    try:
        # An installed package may lie inside another repository.
        if not git("ls-files", "version.py"):
            return "unknown: not in a repository"
        changed = git("status", "--porcelain", "--untracked-files=no", ".")
        return git("rev-parse", "--short=12", "HEAD") + (", with changes" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown: no git"


def sort_namespaces(folder: str) -> None:
    """
    Sorts the file of namespaces without padding, so that it is the same in each run. AllenNLP writes it in the order of
    a set, which differs between processes.
    """
    path = os.path.join(folder, "vocabulary", NAMESPACE_PADDING_FILE)
    with open(path, encoding="utf-8") as file:
        lines = sorted(file)
    with atomic_write(path) as draft, open(draft, "w", encoding="utf-8") as file:
        file.writelines(lines)


def write_archive(folder: str, include: Optional[list[str]]) -> str:
    """
    Packs the model of the best epoch, with digests of its files, as `model.tar.gz`, and returns the path. If it fails,
    no incomplete archive is left.
    """
    path, digests = (os.path.join(folder, name) for name in (ARCHIVE, DIGESTS))
    with atomic_write(path) as draft:
        try:
            with with_filename(digests), open(digests, "w", encoding="utf-8") as file:
                file.writelines(f"{digest}  {name}\n" for name, digest in digests_of(folder, "best.th").items())
            archive_model(folder, archive_path=draft, include_in_archive=[*(include or ()), DIGESTS])
        finally:
            with suppress(FileNotFoundError):
                os.remove(digests)  # In the folder, the weights have another name than in the digests.
    return path
