import copy
from typing import Any, Callable, Collection, Dict, List, Optional

import torch
from allennlp.training.learning_rate_schedulers import LearningRateScheduler

from seal.common.plain import plain


class TwoPlayerOptimizer:
    """
    One optimizer for each player, and whose turn it is. Trainers use it like any other optimizer. `step` updates only
    the player whose turn it is, so that each player keeps its own learning rate, momentum and count of steps.
    `zero_grad` clears the gradients of both, since the loss of either may have left some in the other.

    # Parameters

    players : `Dict[str, torch.optim.Optimizer]`
    """

    def __init__(self, players: Dict[str, torch.optim.Optimizer]) -> None:
        self.players = players
        self.turn = next(iter(players))
        #: Whether the next step does nothing, as no instance gave the player a gradient.
        self.pauses = False
        # The state before a scheduler changes it. It is small, as optimizers fill their state as they step.
        self._first = copy.deepcopy(self.state_dict())

    @property
    def param_groups(self) -> List[Dict[str, Any]]:
        return [group for optimizer in self.players.values() for group in optimizer.param_groups]

    @property
    def current(self) -> torch.optim.Optimizer:
        return self.players[self.turn]

    def parameters(self) -> List[torch.nn.Parameter]:
        """The parameters of the player whose turn it is."""
        return [parameter for group in self.current.param_groups for parameter in group["params"]]

    def zero_grad(self, set_to_none: bool = True) -> None:
        for optimizer in self.players.values():
            optimizer.zero_grad(set_to_none=set_to_none)

    def step(self, closure=None) -> None:
        if self.pauses:
            return
        # AllenNLP's `multi` takes no closure.
        self.current.step() if closure is None else self.current.step(closure)

    def restart(self, player: str) -> None:
        """Sets the player's optimizer back to its first state."""
        self.players[player].load_state_dict(copy.deepcopy(self._first[player]))

    def state_dict(self) -> Dict[str, Any]:
        return {name: _with_plain_groups(optimizer.state_dict()) for name, optimizer in self.players.items()}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        _check_players(self.players, state)
        for name, optimizer in self.players.items():
            optimizer.load_state_dict(state[name])


class TwoPlayerScheduler:
    """
    One learning-rate scheduler for each player. Each counts batches and epochs as AllenNLP's do, whatever the number
    of steps per batch, but only those in which its player is trained. A scheduler that follows a validation metric
    also pauses while no player that affects predictions is trained; otherwise the unchanging metric would look like a
    plateau and lower the rate.

    # Parameters

    players : `Dict[str, LearningRateScheduler]`
    make : `Callable[[str, int], LearningRateScheduler]`, optional (default = `None`)
        Makes a new scheduler for a player that is restarted, for a number of epochs.
    """

    def __init__(
        self,
        players: Dict[str, LearningRateScheduler],
        make: Optional[Callable[[str, int], LearningRateScheduler]] = None,
    ) -> None:
        self.players = players
        # The players that are trained in the epoch in progress.
        self.moving: Collection[str] = list(players)
        # Whether validation metrics depend on these players.
        self.scored = True
        self._make = make
        self._last_batch: Optional[int] = None
        self._batches = {name: 0 for name in players}

    def following_metric(self) -> List[str]:
        """The players whose scheduler follows a validation metric."""
        return [name for name, scheduler in self.players.items() if follows_metric(scheduler)]

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

    def state_dict(self) -> Dict[str, Any]:
        return {
            name: {"scheduler": plain(scheduler.state_dict()), "batches": self._batches[name]}
            for name, scheduler in self.players.items()
        }

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        _check_players(self.players, state)
        for name, scheduler in self.players.items():
            scheduler.load_state_dict(state[name]["scheduler"])
            self._batches[name] = state[name]["batches"]


def follows_metric(scheduler: LearningRateScheduler) -> bool:
    """Whether a scheduler is AllenNLP's `reduce_on_plateau`, the only one that needs a validation metric."""
    return isinstance(getattr(scheduler, "lr_scheduler", None), torch.optim.lr_scheduler.ReduceLROnPlateau)


def _check_players(players: Dict[str, Any], state: Dict[str, Any]) -> None:
    """Raises a `RuntimeError`, which AllenNLP turns into its own message, for the state of other players."""
    if set(players) != set(state):
        raise RuntimeError(f"the checkpoint is of {sorted(state)}, the trainer of {sorted(players)}.")


def _with_plain_groups(state: Dict[str, Any]) -> Dict[str, Any]:
    # AllenNLP's `cosine` puts numpy's numbers in the groups.
    if "param_groups" in state:
        return {**state, "param_groups": plain(state["param_groups"])}
    # The state of AllenNLP's `multi`: those of its optimizers by name.
    return {name: _with_plain_groups(part) for name, part in state.items()}
