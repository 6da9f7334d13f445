import inspect
import json
import logging
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional

import torch
import torch.distributed as dist
from allennlp.data import DataLoader, TensorDict
from allennlp.training import Checkpointer, GradientDescentTrainer, Trainer, TrainerCallback
from allennlp.training.trainer import TrainerCheckpoint

from seal.allennlp.loading_order import go_to_place, place_in_pass
from seal.common.random_states import RandomStream, random_state, set_random_state, set_torch_state, torch_state
from seal.metrics import Monitors
from seal.metrics.workers import gathered
from seal.training.micro_batches import GroupedLoader

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


# How AllenNLP begins the names of what an epoch of training measured.
_TRAINING = "training_"


class ResumableTrainer(GradientDescentTrainer):
    """
    AllenNLP's trainer, with a `--recover` that leads to the same result: a run that was killed at any batch and
    recovered ends with the weights and metrics of an uninterrupted one, bit for bit on CPU.

    In addition to what AllenNLP saves, a checkpoint has each worker's random states and the means that it has logged
    in this epoch. Nothing of a finished epoch is computed again.

    The record of an epoch has only what was measured in it; AllenNLP's keeps the values of earlier ones, such as the
    loss of a player that has stopped being trained.

    A subclass computes the loss of a batch in `training_loss`, and keeps further random streams in `self._streams`.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        unknown = set(settings) - set(inspect.signature(GradientDescentTrainer.__init__).parameters)
        if unknown:  # AllenNLP would ignore it.
            raise TypeError(f"{type(self).__name__}: unexpected keyword argument '{min(unknown)}'")
        super().__init__(*args, **settings)
        if self.cuda_device.type == "cuda":
            # AllenNLP does so only in distributed runs, and the generator whose state is saved is the current GPU's.
            torch.cuda.set_device(self.cuda_device)
        # This worker's number among those of all nodes; AllenNLP's `_rank` is that on its node.
        self._worker = dist.get_rank() if self._distributed else 0
        self._streams: dict[str, RandomStream] = {}
        self._losses = Monitors()
        # What the latest epoch of training measured.
        self._latest: dict[str, float] = {}
        # The last one, since the others read what it removes.
        self._callbacks.append(_ForgetTraining(self._serialization_dir))
        # The generators' states before the epoch's first batch: they determine the order of its data.
        self._epoch_start: Optional[dict[str, Any]] = None
        # Where it is in a pass over the data that spans several epochs.
        self._epoch_place: Optional[dict[str, Any]] = None
        # This worker's part of the checkpoint, until the data loader has caught up with it.
        self._recovered: Optional[dict[str, Any]] = None

    # Training.

    def training_loss(self, batch: TensorDict) -> torch.Tensor:
        """The loss of a batch with its graph; the loop backpropagates it and updates."""
        raise NotImplementedError

    def batch_outputs(self, batch: TensorDict, for_training: bool) -> dict[str, torch.Tensor]:
        if not for_training:
            return super().batch_outputs(batch, for_training=False)
        self._catch_up()
        loss = self.training_loss(batch)
        self._losses.add("loss", loss)
        return {"loss": loss}

    def _train_epoch(self, epoch: int) -> dict[str, float]:
        if self._epochs_completed < self._start_after_epochs_completed:
            return {}  # Nothing of a finished epoch is needed: the checkpoint holds the generators' states.
        if self._recovered is not None:
            place = self._recovered.get("epoch_place")
            if place is not None:
                go_to_place(self._source(), place)
            set_random_state(self._recovered["epoch_start"])
        self._epoch_start, self._epoch_place = random_state(), place_in_pass(self._source())
        metrics = super()._train_epoch(epoch)
        # If all batches of the epoch were done when the run was killed, AllenNLP reports nothing.
        self._catch_up()
        if "loss" not in metrics:
            metrics.update(self.model.get_metrics(reset=True))
        # AllenNLP's own mean leaves out the batches from before the run was killed.
        metrics.update(self._losses.means(reset=True))
        self._latest = metrics
        return metrics

    def _try_train(self) -> tuple[dict[str, Any], int]:
        metrics, epoch = super()._try_train()
        metrics.update((f"{_TRAINING}{name}", value) for name, value in self._latest.items())
        if "epoch" not in metrics and self._start_after_epochs_completed > 0:
            # The run was killed after its last epoch: its metrics are only in that epoch's file.
            last = f"metrics_epoch_{self._start_after_epochs_completed - 1}.json"
            path = os.path.join(self._serialization_dir, last)
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    metrics = {**json.load(file), **metrics}
        return metrics, epoch

    # Checkpoints.

    def get_checkpoint_state(self) -> Optional[TrainerCheckpoint]:
        mid_epoch = self._batches_in_epoch_completed > 0
        mine = {
            "epoch_start": self._epoch_start if mid_epoch else random_state(),
            "epoch_place": self._epoch_place if mid_epoch else place_in_pass(self._source()),
            # Between epochs there is nothing to catch up with: the data loader draws only after the epoch's start.
            "torch": torch_state() if mid_epoch else None,
            "streams": {name: stream.state for name, stream in self._streams.items()},
            "monitors": self.model.monitors.state_dict(),
            "losses": self._losses.state_dict(),
        }
        # The primary worker writes for all workers, and each has its own shuffling and dropout.
        workers = gathered(mine)
        checkpoint = super().get_checkpoint_state()
        if checkpoint is not None:
            checkpoint.trainer_state["workers"] = workers
            checkpoint.trainer_state["total_batches_completed"] = self._total_batches_completed
            if self._scaler is not None:
                checkpoint.trainer_state["scaler"] = self._scaler.state_dict()
        return checkpoint

    def _maybe_restore_checkpoint(self) -> None:
        average = self._moving_average
        parameters = None if average is None else average._parameters
        super()._maybe_restore_checkpoint()
        paths = None if self._checkpointer is None else self._checkpointer.find_latest_checkpoint()
        if paths is None:
            return
        if self._best_model_filename is not None:
            # The run's folder may have been moved, or be named from another working directory.
            name = os.path.basename(self._best_model_filename)
            self._best_model_filename = os.path.join(self._serialization_dir, name)
        state = torch.load(paths[1], map_location="cpu")
        if "workers" not in state:
            raise RuntimeError(f"{paths[1]} is another trainer's.")
        workers = state["workers"]
        if len(workers) != (dist.get_world_size() if self._distributed else 1):
            logger.warning("The run had %d workers; with another number it is another run.", len(workers))
        self._recovered = workers[self._worker % len(workers)]
        self._restored(state)
        self.model.monitors.load_state_dict(self._recovered["monitors"])
        self._losses.load_state_dict(self._recovered["losses"])
        # The batches of the epoch in progress are counted again as they are skipped.
        self._total_batches_completed = state["total_batches_completed"] - state["batches_in_epoch_completed"]
        if self._scaler is not None and "scaler" in state:
            self._scaler.load_state_dict(state["scaler"])
        if average is not None:
            # AllenNLP replaces the model's parameters by copies, and would average those from then on.
            average._parameters = parameters
            for kept in (average._shadows, average._backups):
                kept.update((name, kept[name].to(parameter.device)) for name, parameter in parameters)
        if self._metric_tracker.should_stop_early():
            self._num_epochs = self._start_after_epochs_completed
        finished_epoch = state["epochs_completed"] > 0 and state["batches_in_epoch_completed"] == 0
        if finished_epoch and self._metric_tracker.is_best_so_far():
            self._keep_as_best()

    def _source(self) -> DataLoader:
        """The loader of single batches."""
        return self.data_loader.loader if isinstance(self.data_loader, GroupedLoader) else self.data_loader

    def _restored(self, state: dict[str, Any]) -> None:
        """Called with the checkpoint's trainer state, for a subclass to restore what it has added."""

    def _catch_up(self) -> None:
        """Restores the random states; called once the data loader is where it was when the checkpoint was written."""
        if self._recovered is not None:
            if self._recovered["torch"] is not None:
                set_torch_state(self._recovered["torch"])
            for name, stream in self._streams.items():
                stream.state = self._recovered["streams"][name]
            self._recovered = None

    def _keep_as_best(self) -> None:
        """Saves the best weights. AllenNLP does so after the epoch's checkpoint, and a kill may come in between."""
        self._best_model_filename = os.path.join(self._serialization_dir, "best.th")
        if not self._primary:
            return
        if os.path.exists(self._best_model_filename):
            # It may be a hard link to a checkpoint, which must not be overwritten.
            os.remove(self._best_model_filename)
        with self.averaged_weights():
            self._save_model_state(self._best_model_filename)

    @contextmanager
    def averaged_weights(self) -> Iterator[None]:
        """Meanwhile the model has the weights that are validated and kept: the averages, with a `moving_average`."""
        average = self._moving_average
        if average is not None:
            average.assign_average_value()
        try:
            yield
        finally:
            if average is not None:
                average.restore()


class _ForgetTraining(TrainerCallback):
    """Removes what an epoch of training measured from AllenNLP's record, once written: the next epoch adds to it."""

    def on_epoch(self, trainer, metrics, epoch, is_primary=True, **kwargs):
        for name in [name for name in metrics if name.startswith(_TRAINING) and name != "training_duration"]:
            del metrics[name]
