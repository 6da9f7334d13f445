"""
What a run leaves beside AllenNLP's files: what it was trained with (the commit, the versions, the machine and the day),
and a model card.
"""

import json
import logging
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
from allennlp.common.checks import ConfigurationError
from allennlp.training import util

from seal.files.whole_files import naming, replacing
from seal.patches.replacing import replace_once
from seal.patches.safe_archives import DIGESTS, digests_of
from seal.version import VERSION

logger = logging.getLogger(__name__)

#: The file in a run's folder: a list with an entry for each training, as a killed run is continued by another one.
ENVIRONMENT = "environment.json"
#: The report of the run without figures and examples, in its folder and in its archive.
CARD = "model_card.md"


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


def trainings(folder: str) -> list[dict[str, str]]:
    """The record of each training of a run; empty for a run that is older than these records."""
    try:
        with open(os.path.join(folder, ENVIRONMENT), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return []


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


def add_a_model_card() -> None:
    """
    Patches: `archive_model`, where `allennlp.commands.train` calls it.

    Symptom: who is given a `model.tar.gz` cannot see what it was trained on and how well it does, nor that what is in
    it is what was trained; and a run that is killed while it writes one is left with a part of it, as if it had ended.

    Can go: when AllenNLP writes its own model card and digests into the archive, and the archive under another name
    first.
    """

    def archive_model(original: Callable, serialization_dir: Any, *args: Any, **kwargs: Any) -> str:
        from seal.commands.report import card

        more = list(kwargs.pop("include_in_archive", None) or ())
        try:
            text = card(os.fspath(serialization_dir))
            with open(os.path.join(serialization_dir, CARD), "w", encoding="utf-8") as file:
                file.write(text)
            more.append(CARD)
        except (ConfigurationError, OSError) as error:  # The model itself must not be lost for it.
            logger.warning("There is no model card: %s", error)
        path, digests = (os.path.join(serialization_dir, name) for name in ("model.tar.gz", DIGESTS))
        weights = args[0] if args else kwargs.get("weights", "best.th")
        with replacing(path) as draft:
            try:
                with naming(digests), open(digests, "w", encoding="utf-8") as file:
                    file.write(digests_of(os.fspath(serialization_dir), weights))
                original(serialization_dir, *args, archive_path=draft, include_in_archive=[*more, DIGESTS], **kwargs)
            finally:
                with suppress(FileNotFoundError):
                    os.remove(digests)  # They are of the archive; in the folder the weights have another name.
        return path

    replace_once(train, "archive_model", archive_model)


PATCHES = (record_the_environment, add_a_model_card)
