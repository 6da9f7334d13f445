"""
AllenNLP's training loop with public names for its state, and checkpoints from which a killed run continues exactly.
"""

import inspect
import json
import os
from typing import Any, Optional

import torch
import torch.distributed as dist
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.training import GradientDescentTrainer, TrainerCallback
from allennlp.training.callbacks import ShouldValidateCallback
from allennlp.training.metric_tracker import MetricTracker
from allennlp.training.trainer import TrainerCheckpoint

from seal.tasks.base import RunningMeans, SealModel
from seal.training.batch_groups import GroupedLoader
from seal.training.checkpoints import Averages, LastGoodCheckpoint, WorkerStates
from seal.training.distributed import ShardedOptimizer
from seal.two_player import RandomStream, TwoPlayerOptimizer

# AllenNLP's prefixes of the metrics of an epoch of training and of validation.
_TRAINING, VALIDATION = "training_", "validation_"
#: AllenNLP's name of the file with the best weights.
BEST = "best.th"


class ResumableTrainer(GradientDescentTrainer):
    """
    AllenNLP's loop over epochs and batches. A run that was killed at any batch and recovered ends with the weights and
    metrics of an uninterrupted one, bit for bit on CPU. The record of an epoch has only what was measured in it;
    AllenNLP's keeps values of earlier epochs, such as the loss of a player that is no longer trained.

    A subclass makes the updates of a batch. It adds its own state to `kept` and its random streams to `streams`.

    # Parameters

    group_size : `int`, optional (default = `1`)
        The number of batches that the loop takes at once.
    settings :
        As in AllenNLP's `GradientDescentTrainer`.

    # Raises

    `ConfigurationError` for the callback `should_validate_callback`.
    """

    model: SealModel
    # AllenNLP's loop calls `step`, `zero_grad` and the states of it.
    optimizer: TwoPlayerOptimizer  # type: ignore[assignment]
    _serialization_dir: str

    def __init__(
        self,
        model: SealModel,
        optimizer: TwoPlayerOptimizer,
        data_loader: DataLoader,
        group_size: int = 1,
        **settings: Any,
    ) -> None:
        unknown = set(settings) - set(inspect.signature(GradientDescentTrainer.__init__).parameters)
        if unknown:  # AllenNLP would ignore it.
            raise TypeError(f"{type(self).__name__}: unexpected keyword argument '{min(unknown)}'")
        # Not AllenNLP's groups: its loop would pass their batches on one at a time.
        loader = data_loader
        if group_size > 1:
            data_loader = GroupedLoader(loader, group_size)
        super().__init__(model, optimizer, data_loader, **settings)  # type: ignore[arg-type]
        if self.cuda_device.type == "cuda":
            # AllenNLP does so only in distributed runs, and the generator whose state is saved is the current GPU's.
            torch.cuda.set_device(self.cuda_device)
        elif self.cuda_device.type == "cpu":
            # AllenNLP's loader would look for tensors in all of the metadata, to leave them where they are.
            for each in (loader, self.validation_data_loader):
                if isinstance(each, MultiProcessDataLoader):
                    each.cuda_device = None
        # This worker's number among those of all nodes; AllenNLP's `_rank` is its number on its node.
        self.worker, workers = (dist.get_rank(), dist.get_world_size()) if self.is_distributed else (0, 1)
        #: The moving averages of the weights.
        self.averages = Averages(self._moving_average)
        #: The running means of an epoch's losses.
        self.losses = RunningMeans()
        #: The objects whose state is in a checkpoint, too.
        self.kept: list[Any] = []
        #: The random streams, by name, whose state is in a checkpoint, too.
        self.streams: dict[str, RandomStream] = {}
        self.last_good_checkpoint = LastGoodCheckpoint(self._checkpointer)
        means = {"monitors": model.monitors, "losses": self.losses}
        self._worker_states = WorkerStates(loader, self.streams, means, self.worker, workers)
        # AllenNLP's record of the last epoch, to which the next one adds.
        self._record: dict[str, Any] = {}
        if any(isinstance(callback, ShouldValidateCallback) for callback in self._callbacks):
            raise ConfigurationError(
                "trainer.callbacks: leave 'should_validate_callback' out: with it, AllenNLP keeps an epoch as the best "
                "that was not validated."
            )
        self._callbacks.append(_CountEpochs(self.folder))

    # What AllenNLP keeps private.

    @property
    def folder(self) -> str:
        """The run's folder."""
        return self._serialization_dir

    @property
    def is_distributed(self) -> bool:
        return self._distributed

    @property
    def is_primary(self) -> bool:
        """Whether this worker writes files."""
        return self._primary

    @property
    def num_epochs(self) -> int:
        return self._num_epochs

    @property
    def batches_completed(self) -> int:
        """The number of batches since the start of training."""
        return self._total_batches_completed

    @property
    def place(self) -> tuple[int, int]:
        """The number of completed epochs, and of completed batches of the epoch in progress."""
        return self._epochs_completed, self._batches_in_epoch_completed

    @property
    def recovered_place(self) -> tuple[int, int]:
        """The `place` of the checkpoint from which the run continues; `(0, 0)` in a run from the start."""
        return self._start_after_epochs_completed, self._start_after_batches_in_epoch_completed

    @property
    def validates_this_epoch(self) -> bool:
        return self._should_validate_this_epoch

    @property
    def validation_data_loader(self) -> Any:
        return self._validation_data_loader

    @property
    def metric_tracker(self) -> MetricTracker:
        """The tracker of the best epoch."""
        return self._metric_tracker

    @property
    def scheduler(self) -> Any:
        """The learning-rate scheduler; `None` without one."""
        return self._learning_rate_scheduler

    @property
    def scaler(self) -> Any:
        """The gradient scaler of mixed precision on a GPU; `None` otherwise."""
        return self._scaler

    def add_callback(self, callback: TrainerCallback, first: bool = False) -> None:
        """Adds a callback after the others, or before them."""
        self._callbacks.insert(0 if first else len(self._callbacks), callback)

    # The run.

    def train(self) -> dict[str, Any]:
        metrics = super().train()
        epochs, _ = self.recovered_place
        if "epoch" not in metrics and epochs > 0:
            # The run was killed after its last epoch: its metrics are only in that epoch's file.
            path = os.path.join(self.folder, f"metrics_epoch_{epochs - 1}.json")
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    metrics = {**json.load(file), **metrics}
        return metrics

    def _train_epoch(self, epoch: int) -> dict[str, float]:
        epochs, _ = self.place
        recovered_epochs, recovered_batches = self.recovered_place
        if epochs < recovered_epochs:
            return {}  # Nothing of a finished epoch is needed: the checkpoint holds the generators' states.
        self.epoch_begins(epoch, inside=epochs == recovered_epochs and recovered_batches > 0)
        for name in [name for name in self._record if name.startswith(_TRAINING) and name != "training_duration"]:
            del self._record[name]
        self._worker_states.begin_epoch()
        metrics = super()._train_epoch(epoch)
        # If all batches of the epoch were done when the run was killed, AllenNLP reports nothing.
        self._worker_states.catch_up()
        if "loss" not in metrics:
            metrics.update(self.model.get_metrics(reset=True))
        # AllenNLP's own mean leaves out the batches from before the run was killed.
        metrics.update(self.losses.means(reset=True))
        return metrics

    def epoch_begins(self, epoch: int, inside: bool) -> None:
        """
        A subclass prepares an epoch here, before its first batch is loaded. `inside` is True if the run continues from
        a checkpoint in the middle of this epoch.
        """

    def epoch_measured(self, metrics: dict[str, Any], epoch: int) -> None:
        """Receives AllenNLP's metrics of an epoch before its checkpoint is written."""
        self._record = metrics

    def batch_begins(self) -> None:
        """Restores the random states of a recovered run. Call it before the first update of a batch."""
        self._worker_states.catch_up()

    def batch_ends(self, loss: torch.Tensor) -> None:
        """Records the finite loss of a batch."""
        self.losses.add("loss", loss)
        # The weights of this place have given a finite loss.
        epochs, batches = self.place
        self.last_good_checkpoint.untried = (epochs, batches + 1)

    # Checkpoints.

    def get_checkpoint_state(self) -> Optional[TrainerCheckpoint]:
        optimizer, states = self.optimizer, None
        if isinstance(optimizer, ShardedOptimizer):
            states = optimizer.whole_state(self.is_primary)
        workers = self._worker_states.gathered(mid_epoch=self.place[1] > 0)
        checkpoint = super().get_checkpoint_state()
        if checkpoint is not None:
            state = checkpoint.trainer_state
            state.update(workers=workers, total_batches_completed=self.batches_completed)
            for part in self.kept:
                state.update(part.state_dict())
            if isinstance(optimizer, ShardedOptimizer):
                state["optimizer"] = states
            if self.scaler is not None:
                state["scaler"] = self.scaler.state_dict()
        return checkpoint

    def _maybe_restore_checkpoint(self) -> None:
        super()._maybe_restore_checkpoint()
        paths = None if self._checkpointer is None else self._checkpointer.find_latest_checkpoint()
        if paths is None:
            return
        if self._best_model_filename is not None:
            # The run's folder may have been moved, or be named from another working directory.
            self._best_model_filename = os.path.join(self.folder, BEST)
        state = torch.load(paths[1], map_location="cpu")
        if "workers" not in state:
            raise RuntimeError(f"{paths[1]} is another trainer's.")
        self._worker_states.restore(state["workers"])
        for part in self.kept:
            part.load_state_dict(state)
        # Its weights have not been tried by this process.
        self.last_good_checkpoint.untried = (state["epochs_completed"], state["batches_in_epoch_completed"])
        # The batches of the epoch in progress are counted again as they are skipped.
        self._total_batches_completed = state["total_batches_completed"] - state["batches_in_epoch_completed"]
        if self.scaler is not None and "scaler" in state:
            self.scaler.load_state_dict(state["scaler"])
        self.averages.restored()
        if self.metric_tracker.should_stop_early():
            self._num_epochs = self.recovered_place[0]
        finished_epoch = state["epochs_completed"] > 0 and state["batches_in_epoch_completed"] == 0
        if finished_epoch and self.metric_tracker.is_best_so_far():
            self._keep_as_best()

    def _keep_as_best(self) -> None:
        """Saves the best weights: a run may be killed before AllenNLP does so, after the epoch's checkpoint."""
        self._best_model_filename = path = os.path.join(self.folder, BEST)
        if not self.is_primary:
            return
        if os.path.exists(path):
            # It may be a hard link to a checkpoint, which must not be overwritten.
            os.remove(path)
        with self.averages.applied():
            self._save_model_state(path)


class _CountEpochs(TrainerCallback):
    """Passes the metrics of an epoch to the trainer. It must be the last callback."""

    def on_epoch(self, trainer, metrics, epoch, is_primary=True, **kwargs):
        trainer.epoch_measured(metrics, epoch)
