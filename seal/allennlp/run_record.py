"""
What a run leaves beside AllenNLP's files: what it was trained with (the commit, the versions, the machine and the day);
and an archive that is whole or not there.
"""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

import allennlp
import torch
from allennlp.commands import train
from allennlp.training import util

from seal.allennlp.replacing import replace_once
from seal.allennlp.safe_archives import DIGESTS, digests_of
from seal.files.runs import ARCHIVE, ENVIRONMENT, trainings
from seal.files.whole_files import naming, replacing
from seal.version import VERSION


def environment() -> dict[str, str]:
    """What a training that begins now is run with."""
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
        folder = os.path.dirname(os.path.abspath(__file__))
        command = ["git", "-C", folder, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    try:
        # Around an installed copy there may be a repository of something else.
        if not git("ls-files", "run_record.py"):
            return "unknown: not in a repository"
        changed = git("status", "--porcelain", "--untracked-files=no", ".")
        return git("rev-parse", "--short=12", "HEAD") + (", with changes" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown: no git"


def record_the_environment() -> None:
    """
    Patches: `allennlp.training.util.create_serialization_dir`.

    Symptom: a run's folder says which settings it was trained with, but not by which code, versions and machine.

    Can go: when AllenNLP's `meta.json` has them.
    """

    def create_serialization_dir(original: Callable, params: Any, serialization_dir: Any, *args: Any, **kwargs: Any):
        original(params, serialization_dir, *args, **kwargs)
        folder = os.fspath(serialization_dir)
        records = [*trainings(folder), environment()]
        with open(os.path.join(folder, ENVIRONMENT), "w", encoding="utf-8") as file:
            json.dump(records, file, indent=2)

    replace_once(util, "create_serialization_dir", create_serialization_dir)


def write_whole_archives() -> None:
    """
    Patches: `archive_model`, where `allennlp.commands.train` calls it.

    Symptom: a run that is killed while it writes its `model.tar.gz` is left with a part of it, as if it had ended; and
    who is given one cannot see that what is in it is what was trained.

    Can go: when AllenNLP writes digests into the archive, and the archive under another name first.
    """

    def archive_model(original: Callable, serialization_dir: Any, *args: Any, **kwargs: Any) -> str:
        path, digests = (os.path.join(serialization_dir, name) for name in (ARCHIVE, DIGESTS))
        more = kwargs.pop("include_in_archive", None) or ()
        weights = args[0] if args else kwargs.get("weights", "best.th")
        with replacing(path) as draft:
            try:
                with naming(digests), open(digests, "w", encoding="utf-8") as file:
                    of = digests_of(os.fspath(serialization_dir), weights)
                    file.writelines(f"{digest}  {name}\n" for name, digest in of.items())
                original(serialization_dir, *args, archive_path=draft, include_in_archive=[*more, DIGESTS], **kwargs)
            finally:
                with suppress(FileNotFoundError):
                    os.remove(digests)  # They are of the archive; in the folder the weights have another name.
        return path

    replace_once(train, "archive_model", archive_model)


PATCHES = (record_the_environment, write_whole_archives)
