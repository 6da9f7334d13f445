import json
import logging
import os
from typing import Any, Dict, Optional, Tuple

import torch
import torch.distributed as dist
from allennlp.data import TensorDict
from allennlp.training import GradientDescentTrainer
from allennlp.training.trainer import TrainerCheckpoint

from seal.common.workers import of_all_workers
from seal.metrics import Monitors
from seal.training.random_streams import (
    RandomStream,
    random_state,
    set_random_state,
    set_torch_state,
    torch_state,
)

logger = logging.getLogger(__name__)


class ResumableTrainer(GradientDescentTrainer):
    """
    AllenNLP's trainer, with a `--recover` that leads to the same result: a run that was killed at any batch
    and recovered ends with the weights and metrics of one that was not, bit for bit on CPU.

    To what AllenNLP keeps, a checkpoint adds of every worker its random states and the means it has logged in
    the epoch and before. What a finished epoch needed is never computed again.

    Not restored: the order of instances that several loading processes (`num_workers`) hand over as they
    come, and the place in a pass over the data that `batches_per_epoch` lets span several epochs.

    A subclass says in `training_loss` what a batch does, and keeps further random streams in `self._streams`.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        if self.cuda_device.type == "cuda":
            # AllenNLP does so in distributed runs alone, and the generator that is kept is the current GPU's.
            torch.cuda.set_device(self.cuda_device)
        self._streams: Dict[str, RandomStream] = {}
        self._losses = Monitors()
        # The latest value of every metric of training: AllenNLP goes on reporting those of earlier epochs.
        self._latest: Dict[str, float] = {}
        # The generators as they were before the epoch's first batch: they order its data.
        self._epoch_start: Optional[Dict[str, Any]] = None
        # What the checkpoint says of this worker, until the data loader has caught up with it.
        self._recovered: Optional[Dict[str, Any]] = None

    # Training.

    def training_loss(self, batch: TensorDict) -> torch.Tensor:
        """The loss of a batch with its graph; the loop backpropagates it and updates."""
        raise NotImplementedError

    def batch_outputs(self, batch: TensorDict, for_training: bool) -> Dict[str, torch.Tensor]:
        if not for_training:
            return super().batch_outputs(batch, for_training=False)
        self._catch_up()
        loss = self.training_loss(batch)
        self._losses.add("loss", float(loss.detach()))
        return {"loss": loss}

    def _train_epoch(self, epoch: int) -> Dict[str, float]:
        if self._epochs_completed < self._start_after_epochs_completed:
            return {}  # Nothing of a finished epoch is needed: the checkpoint holds the generators' states.
        if self._recovered is not None:
            set_random_state(self._recovered["epoch_start"])
        self._epoch_start = random_state()
        metrics = super()._train_epoch(epoch)
        # Of an epoch that was all done when the run was killed, AllenNLP reports nothing.
        self._catch_up()
        if "loss" not in metrics:
            metrics.update(self.model.get_metrics(reset=True))
        # AllenNLP's own mean leaves out the batches from before the run was killed.
        metrics.update(self._losses.means(reset=True))
        self._latest.update(metrics)
        return dict(self._latest)

    def _try_train(self) -> Tuple[Dict[str, Any], int]:
        metrics, epoch = super()._try_train()
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
            # Between epochs there is nothing to catch up with: what the data loader draws comes after the epoch's
            # start.
            "torch": torch_state() if mid_epoch else None,
            "streams": {name: stream.state for name, stream in self._streams.items()},
            "monitors": self.model.monitors.state_dict(),
            "losses": self._losses.state_dict(),
            "latest": dict(self._latest),
        }
        # The primary worker writes for all, and each shuffles data and drops units of its own.
        workers = of_all_workers(mine)
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
        state = torch.load(paths[1], map_location="cpu")
        if "workers" not in state:
            raise RuntimeError(f"{paths[1]} is another trainer's.")
        workers, rank = state["workers"], dist.get_rank() if self._distributed else 0
        if len(workers) != (dist.get_world_size() if self._distributed else 1):
            logger.warning("The run had %d workers; with another number it is another run.", len(workers))
        self._recovered = workers[rank % len(workers)]
        self._restored(state)
        self.model.monitors.load_state_dict(self._recovered["monitors"])
        self._losses.load_state_dict(self._recovered["losses"])
        self._latest = dict(self._recovered["latest"])
        # The batches of the epoch in progress are counted again as they are passed over.
        self._total_batches_completed = state["total_batches_completed"] - state["batches_in_epoch_completed"]
        if self._scaler is not None and "scaler" in state:
            self._scaler.load_state_dict(state["scaler"])
        if average is not None:
            # AllenNLP puts copies in the place of the model's parameters, and averages those from then on.
            average._parameters = parameters
            for kept in (average._shadows, average._backups):
                kept.update((name, kept[name].to(parameter.device)) for name, parameter in parameters)
        if self._metric_tracker.should_stop_early():
            self._num_epochs = self._start_after_epochs_completed
        finished_epoch = state["epochs_completed"] > 0 and state["batches_in_epoch_completed"] == 0
        if finished_epoch and self._metric_tracker.is_best_so_far():
            self._keep_as_best()

    def _restored(self, state: Dict[str, Any]) -> None:
        """Called with the trainer's state in the checkpoint, for what a subclass has added to it."""

    def _catch_up(self) -> None:
        """Called where the data loader stands as it did when the checkpoint was written."""
        if self._recovered is not None:
            if self._recovered["torch"] is not None:
                set_torch_state(self._recovered["torch"])
            for name, stream in self._streams.items():
                stream.state = self._recovered["streams"][name]
            self._recovered = None

    def _keep_as_best(self) -> None:
        """Saves the best weights, as AllenNLP does after the epoch's checkpoint; a kill may come between."""
        self._best_model_filename = os.path.join(self._serialization_dir, "best.th")
        if not self._primary:
            return
        if os.path.exists(self._best_model_filename):
            # It may be a hard link to a checkpoint, not to be written over.
            os.remove(self._best_model_filename)
        if self._moving_average is not None:
            self._moving_average.assign_average_value()
        self._save_model_state(self._best_model_filename)
        if self._moving_average is not None:
            self._moving_average.restore()
