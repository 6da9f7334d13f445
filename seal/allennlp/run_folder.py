"""
What a run leaves in its folder: nothing if its config is refused, and otherwise the same bytes each time. Also what is
said of a full disk.
"""

import inspect
import os
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Optional

import torch
from allennlp.commands import train
from allennlp.common import util as common_util
from allennlp.common.util import SigTermReceived
from allennlp.data import Vocabulary
from allennlp.models.archival import CONFIG_NAME
from torch.multiprocessing import ProcessExitedException

from seal.allennlp.error_sentences import BEGUN, describe
from seal.allennlp.replacing import replace_once
from seal.files.whole_files import naming


def end_early_in_order() -> None:
    """
    Patches: `train_model` and `archive_model` of `allennlp.commands.train`, and `run` and `finish` of its `TrainModel`.

    Symptom: a config that is refused leaves a folder with logs and a vocabulary, so that the corrected command needs
    `--force`. A run that is stopped from outside does not say what continues it.

    Can go: when AllenNLP writes into the folder only once all is built, and says what continues a run.
    """

    def train_model(original, params, serialization_dir, *args, **kwargs):
        given = inspect.signature(original).bind(params, serialization_dir, *args, **kwargs).arguments
        recover, force, node_rank, dry_run = (given.get(name) for name in ("recover", "force", "node_rank", "dry_run"))
        existed = os.path.exists(serialization_dir)
        mine = not recover and not node_rank and (force or not existed or not os.listdir(serialization_dir))
        try:
            return original(params, serialization_dir, *args, **kwargs)
        except (KeyboardInterrupt, SigTermReceived) as error:
            if not dry_run and os.path.exists(os.path.join(serialization_dir, CONFIG_NAME)):
                option = "" if recover else " with --recover in the place of --force" if force else " with --recover"
                error.remedies = [f"the same command{option} continues the run"]
            raise
        except Exception as error:
            if mine and describe(error) is not None and not _has_begun(error):
                # Handlers of logs go on with the files that they have open.
                shutil.rmtree(serialization_dir, ignore_errors=True)
                if existed:
                    os.makedirs(serialization_dir, exist_ok=True)
            raise

    def trained(original: Callable, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except Exception as error:
            error.add_note(BEGUN)
            raise

    replace_once(train, "train_model", train_model)
    for owner, name in ((train.TrainModel, "run"), (train.TrainModel, "finish"), (train, "archive_model")):
        replace_once(owner, name, trained)


def _has_begun(error: Exception) -> bool:
    """Whether training had begun when the error was raised, as it may have where a worker was killed."""
    told = "\n".join([str(error), *getattr(error, "__notes__", ())])
    return isinstance(error, ProcessExitedException) or BEGUN in told


def name_files_on_a_full_disk() -> None:
    """
    Patches: `torch.save`, and `dump_metrics` of `allennlp.common.util`.

    Symptom: weights or metrics that cannot be written end in a traceback, which names neither the file nor the disk.

    Can go: when torch's and AllenNLP's errors say what is full.
    """

    def save(original: Callable, what: Any, file: Any, *args: Any, **kwargs: Any) -> None:
        with naming(os.fspath(file)) if isinstance(file, (str, os.PathLike)) else nullcontext():
            original(what, file, *args, **kwargs)

    def dump_metrics(original: Callable, file_path: Optional[str], *args: Any, **kwargs: Any) -> None:
        with naming(file_path or ""):
            original(file_path, *args, **kwargs)

    replace_once(torch, "save", save)
    replace_once(common_util, "dump_metrics", dump_metrics)


def write_namespaces_in_order() -> None:
    """
    Patches: `allennlp.data.vocabulary.Vocabulary.save_to_files`.

    Symptom: the file of namespaces without padding has the order of a set, which differs from process to process. On a
    full disk, the error names no file.

    Can go: when AllenNLP sorts them, and its error says what is full.
    """

    def save_to_files(original: Callable, self: Vocabulary, directory: str) -> None:
        names = self._non_padded_namespaces
        # In the original's own writing, which holds the lock: a worker may be reading these files.
        self._non_padded_namespaces = sorted(names)
        try:
            with naming(os.fspath(directory)):
                original(self, directory)
        finally:
            self._non_padded_namespaces = names

    replace_once(Vocabulary, "save_to_files", save_to_files)


PATCHES = (end_early_in_order, name_files_on_a_full_disk, write_namespaces_in_order)
