"""The phases of a run: which player is trained in which epochs, and the changes between phases."""

import hashlib
import itertools
import logging
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Optional, Union, cast

import torch
from allennlp.common import FromParams
from allennlp.common.checks import ConfigurationError
from allennlp.training.metric_tracker import MetricTracker

from seal.common.setting_checks import check_choice, check_range, error_prefix, require
from seal.files.atomic_files import atomic_write
from seal.tasks.base import SealModel
from seal.training.checkpoints import Averages
from seal.training.distributed import take_from_first_worker
from seal.two_player import LOSS_NET, TASK_NET, TwoPlayerOptimizer

logger = logging.getLogger(__name__)

# The names of seal's scores, optionally with a label or a suffix: `f1-PER`, `mean_iou`, `micro_f1_tuned`.
_MORE_IS_BETTER = re.compile(r"(^|_)(f1|accuracy|precision|recall|iou)($|[_-])")

# The names of metrics that should be low: losses, and rates of frames or roles that break a constraint.
_LESS_IS_BETTER = re.compile(r"loss$|(^|_)(ucr|duplicates)$")
#: The metrics that may not have a sign, by the sign.
_OTHERS = {"+": _LESS_IS_BETTER, "-": _MORE_IS_BETTER}


def check_validation_metric(
    model: SealModel, metric: Union[str, list[str]], key: str = "trainer.validation_metric"
) -> None:
    metrics = [metric] if isinstance(metric, str) else metric
    if not metrics:
        raise ConfigurationError(f"{key}: one of the model's metrics is needed, as '+f1'; found none.")
    for name in metrics:
        score = name.lstrip("+-")
        # The other sign would keep the worst epoch as the best.
        right = [f"'{sign}{score}'" for sign, other in _OTHERS.items() if not other.search(score)]
        if f"'{name}'" not in right:
            raise ConfigurationError(
                f"{key}: write {' or '.join(right)}, with '+' where more is better and '-' where less is, not '{name}'."
            )
    # AllenNLP reports a loss of 0 where a model gives none, so that the first epoch would be the best.
    names = {name.lstrip("+-") for name in metrics}
    if model.inference is not None and "loss" in names:
        raise ConfigurationError(
            f"{key}: predictions of model.inference have no loss; name one of the model's metrics, as '+f1'."
        )


BOTH = "both"


@dataclass
class Phase(FromParams):
    """
    A number of epochs of a run in which the same players are trained.

    # Parameters

    epochs : `int`, optional (default = `None`)
        The number of epochs. One phase, usually the last, may leave it out: it takes the rest of `num_epochs`.
    train : `str`, optional (default = `"both"`)
        The player that is trained: `"task_net"`, `"loss_net"` or `"both"`. The other player does not change. A shared
        encoder belongs to the task-net, so that training the task-net alone changes the energy, too; a warning says so.
    energy : `bool`, optional (default = `True`)
        Whether the task-net is trained by the energy. If not, it is trained by cross-entropy alone.
    restart : `bool`, optional (default = `False`)
        Whether the task-net begins the phase with its initial weights, optimizer and learning-rate scheduler, so that
        it is trained from scratch under the present loss-net. The loss-net should have its own encoder: a shared one
        would be reset to weights that the loss-net was not trained with.
    supervised : `bool`, optional (default = `True`)
        Whether the task-net is trained on gold. If not, it is trained by the energy alone, without cost and
        cross-entropy, and instances need no gold. This fine-tunes a test-time network on training inputs, validation
        inputs or, transductively, test inputs (Tu, Pang & Gimpel 2020, section 2). Only the task-net is trained in
        such a phase.
    copy_task_net : `bool`, optional (default = `False`)
        Whether the loss-net begins the phase with the encoder of the task-net and, in its term `local`, with minus the
        task-net's label weights: `E_local(x, y)` is then minus the inner product of `y` and the task-net's logits. Its
        optimizer and learning-rate scheduler are reset. Structured prediction energy networks are pretrained in this
        way (Belanger & McCallum 2016).
    validation_metric : `Union[str, list[str]]`, optional (default = `None`)
        The metric that selects the epoch from whose weights the next phase starts, for example `"+ranking_accuracy"` or
        `"-loss_net_loss"` in a phase that trains the loss-net. `None`: the last epoch. The last phase has none; its
        metric is `trainer.validation_metric`.
    """

    epochs: Optional[int] = None
    train: str = BOTH
    energy: bool = True
    restart: bool = False
    supervised: bool = True
    copy_task_net: bool = False
    validation_metric: Optional[Union[str, list[str]]] = None

    def __post_init__(self) -> None:
        check_choice("trainer.phases: train", self.train, (BOTH, TASK_NET, LOSS_NET))
        if not self.supervised and (not self.energy or self.train != TASK_NET):
            raise ConfigurationError(
                "trainer.phases: without supervision only the task-net moves, and by the energy: with supervised "
                f"false set train to '{TASK_NET}', and leave energy true."
            )

    def trains(self, player: str) -> bool:
        return self.train in (BOTH, player)

    def __str__(self) -> str:
        return (
            f"train '{self.train}', energy {self.energy}, restart {self.restart}, supervised {self.supervised}, "
            f"copy_task_net {self.copy_task_net}"
        )


