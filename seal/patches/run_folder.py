"""
What a run leaves in its folder: nothing if its config is refused, and the same bytes each time.
"""

import codecs
import os
import shutil
from collections.abc import Callable
from typing import Any

from allennlp.commands import train
from allennlp.data.vocabulary import NAMESPACE_PADDING_FILE, Vocabulary
from torch.multiprocessing import ProcessRaisedException

from seal.patches.error_sentences import describe, frames_of
from seal.patches.replacing import replace_once


def leave_nothing_of_a_refused_config() -> None:
    """
    Patches: `allennlp.commands.train.train_model`.

    Symptom: a config that is refused leaves a folder with logs and a vocabulary, so that the corrected command needs
    `--force`.

    Can go: when AllenNLP writes into the folder only once all is built.
    """

    def train_model(original: Callable, params: Any, serialization_dir: Any, *args: Any, **kwargs: Any) -> Any:
        recover = kwargs.get("recover", bool(args) and args[0])
        force = kwargs.get("force", len(args) > 1 and args[1])
        later_node = kwargs.get("node_rank", args[2] if len(args) > 2 else 0)
        existed = os.path.exists(serialization_dir)
        mine = not recover and not later_node and (force or not existed or not os.listdir(serialization_dir))
        try:
            return original(params, serialization_dir, *args, **kwargs)
        except Exception as error:
            if mine and describe(error) is not None and not _has_begun(error):
                # Handlers of logs go on with the files that they have open.
                shutil.rmtree(serialization_dir, ignore_errors=True)
                if existed:
                    os.makedirs(serialization_dir, exist_ok=True)
            raise

    replace_once(train, "train_model", train_model)


def _has_begun(error: BaseException) -> bool:
    """Whether training had begun when the error was raised."""
    if isinstance(error, ProcessRaisedException):
        return ", in run\n" in str(error)
    return any((module, name) == (train.__name__, "run") for module, name, _ in frames_of(error))


def write_namespaces_in_order() -> None:
    """
    Patches: `allennlp.data.vocabulary.Vocabulary.save_to_files`.

    Symptom: the file of namespaces without padding has the order of a set, which differs from process to process.

    Can go: when AllenNLP sorts them.
    """

    def save_to_files(original: Callable, self: Vocabulary, directory: str) -> None:
        original(self, directory)
        with codecs.open(os.path.join(directory, NAMESPACE_PADDING_FILE), "w", "utf-8") as file:
            file.writelines(f"{name}\n" for name in sorted(self._non_padded_namespaces))

    replace_once(Vocabulary, "save_to_files", save_to_files)


PATCHES = (leave_nothing_of_a_refused_config, write_namespaces_in_order)
