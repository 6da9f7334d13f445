"""The settings, optimizers and learning-rate schedulers of the two players, and the order of their updates."""

import logging
import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Optional

import torch
from allennlp.common import FromParams, Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from allennlp.training.optimizers import MultiOptimizer, Optimizer, ParameterGroupsType, make_parameter_groups

from seal.common.nested_values import plain
from seal.common.setting_checks import check_choice, check_range, require
from seal.tasks.base import SealModel
from seal.training.distributed import ShardedOptimizer
from seal.training.phases import BOTH, Phase, Phases
from seal.two_player import LOSS_NET, TASK_NET
from seal.two_player.updates import TwoPlayerOptimizer, check_players, order_of_updates

logger = logging.getLogger(__name__)


@Optimizer.register("fused_adamw")
class FusedAdamW(Optimizer, torch.optim.AdamW):
    """
    The fused `torch.optim.AdamW`, which makes one pass over the parameters, on CPU and GPU. For 22 million parameters
    on two cores an update takes 15 ms instead of the 140 ms of AllenNLP's `adamw`, which has no such option.

    # Parameters

    As in `torch.optim.AdamW`; `parameter_groups` as in AllenNLP's optimizers.
    """

    def __init__(
        self,
        model_parameters: list[tuple[str, torch.nn.Parameter]],
        parameter_groups: Optional[ParameterGroupsType] = None,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0.01,
    ) -> None:
        groups: Any = make_parameter_groups(model_parameters, parameter_groups)
        super().__init__(params=groups, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, fused=True)


@dataclass
class Player(FromParams):
    """
    The settings of the updates of one player, the task-net or the loss-net.

    # Parameters

    optimizer : `Optimizer`, optional (default = AdamW with learning rate 0.001)
    learning_rate_scheduler : `LearningRateScheduler`, optional (default = `None`)
    grad_norm : `float`, optional (default = `None`)
        The maximum norm of the player's gradient; a larger gradient is scaled down.
    steps : `int`, optional (default = `1`)
        The number of updates per batch, all on that batch unless the trainer's `fresh_batches` is set. 0 freezes the
        player.
    """

    optimizer: Lazy[Optimizer] = Lazy(lambda model_parameters: Optimizer.by_name("fused_adamw")(model_parameters))
    learning_rate_scheduler: Optional[Lazy[LearningRateScheduler]] = None
    grad_norm: Optional[float] = None
    steps: int = 1