class Phases:
    """
    The phases of a run, in order, and the epochs of each.

    # Parameters

    phases : `list[Phase]`
    num_epochs : `int`
        The number of epochs of the run.
    """

    def __init__(self, phases: list[Phase], num_epochs: int) -> None:
        self._phases = phases
        takes_rest = [index for index, phase in enumerate(phases) if phase.epochs is None]
        for index, phase in enumerate(phases):
            check_range(f"trainer.phases[{index}].epochs", phase.epochs, least=0)
        given = sum(phase.epochs for phase in phases if phase.epochs is not None)
        rest = num_epochs - given
        fits = len(takes_rest) == 1 and (rest > 0 or len(phases) == 1) if takes_rest else rest == 0
        if not fits:
            raise ConfigurationError(
                f"trainer.phases: their epochs are {given} together, and trainer.num_epochs is {num_epochs}; one "
                "phase alone may leave its epochs out, which takes the rest, of at least 1."
            )
        self._epochs = [rest if phase.epochs is None else phase.epochs for phase in phases]
        if phases[-1].validation_metric is not None:
            raise ConfigurationError(
                f"trainer.phases[{len(phases) - 1}].validation_metric: that of the last phase is "
                "trainer.validation_metric; set it there."
            )
        if len(phases) > 1 and self._epochs[-1] == 0:
            raise ConfigurationError(
                f"trainer.phases[{len(phases) - 1}].epochs: the best epoch is one of the last phase, so at least 1, "
                "not 0."
            )

    def check_players(self, players: Collection[str]) -> None:
        """Raises a `ConfigurationError` if a phase trains or restarts a player that is not in `players`."""
        for index, phase in enumerate(self._phases):
            if phase.train != BOTH and phase.train not in players:
                raise ConfigurationError(
                    f"trainer.phases[{index}].train: '{phase.train}' is not trained; its steps are 0, or the "
                    "model has none."
                )
            if phase.restart and not (phase.trains(TASK_NET) and TASK_NET in players):
                raise ConfigurationError(
                    f"trainer.phases[{index}].restart: the phase does not train the task_net that is to start anew."
                )

    def check_model(self, model: SealModel) -> None:
        """
        Checks that the model has what its phases need.

        # Raises

        `ConfigurationError` if nothing would train the task-net in a phase, or there is no loss-net for
        `copy_task_net`.
        """
        without_energy = any(phase.trains(TASK_NET) and not phase.energy for phase in self)
        if without_energy and model.task_loss.cross_entropy_weight == 0:
            raise ConfigurationError(
                "trainer.phases: without the energy the task-net has only cross-entropy to follow; give "
                "model.task_loss a cross_entropy_weight above 0."
            )
        if any(phase.copy_task_net for phase in self):
            if model.loss_net is None:
                raise ConfigurationError("trainer.phases.copy_task_net: the model has no loss_net.")
            with error_prefix("trainer.phases"):
                model.loss_net.check_copy(model.task_net)
        unsupervised = any(not phase.supervised for phase in self)
        if unsupervised and not model.uses_energy:
            raise ConfigurationError(
                "trainer.phases: without supervision the task-net has only the energy to follow; give the model a "
                "loss_net, and model.task_loss an energy_weight above 0."
            )

    def check_metrics(self, model: SealModel, validation_metric: Union[str, list[str]], validated: bool) -> None:
        """
        Checks the metric of the run and the metrics of the phases.

        # Raises

        `ConfigurationError` if a metric cannot select among epochs of the model, or a phase has one and the run has no
        validation data (`validated` is False).
        """
        if validated:
            check_validation_metric(model, validation_metric)
        for index, phase in enumerate(self):
            if phase.validation_metric is None:
                continue
            key = f"trainer.phases[{index}].validation_metric"
            if not validated:
                raise ConfigurationError(f"{key}: there is no validation_data_path; give one, or leave it out.")
            check_validation_metric(model, phase.validation_metric, key)

    def __len__(self) -> int:
        return len(self._phases)

    def __iter__(self) -> Iterator[Phase]:
        return iter(self._phases)

    def __getitem__(self, index: int) -> Phase:
        return self._phases[index]

    def index(self, epoch: int) -> int:
        """The index of the phase of an epoch."""
        for index in range(len(self) - 1):
            if epoch < self.start(index + 1):
                return index
        return len(self) - 1

    def start(self, index: int) -> int:
        """The phase's first epoch."""
        return sum(self._epochs[:index])

    def epochs_of(self, player: str, index: int = 0) -> int:
        """The number of epochs in which the player is trained, from phase `index` until its next restart."""
        epochs = 0
        for number in range(index, len(self)):
            phase = self._phases[number]
            if self._epochs[number] == 0:
                continue  # A phase without epochs never begins.
            begins_anew = phase.restart if player == TASK_NET else phase.copy_task_net
            if number > index and begins_anew:
                break
            epochs += self._epochs[number] if phase.trains(player) else 0
        return epochs


