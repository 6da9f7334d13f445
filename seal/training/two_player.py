from collections.abc import Callable, Collection
from typing import Any, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training.learning_rate_schedulers import LearningRateScheduler

from seal.common.nested_values import plain
from seal.two_player.optimizer import check_players


class TwoPlayerScheduler:
    """
    One learning-rate scheduler for each player. Each counts batches and epochs as AllenNLP's do, whatever the number
    of steps per batch, but only those in which its player is trained. A scheduler that follows a validation metric
    also pauses while no player that affects predictions is trained; otherwise the unchanging metric would look like a
    plateau and lower the rate.

    # Parameters

    players : `dict[str, LearningRateScheduler]`
    make : `Callable[[str, int], LearningRateScheduler]`, optional (default = `None`)
        Makes a new scheduler for a player that is restarted, for a number of epochs.
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
        # Raises

        `ConfigurationError` if a scheduler follows a validation metric: without validation data it would end the run
        after the first epoch.
        """
        for player, scheduler in self.players.items():
            if follows_metric(scheduler):
                raise ConfigurationError(
                    f"trainer.{player}.learning_rate_scheduler: it follows trainer.validation_metric, and there is no "
                    "validation_data_path; give one, or leave the scheduler out."
                )

    def restart(self, player: str, num_epochs: int) -> None:
        """
        Gives the player a new scheduler, if it has one; its optimizer must be back in its first state. AllenNLP's
        schedulers have the number of epochs in their state, so that a checkpoint restores it.
        """
        if player in self.players:
            self.players[player] = self._make(player, num_epochs)
            self._batches[player] = 0

    def step(self, metric: Optional[float] = None) -> None:
        for name, scheduler in self.players.items():
            if name in self.moving and (self.scored or not follows_metric(scheduler)):
                # Schedulers keep what they are given, and a checkpoint must hold plain numbers.
                scheduler.step(None if metric is None else float(metric))

    def step_batch(self, batch_num_total: Optional[int] = None) -> None:
        """Called before each update of a batch; only the first call for a batch does something."""
        if batch_num_total is not None and batch_num_total == self._last_batch:
            return
        self._last_batch = batch_num_total
        for name, scheduler in self.players.items():
            if name in self.moving:
                self._batches[name] += 1
                scheduler.step_batch(None if batch_num_total is None else self._batches[name])

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