class TwoPlayerScheduler:
    """
    Combines the learning-rate schedulers of both players. Each counts the batches and epochs in which its player is
    trained, independently of the number of steps per batch. A scheduler that follows a validation metric also pauses
    while no player that affects predictions is trained; otherwise the constant metric would look like a plateau and
    lower the rate.

    # Parameters

    players : `dict[str, LearningRateScheduler]`
    make : `Callable[[str, int], LearningRateScheduler]`, optional (default = `None`)
        `make(player, num_epochs)` returns a new scheduler for a restarted player.
    """

    def __init__(
        self,
        players: dict[str, LearningRateScheduler],
        make: Optional[Callable[[str, int], LearningRateScheduler]] = None,
    ) -> None:
        self.players = players
        # The players that are trained in the epoch in progress.
        self.moving: Collection[str] = list(players)
        # Whether validation metrics depend on these players.
        self.scored = True
        self._make = make
        self._last_batch: Optional[int] = None
        self._batches = dict.fromkeys(players, 0)

    def check_follows_no_metric(self) -> None:
        """
        Checks the schedulers of a run without validation data.

        # Raises

        `ConfigurationError` if a scheduler follows a validation metric: it would end the run after the first epoch.
        """
        for player, scheduler in self.players.items():
            if follows_metric(scheduler):
                raise ConfigurationError(
                    f"trainer.{player}.learning_rate_scheduler: it follows trainer.validation_metric, and there is no "
                    "validation_data_path; give one, or leave the scheduler out."
                )

    def restart(self, player: str, num_epochs: int) -> None:
        """
        Replaces the player's scheduler, if it has one, by a new one. Its optimizer must have been reset. AllenNLP's
        schedulers have the number of epochs in their state, so that a checkpoint restores it.
        """
        if player in self.players and self._make is not None:
            self.players[player] = self._make(player, num_epochs)
            self._batches[player] = 0

    def step(self, metric: Optional[float] = None) -> None:
        for name, scheduler in self.players.items():
            if name in self.moving and (self.scored or not follows_metric(scheduler)):
                # Schedulers store the metric, and a checkpoint must hold plain numbers.
                scheduler.step(None if metric is None else float(metric))  # type: ignore[arg-type]

    def step_batch(self, batch_num_total: Optional[int] = None) -> None:
        """Call it before each update of a batch; only the first call for a batch has an effect."""
        if batch_num_total is not None and batch_num_total == self._last_batch:
            return
        self._last_batch = batch_num_total
        for name, scheduler in self.players.items():
            if name in self.moving:
                self._batches[name] += 1
                counted = None if batch_num_total is None else self._batches[name]
                scheduler.step_batch(counted)  # type: ignore[arg-type]

    def state_dict(self) -> dict[str, Any]:
        return {
            name: {"scheduler": plain(scheduler.state_dict()), "batches": self._batches[name]}
            for name, scheduler in self.players.items()
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        check_players(self.players, state)
        for name, scheduler in self.players.items():
            scheduler.load_state_dict(state[name]["scheduler"])
            self._batches[name] = state[name]["batches"]


def follows_metric(scheduler: LearningRateScheduler) -> bool:
    """Whether a scheduler is AllenNLP's `reduce_on_plateau`, the only one that needs a validation metric."""
    return isinstance(getattr(scheduler, "lr_scheduler", None), torch.optim.lr_scheduler.ReduceLROnPlateau)


class Players:
    """
    The trained players of a model: it makes their optimizers and schedulers and determines the order of their updates.
    `given` has the settings `task_net` and `loss_net` of the config, or `None`; the other parameters are described in
    `AlternatingTrainer`.

    # Raises

    `ConfigurationError` if `first` is not a player, the model lacks a given player, a number is out of range, no player
    is trained, the phases do not fit the players or the model, or `reuse_features` or `fresh_batches` has no effect.
    """

    def __init__(
        self,
        model: SealModel,
        given: dict[str, Optional[Player]],
        first: str,
        phases: Phases,
        reuse_features: bool = False,
        fresh_batches: bool = False,
        interleaved: bool = False,
    ) -> None:
        check_choice("trainer.first", first, (TASK_NET, LOSS_NET))
        nets = {TASK_NET: model.task_net, LOSS_NET: model.loss_net}
        for name, player in given.items():
            if player is None:
                continue
            if nets[name] is None:
                raise ConfigurationError(f"trainer.{name}: the model has no {name} to train.")
            check_range(f"trainer.{name}.steps", player.steps, least=0)
            check_range(f"trainer.{name}.grad_norm", player.grad_norm, above=0)
        settings = {name: given.get(name) or Player() for name, net in nets.items() if net is not None}
        with_steps = {name: player for name, player in settings.items() if player.steps > 0}
        if not with_steps:
            raise ConfigurationError("trainer: the steps of all players are 0; nothing would be trained.")
        phases.check_players(with_steps)
        # A player that no phase trains is frozen.
        self._players = {
            name: player for name, player in with_steps.items() if any(phase.trains(name) for phase in phases)
        }
        check_frozen_loss_net(model, self._players)
        phases.check_model(model)
        self._model = model
        self._first, self._interleaved = first, interleaved
        self._phases = phases
        if reuse_features:
            self._check_reused_features()
        #: The number of updates' batches that the updates of a step need.
        self.batches_of_updates = max(player.steps for player in self._players.values()) if fresh_batches else 1
        if fresh_batches:
            self._check_fresh_batches()

    def _check_fresh_batches(self) -> None:
        if self._interleaved:
            raise ConfigurationError(
                "trainer.fresh_batches: the updates of trainer.interleaved are all on one batch; leave one of them out."
            )
        most = self.batches_of_updates
        if most == 1:
            raise ConfigurationError(
                "trainer.fresh_batches: each player makes one update a batch; give one more steps, or leave it out."
            )
        for index, phase in enumerate(self._phases):
            trained = {name: player.steps for name, player in self._players.items() if phase.trains(name)}
            if max(trained.values()) < most:
                (name,) = trained
                raise ConfigurationError(
                    f"trainer.fresh_batches: phase {index} trains the {name} alone, with {trained[name]} updates for "
                    f"{most} batches, and would pass over the rest of the data; set trainer.{name}.steps to {most}."
                )

    def _check_reused_features(self) -> None:
        both = [phase for phase in self._phases if phase.train == BOTH and phase.energy]
        if len(self._players) < 2 or not both:
            problem = "no phase trains the loss-net and, by its energy, the task-net; leave it out"
        elif require(self._model.loss_net, "loss_net").shares_encoder:
            problem = "the loss-net shares the task-net's encoder, whose pass serves both already; leave it out"
        else:
            return
        raise ConfigurationError(f"trainer.reuse_features: {problem}.")

    def turns(self, phase: Phase) -> list[str]:
        """The player of each update of a batch, in order."""
        trained = [name for name in self._players if phase.trains(name)]
        order = sorted(trained, key=lambda name: name != self._first)
        return order_of_updates({name: self._players[name].steps for name in order}, self._interleaved)

    @property
    def grad_norms(self) -> dict[str, Optional[float]]:
        return {name: player.grad_norm for name, player in self._players.items()}

    def optimizer(
        self, model_parameters: list[tuple[str, torch.nn.Parameter]], sharded: bool = False
    ) -> TwoPlayerOptimizer:
        """
        Makes the optimizer of both players.

        # Parameters

        model_parameters : `list[tuple[str, torch.nn.Parameter]]`
            The parameters that are not frozen.
        sharded : `bool`, optional (default = `False`)
            Whether each worker of a distributed run holds a part of the optimizer states.

        # Raises

        `ConfigurationError` if all parameters of a player are frozen, or its optimizer refuses a setting.
        """
        loss_net = {id(parameter) for parameter in self._model.loss_net_parameters()}
        optimizers: dict[str, torch.optim.Optimizer] = {}
        for name, player in self._players.items():
            own = [item for item in model_parameters if (id(item[1]) in loss_net) == (name == LOSS_NET)]
            if not own:
                raise ConfigurationError(
                    f"trainer.no_grad freezes every parameter of the {name}: set trainer.{name}.steps to 0."
                )
            try:
                optimizers[name] = player.optimizer.construct(model_parameters=own)
            except (ValueError, re.error) as error:  # From AllenNLP or torch, about a setting or a group's pattern.
                raise ConfigurationError(f"trainer.{name}.optimizer: {error}.") from error
            _check_groups(name, optimizers[name])
            if isinstance(optimizers[name], MultiOptimizer) and player.learning_rate_scheduler is not None:
                # It would change the learning rates of `multi`'s own groups, which no update uses.
                raise ConfigurationError(
                    f"trainer.{name}.learning_rate_scheduler: AllenNLP's optimizer 'multi' follows none; leave it out."
                )
            if isinstance(optimizers[name], MultiOptimizer) and sharded:
                raise ConfigurationError(
                    f"trainer.shard_optimizer_states: the {name} has AllenNLP's optimizer 'multi', which keeps its "
                    "states elsewhere; leave it out, or take an optimizer with parameter_groups."
                )
        return ShardedOptimizer(optimizers) if sharded else TwoPlayerOptimizer(optimizers)

    def scheduler(
        self, optimizer: TwoPlayerOptimizer, num_steps_per_epoch: Optional[int], **_: Any
    ) -> TwoPlayerScheduler:
        """
        Makes the learning-rate scheduler of both players.

        # Raises

        `ConfigurationError` if an epoch has no steps.
        """
        if num_steps_per_epoch == 0:
            raise ConfigurationError(
                "data_loader: it gives no batch, so that nothing would be trained; with drop_last, the batch_size may "
                "not be larger than the number of instances."
            )

        if num_steps_per_epoch is not None:
            num_steps_per_epoch = -(-num_steps_per_epoch // self.batches_of_updates)

        def make(name: str, num_epochs: int) -> LearningRateScheduler:
            key = f"trainer.{name}.learning_rate_scheduler"
            try:
                scheduler: Any = require(self._players[name].learning_rate_scheduler, key).construct(
                    optimizer=optimizer.players[name],
                    num_epochs=max(1, num_epochs),  # 0 if it is first trained after a restart; some divide by it.
                    num_steps_per_epoch=num_steps_per_epoch,
                )
            except (ValueError, ZeroDivisionError) as error:  # From AllenNLP or torch, about a setting.
                raise ConfigurationError(f"{key}: {error}.") from error
            warmup, total = getattr(scheduler, "warmup_steps", None), (num_steps_per_epoch or 0) * num_epochs
            if warmup and 0 < total <= warmup:
                logger.warning(
                    "%s.warmup_steps: %d, and the %s has %d in all, so its learning rate never gets to its height; "
                    "lower it, or train for more epochs",
                    key,
                    warmup,
                    name,
                    total,
                )
            if follows_metric(scheduler) and scheduler.lr_scheduler.mode != "max":
                raise ConfigurationError(
                    f"{key}.mode: set 'max'. The scheduler is given trainer.validation_metric with its sign, so that "
                    "more is better also of a loss, and with 'min', the default, better epochs would lower the rate."
                )
            return scheduler

        scheduled = [name for name, player in self._players.items() if player.learning_rate_scheduler is not None]
        return TwoPlayerScheduler({name: make(name, self._phases.epochs_of(name)) for name in scheduled}, make)


def check_frozen_loss_net(model: SealModel, players: Collection[str]) -> None:
    """Raises a `ConfigurationError` if the task-net follows a loss-net that is neither trained nor pretrained."""
    if model.uses_energy and LOSS_NET not in players and require(model.loss_net, "loss_net").pretrained_file is None:
        raise ConfigurationError(
            "trainer.loss_net: nothing trains the loss-net that the task-net is to follow; set "
            "model.loss_net.pretrained_file to a run that has, or train it in a phase (trainer.phases)."
        )


def _check_groups(player: str, optimizer: torch.optim.Optimizer) -> None:
    # Torch ignores unknown keys of a group, and checks the learning rate of the optimizer but not of the groups.
    # `multi` has no defaults: its settings are in its optimizers.
    place = f"trainer.{player}.optimizer.parameter_groups"
    for group in optimizer.param_groups:
        for key in group if optimizer.defaults else ():
            if key != "params" and key not in optimizer.defaults:
                raise ConfigurationError(
                    f"{place}: {type(optimizer).__name__} has no setting '{key}'; "
                    f"choose from: {', '.join(sorted(optimizer.defaults))}."
                )
        rate = group.get("lr", 0)
        if type(rate) not in (int, float) or not 0 <= rate < math.inf:
            raise ConfigurationError(f"{place}: lr must be a number that is at least 0, not {rate!r}.")