class TaskNetStart:
    """A copy, on the CPU, of the task-net's parameters and buffers, for `restore`."""

    def __init__(self, model: SealModel) -> None:
        self._tensors = {name: tensor.detach().to("cpu", copy=True) for name, tensor in _task_net(model)}
        digest = hashlib.sha256()
        for name, tensor in self._tensors.items():
            digest.update(name.encode())
            digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
        self.digest = digest.hexdigest()

    @torch.no_grad()
    def restore(self, model: SealModel) -> None:
        for name, tensor in _task_net(model):
            tensor.copy_(self._tensors[name])


def _task_net(model: SealModel) -> Iterator[tuple[str, torch.Tensor]]:
    """Yields all parameters and buffers outside the loss-net, including those of the output space, by name."""
    others = {id(parameter) for parameter in model.loss_net_parameters()}
    if model.loss_net is not None:
        others |= {id(buffer) for buffer in model.loss_net.buffers()}
    for name, tensor in itertools.chain(model.named_parameters(), model.named_buffers()):
        if id(tensor) not in others:
            yield name, tensor


def _change(tracker: MetricTracker, **values: Any) -> None:
    tracker.load_state_dict({**tracker.state_dict(), **values})


# The number of epochs with the same score after which a warning is logged, but for the best score, in percent.
_CONSTANT = 3
_BEST = 100.0


