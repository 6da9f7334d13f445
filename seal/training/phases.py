import os
import re
from collections.abc import Collection, Iterator
from typing import Any, Optional, Union

import torch
import torch.distributed as dist
from allennlp.common import FromParams
from allennlp.common.checks import ConfigurationError
from allennlp.training.metric_tracker import MetricTracker

from seal.common.setting_checks import check_choice, check_range
from seal.files.whole_files import replacing
from seal.models import SealModel
from seal.two_player import LOSS_NET, TASK_NET

# Names of scores among seal's metrics, alone or with what they are of: `f1-PER`, `mean_iou`, `micro_f1_tuned`.
_MORE_IS_BETTER = re.compile(r"(^|_)(f1|accuracy|precision|recall|iou)($|[_-])")

# Those of which less is better: losses, and rates of frames or roles that break a constraint.
_LESS_IS_BETTER = re.compile(r"loss$|(^|_)(ucr|duplicates)$")


def check_validation_metric(
    model: SealModel, metric: Union[str, list[str]], key: str = "trainer.validation_metric"
) -> None:
    metrics = [metric] if isinstance(metric, str) else metric
    for name in metrics:
        if name[:1] not in ("+", "-"):
            raise ConfigurationError(f"{key}: '+{name}' where more is better, or '-{name}', not '{name}'.")
        sign, score = name[0], name[1:]
        # The other sign would keep the worst epoch as the best.
        if sign == "+" and _LESS_IS_BETTER.search(score):
            raise ConfigurationError(f"{key}: less of '{score}' is better; write '-{score}'.")
        if sign == "-" and _MORE_IS_BETTER.search(score):
            raise ConfigurationError(f"{key}: more of '{score}' is better; write '+{score}'.")
    # AllenNLP reports a loss of 0 where a model gives none, so that the first epoch would be the best.
    names = {name.lstrip("+-") for name in metrics}
    if model.inference is not None and "loss" in names:
        raise ConfigurationError(
            f"{key}: predictions of model.inference have no loss; name one of the model's metrics, as '+f1'."
        )


BOTH = "both"


