import copy
from typing import Any, Optional

import torch

from seal.common.nested_values import plain


class TwoPlayerOptimizer:
    """
    One optimizer for each player, and whose turn it is. Trainers use it like any other optimizer. `step` updates only
    the player whose turn it is, so that each player keeps its own learning rate, momentum and count of steps.
    `zero_grad` clears the gradients of both, since the loss of either may have left some in the other.

    # Parameters

    players : `dict[str, torch.optim.Optimizer]`
    """

    def __init__(self, players: dict[str, torch.optim.Optimizer]) -> None:
        self.players = players
        self.turn = next(iter(players))
        #: Whether the next step does nothing, as no instance gave the player a gradient.
        self.pauses = False
        # The state before a scheduler changes it. It is small, as optimizers fill their state as they step.
        self._first = copy.deepcopy(self.state_dict())

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return [group for optimizer in self.players.values() for group in optimizer.param_groups]

    @property
    def current(self) -> torch.optim.Optimizer:
        return self.players[self.turn]

    def parameters(self, player: Optional[str] = None) -> list[torch.nn.Parameter]:
        """The parameters of a player; `None`: of the one whose turn it is."""
        optimizer = self.players[self.turn if player is None else player]
        return [parameter for group in optimizer.param_groups for parameter in group["params"]]

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

    def state_dict(self) -> dict[str, Any]:
        return {name: _with_plain_groups(optimizer.state_dict()) for name, optimizer in self.players.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        check_players(self.players, state)
        for name, optimizer in self.players.items():
            optimizer.load_state_dict(state[name])


def check_players(players: dict[str, Any], state: dict[str, Any]) -> None:
    """Raises a `RuntimeError`, which AllenNLP turns into its own message, for the state of other players."""
    if set(players) != set(state):
        raise RuntimeError(f"the checkpoint is of {sorted(state)}, the trainer of {sorted(players)}.")


def _with_plain_groups(state: dict[str, Any]) -> dict[str, Any]:
    # AllenNLP's `cosine` puts numpy's numbers in the groups.
    if "param_groups" in state:
        return {**state, "param_groups": plain(state["param_groups"])}
    # The state of AllenNLP's `multi`: those of its optimizers by name.
    return {name: _with_plain_groups(part) for name, part in state.items()}