@dataclass(eq=False)
class PhasedRun:
    """
    Manages the phases during a run: it makes the changes at the beginning of a phase and selects the best epochs.

    The best epoch of the run is an epoch of the last phase, unless `best_of_all_phases` is set. Patience does not end
    an earlier phase.
    """

    phases: Phases
    model: SealModel
    optimizer: TwoPlayerOptimizer
    scheduler: Any
    #: The tracker of the run's best epoch.
    tracker: MetricTracker
    averages: Averages
    #: The run's folder.
    folder: str
    best_of_all_phases: bool
    #: Whether this worker writes files, and whether there are other workers.
    is_primary: bool
    distributed: bool

    def __post_init__(self) -> None:
        #: The phase of the epoch in progress.
        self.phase = self.phases[self.phases.index(0)]
        # The tracker of the phase's best epoch, from which the next phase starts, if the phase has a metric.
        self._best: Optional[MetricTracker] = None
        self._best_weights = os.path.join(self.folder, "phase_best.th")
        # The scores of the last epochs, for a warning.
        self._scores: list[float] = []
        # A recovered run takes these weights from its newly constructed model, which has the same seeds and files. The
        # checkpoint has only their digest, to detect a difference.
        self._task_net_start = TaskNetStart(self.model) if any(phase.restart for phase in self.phases) else None

    def enter(self, epoch: int, inside: bool) -> None:
        """Call it before an epoch; `inside` if the run continues from a checkpoint in the middle of this epoch."""
        index = self.phases.index(epoch)
        self.phase = self.phases[index]
        moving = [player for player in self.optimizer.players if self.phase.trains(player)]
        self.scheduler.moving, self.scheduler.scored = moving, self.prediction_depends_on(moving)
        if inside:
            return  # The following was done before the checkpoint was written.
        begins = epoch == self.phases.start(index)
        if begins:
            self._begin(index, epoch)
        if not (begins or index < len(self.phases) - 1):
            return
        if self.best_of_all_phases:
            _change(self.tracker, epochs_with_no_improvement=0)
        else:
            # A new dictionary: AllenNLP's loop holds the old one, which `clear` would empty.
            self.tracker.best_epoch_metrics = {}
            self.tracker.clear()
            # Epochs are counted through the whole run.
            _change(self.tracker, epoch_number=epoch)

    def _begin(self, index: int, epoch: int) -> None:
        phase, loss_net = self.phase, self.model.loss_net
        self._leave(epoch)
        if phase.validation_metric is not None:
            self._best = MetricTracker(phase.validation_metric)
        several = {"news": len(self.phases) > 1}
        logger.info("Phase %d of %d begins: %s", index + 1, len(self.phases), phase, extra=several)
        if loss_net is not None and loss_net.shares_encoder and phase.train == TASK_NET and phase.energy:
            logger.warning(
                "trainer.phases[%d]: the energy is not fixed while the task_net is trained alone, since the loss_net "
                "reads the task_net's encoder; to fix it, give the loss_net an encoder of its own.",
                index,
            )
        if phase.restart:
            require(self._task_net_start, "restart").restore(self.model)
            self._begin_anew(TASK_NET, self.model.task_net_parameters(), index)
        if phase.copy_task_net:
            require(loss_net, "loss_net").copy_task_net(require(self.model.task_net, "task_net"))
            self._begin_anew(LOSS_NET, self.model.loss_net_parameters(), index)

    def _leave(self, epoch: int) -> None:
        """Loads the weights of the best epoch of the phase that has ended, if that phase has a metric."""
        best, self._best = self._best, None
        if best is None or best.best_epoch is None or best.best_epoch == epoch - 1 and not self.averages:
            return
        logger.info("The next phase starts from epoch %d, the best by the phase's validation_metric.", best.best_epoch)
        if self.is_primary:
            self.model.load_state_dict(torch.load(self._best_weights, map_location="cpu"))
        if self.distributed:
            take_from_first_worker(self.model)
        self.averages.restart()

    def _begin_anew(self, player: str, parameters: list[torch.nn.Parameter], index: int) -> None:
        """
        Resets a player's optimizer and scheduler, and the moving average of its parameters to their present values.
        """
        if player in self.optimizer.players:
            self.optimizer.restart(player)
            self.scheduler.restart(player, self.phases.epochs_of(player, index))
        self.averages.restart(parameters)

    def prediction_depends_on(self, players: Collection[str]) -> bool:
        """Whether predictions depend on the parameters of one of these players."""
        predicting = {id(parameter) for parameter in self.model.prediction_parameters()}
        return any(id(parameter) in predicting for player in players for parameter in self.optimizer.parameters(player))

    def count(self, metrics: dict[str, float], epoch: int) -> None:
        """Records an epoch with its validation metrics. Call it before AllenNLP writes the epoch's checkpoint."""
        self._warn_of_constant_scores(metrics)
        if self._best is None:
            return
        _change(self._best, epoch_number=epoch)
        self._best.add_metrics(metrics)
        if self._best.is_best_so_far() and self.is_primary:
            with self.averages.applied(), atomic_write(self._best_weights) as draft:
                torch.save(self.model.state_dict(), draft)

    def _warn_of_constant_scores(self, metrics: dict[str, float]) -> None:
        """Logs a warning if the score stays the same while parameters that predictions depend on are trained."""
        if not metrics or not self.prediction_depends_on(self.scheduler.moving):
            self._scores = []
            return
        self._scores.append(self.tracker.combined_score(metrics))
        last = self._scores[-_CONSTANT:]
        if len(last) == _CONSTANT and len(set(last)) == 1 and last[0] != _BEST:
            self._scores = []
            name = ", ".join(("+" if sign > 0 else "-") + name for sign, name in self.tracker.tracked_metrics)
            logger.warning(
                "trainer.validation_metric: %s has been %g for %d epochs, so no epoch is better than another; see the "
                "training loss, change the learning rate or train longer, or name a metric that moves, as '-loss'",
                name,
                abs(last[0]),
                _CONSTANT,
            )

    def end(self) -> None:
        """Removes the file with the weights of a phase's best epoch."""
        if self.is_primary and os.path.exists(self._best_weights):
            os.remove(self._best_weights)

    def state_dict(self) -> dict[str, Any]:
        state: dict[str, Any] = {}
        if self._task_net_start is not None:
            state["task_net_start"] = self._task_net_start.digest
        if self._best is not None:
            state["phase_best"] = self._best.state_dict()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Loads the entries of `state_dict` from a checkpoint's trainer state."""
        if "phase_best" in state:
            # A checkpoint at the end of a phase has the tracker of that phase.
            done, inside = state["epochs_completed"], state["batches_in_epoch_completed"] > 0
            phase = self.phases[self.phases.index(done if inside else done - 1)]
            self._best = MetricTracker(cast(Union[str, list[str]], phase.validation_metric))
            self._best.load_state_dict(state["phase_best"])
        start = self._task_net_start
        if start is not None and state.get("task_net_start") != start.digest:
            logger.warning(
                "The task-net was constructed with other weights than in the run that is recovered; "
                "a phase with `restart` begins with other ones, too."
            )