class Phase(FromParams):
    """
    Some epochs of a run, and which players are trained in them.

    # Parameters

    epochs : `int`, optional (default = `None`)
        Their number. One phase, most often the last, may leave it out: it takes the rest of `num_epochs`.
    train : `str`, optional (default = `"both"`)
        Which player is trained: `"task_net"`, `"loss_net"` or `"both"`. The other one does not change. A shared encoder
        is the task-net's, so that training the task-net alone changes the energy, too; a warning says so.
    energy : `bool`, optional (default = `True`)
        Whether the task-net is trained by the energy. If not, it is trained by cross-entropy alone.
    restart : `bool`, optional (default = `False`)
        Whether the task-net begins the phase with the weights it was constructed with, and with its optimizer and
        learning-rate scheduler in their first state, so that it is trained from scratch under the present loss-net. A
        loss-net that shares the task-net's encoder would read the restarted encoder, which it was not trained on: give
        it an encoder of its own.
    supervised : `bool`, optional (default = `True`)
        Whether the task-net is trained on gold. If not, it is trained by the energy alone, without cost and
        cross-entropy, and instances need no gold. This fine-tunes a test-time network on training inputs, validation
        inputs or, transductively, test inputs (Tu, Pang & Gimpel 2020, section 2). Only the task-net is trained in
        such a phase.
    copy_task_net : `bool`, optional (default = `False`)
        Whether the loss-net begins the phase with the encoder of the task-net and, in its term `local`, with minus the
        task-net's label weights: `E_local(x, y)` is then minus the inner product of `y` and the task-net's logits. Its
        optimizer and learning-rate scheduler begin in their first state. Structured prediction energy networks are
        pretrained in this way (Belanger & McCallum 2016).
    validation_metric : `Union[str, list[str]]`, optional (default = `None`)
        If set, the next phase starts from the weights of the epoch that is best by it: `"+ranking_accuracy"` or
        `"-loss_net_loss"` of a phase that trains the loss-net, for example. Otherwise it starts from the last epoch's.
        That of the last phase is `trainer.validation_metric`.
    """

    def __init__(
        self,
        epochs: Optional[int] = None,
        train: str = BOTH,
        energy: bool = True,
        restart: bool = False,
        supervised: bool = True,
        copy_task_net: bool = False,
        validation_metric: Optional[Union[str, list[str]]] = None,
    ) -> None:
        check_choice("trainer.phases: train", train, (BOTH, TASK_NET, LOSS_NET))
        if not supervised and (not energy or train != TASK_NET):
            raise ConfigurationError(
                "trainer.phases: without supervision only the task-net moves, and by the energy: with supervised "
                f"false set train to '{TASK_NET}', and leave energy true."
            )
        self.epochs = epochs
        self.train = train
        self.energy = energy
        self.restart = restart
        self.supervised = supervised
        self.copy_task_net = copy_task_net
        self.validation_metric = validation_metric

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
        if len(takes_rest) > 1:
            raise ConfigurationError(
                f"trainer.phases[{takes_rest[0]}].epochs: only one phase may leave its epochs out, and so does phase "
                f"{takes_rest[1]}."
            )
        given = sum(phase.epochs for phase in phases if phase.epochs is not None)
        rest = num_epochs - given
        if takes_rest and rest < 1 and len(phases) > 1:
            raise ConfigurationError(
                f"trainer.phases: {given} epochs of the others leave phase {takes_rest[0]} nothing of the {num_epochs} "
                f"of trainer.num_epochs; set that to at least {given + 1}, or give the others fewer epochs."
            )
        if not takes_rest and rest != 0:
            raise ConfigurationError(
                f"trainer.phases: their epochs are {given} together, and trainer.num_epochs is {num_epochs}; one "
                "phase may leave its epochs out to take the rest."
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
        """It is an error if a phase trains or restarts a player that is not among `players`, those with steps to do."""
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
        It is an error if the model lacks what trains its task-net in a phase, or the loss-net that a phase copies the
        task-net to.
        """
        without_energy = any(phase.trains(TASK_NET) and not phase.energy for phase in self)
        if without_energy and model.task_loss.cross_entropy_weight == 0:
            raise ConfigurationError(
                "trainer.phases: without the energy the task-net has only cross-entropy to follow; give "
                "model.task_loss a cross_entropy_weight above 0."
            )
        if any(phase.copy_task_net for phase in self):
            if model.loss_net is None:
                raise ConfigurationError("trainer.phases: copy_task_net: the model has no loss_net.")
            model.loss_net.check_copy(model.task_net)
        unsupervised = any(not phase.supervised for phase in self)
        if unsupervised and not model.uses_energy:
            raise ConfigurationError(
                "trainer.phases: without supervision the task-net has only the energy to follow; give the model a "
                "loss_net, and model.task_loss an energy_weight above 0."
            )

    def check_metrics(self, model: SealModel, validation_metric: Union[str, list[str]], validated: bool) -> None:
        """
        It is an error if the metric of the run, or one of a phase, cannot choose among epochs of the model, or a phase
        has one and the run is not `validated`.
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
        """The index of the phase that the epoch belongs to."""
        for index in range(len(self) - 1):
            if epoch < self.start(index + 1):
                return index
        return len(self) - 1

    def start(self, index: int) -> int:
        """The phase's first epoch."""
        return sum(self._epochs[:index])

    def epochs_of(self, player: str, index: int = 0) -> int:
        """The number of epochs in which the player is trained, from this phase until it next begins anew."""
        epochs = 0
        for number in range(index, len(self)):
            phase = self._phases[number]
            if self._epochs[number] == 0:
                continue  # It never begins.
            begins_anew = phase.restart if player == TASK_NET else phase.copy_task_net
            if number > index and begins_anew:
                break
            epochs += self._epochs[number] if phase.trains(player) else 0
        return epochs


# The weights of the best epoch of the phase in progress, in the run's folder.
_FILE = "phase_best.th"


class PhaseBest:
    """
    The best epoch of a phase that has a `validation_metric`, whose weights the next phase starts from.

    # Parameters

    folder : `str`
        The run's.
    metric : `Union[str, list[str]]`, optional
        The phase's.
    """

    def __init__(self, folder: str, metric: Union[str, list[str]] = ()) -> None:
        self._path = os.path.join(folder, _FILE)
        self._tracker = MetricTracker(metric)

    def is_best(self, metrics: dict[str, float], epoch: int) -> bool:
        """Counts an epoch with these metrics on validation data; whether it is the best of the phase so far."""
        self._tracker._epoch_number = epoch
        self._tracker.add_metrics(metrics)
        return self._tracker.is_best_so_far()

    @property
    def epoch(self) -> Optional[int]:
        """The best epoch so far, counted through the run."""
        return self._tracker.best_epoch

    def save(self, model: torch.nn.Module) -> None:
        with replacing(self._path) as draft:
            torch.save(model.state_dict(), draft)

    @torch.no_grad()
    def restore(self, model: torch.nn.Module, is_primary: bool, distributed: bool) -> None:
        """Gives the model the weights that were saved, on all workers."""
        if is_primary:
            model.load_state_dict(torch.load(self._path, map_location="cpu"))
        if distributed:
            for tensor in (*model.parameters(), *model.buffers()):
                dist.broadcast(tensor.data, src=0)

    def forget(self) -> None:
        """Removes the file, at the end of the run."""
        if os.path.exists(self._path):
            os.remove(self._path)

    def state_dict(self) -> dict[str, Any]:
        return self._tracker.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._tracker.load_state_dict(state)
