import logging
import os
import zipfile
from typing import Optional, Tuple

from allennlp.training import Checkpointer

logger = logging.getLogger(__name__)


@Checkpointer.register("resumable")
class ResumableCheckpointer(Checkpointer):
    """
    AllenNLP's checkpointer, except that it skips a checkpoint that a kill left half-written and recovers from the one
    before it. It is the default of every config that names no other type. Its parameters are AllenNLP's.
    """

    def find_latest_checkpoint(self) -> Optional[Tuple[str, str]]:
        for checkpoint in sorted(self._find_all_checkpoints(), reverse=True):
            paths = self._model_state_path(*checkpoint), self._training_state_path(*checkpoint)
            # torch writes zip archives, whose directory comes last, so that a truncated file is not a valid archive.
            if all(os.path.exists(path) and zipfile.is_zipfile(path) for path in paths):
                return paths
            logger.warning("passing over the incomplete checkpoint %s", paths[0])
            if self._is_primary:
                # AllenNLP does not overwrite files, so the truncated one would stay.
                self._remove_checkpoint(*checkpoint)
        return None


# So that `trainer.checkpointer: {save_every_num_batches: 100}`, without a type, is this one, too.
Checkpointer.default_implementation = "resumable"
