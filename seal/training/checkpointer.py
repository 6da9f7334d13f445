import logging
import zipfile
from typing import Optional

import torch
from allennlp.training import Checkpointer, Trainer

logger = logging.getLogger(__name__)


@Checkpointer.register("resumable")
class ResumableCheckpointer(Checkpointer):
    """
    AllenNLP's checkpointer, except that it skips a checkpoint that a kill left half-written, or that the disk has
    damaged since, and recovers from the one before it; and that all workers count alike the batches since the last one.
    It is the default of every config that names no other type. Its parameters are AllenNLP's.
    """

    def maybe_save_checkpoint(
        self, trainer: Trainer, num_epochs_completed: int, num_batches_in_epoch_completed: int
    ) -> bool:
        saved = super().maybe_save_checkpoint(trainer, num_epochs_completed, num_batches_in_epoch_completed)
        if saved:
            # AllenNLP notes it where a file is written, but all workers take part in a checkpoint and wait for others.
            self._last_save_num_epochs_completed = num_epochs_completed
            self._last_save_num_batches_in_epoch_completed = num_batches_in_epoch_completed
        return saved

    def find_latest_checkpoint(self) -> Optional[tuple[str, str]]:
        for checkpoint in sorted(self._find_all_checkpoints(), reverse=True):
            paths = self._model_state_path(*checkpoint), self._training_state_path(*checkpoint)
            if all(map(_is_whole, paths)):
                return paths
            logger.warning("passing over the incomplete or damaged checkpoint %s", paths[0])
            if self._is_primary:
                # AllenNLP does not overwrite files, so the damaged one would stay.
                self._remove_checkpoint(*checkpoint)
        return None


def _is_whole(path: str) -> bool:
    """
    Whether a file is as torch has written it: a zip archive, whose directory comes last and which has a checksum of
    each of its parts. PyTorch itself does not look at these.
    """
    try:
        torch.load(path, map_location="cpu", mmap=True)
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    # Whatever a damaged file raises.
    except Exception:
        return False


# So that `trainer.checkpointer: {save_every_num_batches: 100}`, without a type, is this one, too.
Checkpointer.default_implementation = "resumable"
