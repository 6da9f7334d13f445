import hashlib
import itertools
import logging
from collections.abc import Iterator
from typing import Any, Optional

import torch
from allennlp.training import TrainerCallback
from allennlp.training.trainer import TrainerCheckpoint

from seal.models import SealModel
from seal.training.phases import PhaseBest, Phases
from seal.training.players import LOSS_NET, TASK_NET
from seal.training.resumable_trainer import ResumableTrainer

logger = logging.getLogger(__name__)

# The number of epochs of one score after which there is a warning.
_CONSTANT = 3


class PhasedTrainer(ResumableTrainer):
    """
    A trainer whose run goes through phases. `self._phase` is that of the epoch in progress.

    The best epoch is chosen among those of the last phase: an epoch of an earlier phase never counts as better, unless
    `best_of_all_phases` is set. Patience does not end an earlier phase.
    """

    def __init__(self, *args: Any, phases: Phases, best_of_all_phases: bool = False, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._phases = phases
        self._best_of_all_phases = best_of_all_phases
        # That of the phase in progress, if it has a metric of its own.
        self._phase_best: Optional[PhaseBest] = None
        # Those of the last epochs, for a warning.
        self._scores: list[float] = []
        # Before AllenNLP writes a checkpoint, which has the best epoch so far.
        self._callbacks.append(_TrackPhase(self._serialization_dir))
        self._phase = phases[phases.index(0)]
        # A recovered run takes these weights from its newly constructed model, which has the same seeds and files. The
        # checkpoint has only their digest, to detect where that does not hold.
        restarts = any(phase.restart for phase in phases)
        self._task_net_start = TaskNetStart(self.model) if restarts else None

    def _train_epoch(self, epoch: int) -> dict[str, float]:
        if self._epochs_completed >= self._start_after_epochs_completed:
            self._enter(epoch)
        return super()._train_epoch(epoch)

    def _try_train(self) -> tuple[dict[str, Any], int]:
        result = super()._try_train()
        if self._primary and self._serialization_dir:
            PhaseBest(self._serialization_dir).forget()
        return result

    def _enter(self, epoch: int) -> None:
        index = self._phases.index(epoch)
        self._phase = self._phases[index]
        moving = [player for player in self.optimizer.players if self._phase.trains(player)]
        self._learning_rate_scheduler.moving = moving
        self._learning_rate_scheduler.scored = self._prediction_depends_on(moving)
        begins = epoch == self._phases.start(index)
        recovered = self._epochs_completed == self._start_after_epochs_completed
        if recovered and self._start_after_batches_in_epoch_completed > 0:
            return  # A checkpoint within the epoch was written after what follows.
        if begins:
            self._leave_phase()
            if self._phase.validation_metric is not None:
                self._phase_best = PhaseBest(self._serialization_dir, self._phase.validation_metric)
            several = {"news": len(self._phases) > 1}
            logger.info("Phase %d of %d begins: %s", index + 1, len(self._phases), self._phase, extra=several)
            loss_net = self.model.loss_net
            shares = loss_net is not None and loss_net.shares_encoder
            if shares and self._phase.train == TASK_NET and self._phase.energy:
                logger.warning(
                    "trainer.phases[%d]: the energy is not fixed while the task_net is trained alone, since the "
                    "loss_net reads the task_net's encoder; to fix it, give the loss_net an encoder of its own.",
                    index,
                )
            if self._phase.restart:
                self._restart_task_net(index)
            if self._phase.copy_task_net:
                self._copy_task_net(index)
        if self._best_of_all_phases:
            if begins or index < len(self._phases) - 1:
                self._metric_tracker._epochs_with_no_improvement = 0
        elif begins or index < len(self._phases) - 1:
            # A new dictionary: AllenNLP's loop holds the old one, which `clear` would empty.
            self._metric_tracker.best_epoch_metrics = {}
            self._metric_tracker.clear()
            # Epochs are counted through the whole run.
            self._metric_tracker._epoch_number = epoch

    def _leave_phase(self) -> None:
        """Goes back to the best epoch of the phase that has ended, if it has a metric of its own."""
        best, self._phase_best = self._phase_best, None
        if best is None or best.epoch is None or best.epoch == self._epochs_completed - 1 and not self._moving_average:
            return
        logger.info("The next phase starts from epoch %d, the best by the phase's validation_metric.", best.epoch)
        best.restore(self.model, self._primary, self._distributed)
        if self._moving_average is not None:
            for name, parameter in self._moving_average._parameters:
                self._moving_average._shadows[name].copy_(parameter.data)

    def _count_epoch(self, metrics: dict[str, Any], epoch: int) -> None:
        """`metrics` are those of the whole record of an epoch."""
        prefix = "validation_"
        found = {name[len(prefix) :]: value for name, value in metrics.items() if name.startswith(prefix)}
        self._warn_of_constant_scores(found)
        if self._phase_best is not None and self._phase_best.is_best(found, epoch) and self._primary:
            with self.averaged_weights():
                self._phase_best.save(self.model)

    def _warn_of_constant_scores(self, metrics: dict[str, float]) -> None:
        """Once, where the score stays the same though what predicts is trained."""
        if not metrics or not self._prediction_depends_on(self._learning_rate_scheduler.moving):
            self._scores = []
            return
        self._scores.append(self._metric_tracker.combined_score(metrics))
        last = self._scores[-_CONSTANT:]
        if len(last) == _CONSTANT and len(set(last)) == 1:
            self._scores = []
            name = ", ".join(("+" if sign > 0 else "-") + name for sign, name in self._metric_tracker.tracked_metrics)
            logger.warning(
                "trainer.validation_metric: %s has been %g for %d epochs, so no epoch is better than another; see the "
                "training loss, change the learning rate or train longer, or name a metric that moves, as '-loss'",
                name,
                abs(last[0]),
                _CONSTANT,
            )

    def _prediction_depends_on(self, players: list[str]) -> bool:
        """Whether predictions depend on the parameters of one of these players."""
        needed = {id(parameter) for parameter in self.model.prediction_parameters()}
        groups = [group for player in players for group in self.optimizer.players[player].param_groups]
        return any(id(parameter) in needed for group in groups for parameter in group["params"])

    def _restart_task_net(self, index: int) -> None:
        self._task_net_start.restore(self.model)
        self._begin_anew(TASK_NET, self.model.task_net_parameters(), index)

    def _copy_task_net(self, index: int) -> None:
        self.model.loss_net.copy_task_net(self.model.task_net)
        self._begin_anew(LOSS_NET, self.model.loss_net_parameters(), index)

    def _begin_anew(self, player: str, parameters: list[torch.nn.Parameter], index: int) -> None:
        """Restarts a player's optimizer and scheduler, and its parameters' moving average from their present values."""
        if player in self.optimizer.players:
            self.optimizer.restart(player)
            self._learning_rate_scheduler.restart(player, self._phases.epochs_of(player, index))
        if self._moving_average is not None:
            moved = {id(parameter) for parameter in parameters}
            for name, parameter in self._moving_average._parameters:
                if id(parameter) in moved:
                    self._moving_average._shadows[name].copy_(parameter.data)

    def get_checkpoint_state(self) -> Optional[TrainerCheckpoint]:
        checkpoint = super().get_checkpoint_state()
        if checkpoint is not None and self._task_net_start is not None:
            checkpoint.trainer_state["task_net_start"] = self._task_net_start.digest
        if checkpoint is not None and self._phase_best is not None:
            checkpoint.trainer_state["phase_best"] = self._phase_best.state_dict()
        return checkpoint

    def _restored(self, state: dict[str, Any]) -> None:
        super()._restored(state)
        if "phase_best" in state:
            # At the end of a phase it is still that phase's.
            done, inside = state["epochs_completed"], state["batches_in_epoch_completed"] > 0
            phase = self._phases[self._phases.index(done if inside else done - 1)]
            self._phase_best = PhaseBest(self._serialization_dir, phase.validation_metric)
            self._phase_best.load_state_dict(state["phase_best"])
        start = self._task_net_start
        if start is not None and state.get("task_net_start") != start.digest:
            logger.warning(
                "The task-net was constructed with other weights than in the run that is recovered; "
                "a phase with `restart` begins with other ones, too."
            )


class _TrackPhase(TrainerCallback):
    """Tells the trainer what an epoch measured."""

    def on_epoch(self, trainer, metrics, epoch, is_primary=True, **kwargs):
        trainer._count_epoch(metrics, epoch)


class TaskNetStart:
    """A copy of the task-net's present parameters and buffers, on the CPU, which `restore` puts back."""

    def __init__(self, model: SealModel) -> None:
        self._tensors = {name: tensor.detach().to("cpu", copy=True) for name, tensor in _task_net(model)}
        digest = hashlib.sha256()
        for name, tensor in self._tensors.items():
            digest.update(name.encode())
            digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())
        self.digest = digest.hexdigest()

    @torch.no_grad()
    def restore(self, model: SealModel) -> None:
        for name, tensor in _task_net(model):
            tensor.copy_(self._tensors[name])


def _task_net(model: SealModel) -> Iterator[tuple[str, torch.Tensor]]:
    """All parameters and buffers outside the loss-net, by name; those of the output space count as the task-net's."""
    others = {id(parameter) for parameter in model.loss_net_parameters()}
    if model.loss_net is not None:
        others |= {id(buffer) for buffer in model.loss_net.buffers()}
    for name, tensor in itertools.chain(model.named_parameters(), model.named_buffers()):
        if id(tensor) not in others:
            yield name, tensor
