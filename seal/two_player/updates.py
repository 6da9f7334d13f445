"""Alternating updates: the order of the two players' updates, their losses, and one optimizer for both."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Optional, Union

import torch

from seal.common.nested_values import plain
from seal.common.random_states import RandomStream
from seal.output_spaces import Candidates
from seal.two_player.objectives import Features, Objectives, TaskState, without_dropout

#: The names of the players.
TASK_NET, LOSS_NET = "task_net", "loss_net"


class TwoPlayerOptimizer:
    """
    Combines the optimizers of both players. Trainers use it like any other optimizer. `step` updates only the player
    `turn`, so that each player has its own learning rate, momentum and step count. `zero_grad` clears the gradients of
    both players, since the loss of one may leave gradients in the other.

    # Parameters

    players : `dict[str, torch.optim.Optimizer]`
    """

    def __init__(self, players: dict[str, torch.optim.Optimizer]) -> None:
        self.players = players
        self.turn = next(iter(players))
        #: Whether the next step does nothing, because no instance gave the player a gradient.
        self.pauses = False
        # The state before a scheduler changes it. It is small, because optimizers create moments in their first step.
        self._first = copy.deepcopy(self.state_dict())

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return [group for optimizer in self.players.values() for group in optimizer.param_groups]

    def parameters(self, player: Optional[str] = None) -> list[torch.nn.Parameter]:
        """The parameters of a player; `None`: of the player `turn`."""
        optimizer = self.players[self.turn if player is None else player]
        return [parameter for group in optimizer.param_groups for parameter in group["params"]]

    def zero_grad(self, set_to_none: bool = True) -> None:
        for optimizer in self.players.values():
            optimizer.zero_grad(set_to_none=set_to_none)

    def step(self, closure=None) -> None:
        if self.pauses:
            return
        optimizer = self.players[self.turn]
        # AllenNLP's `multi` takes no closure.
        optimizer.step() if closure is None else optimizer.step(closure)

    def restart(self, player: str) -> None:
        """Resets the player's optimizer to its initial state."""
        self.players[player].load_state_dict(copy.deepcopy(self._first[player]))

    def state_dict(self) -> dict[str, Any]:
        return {name: _with_plain_groups(optimizer.state_dict()) for name, optimizer in self.players.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        check_players(self.players, state)
        for name, optimizer in self.players.items():
            optimizer.load_state_dict(state[name])


def check_players(players: dict[str, Any], state: dict[str, Any]) -> None:
    """Raises a `RuntimeError` if a checkpoint's state has other players."""
    if set(players) != set(state):
        raise RuntimeError(f"the checkpoint is of {sorted(state)}, what loads it of {sorted(players)}.")


def _with_plain_groups(state: dict[str, Any]) -> dict[str, Any]:
    # AllenNLP's `cosine` puts numpy's numbers in the groups.
    if "param_groups" in state:
        return {**state, "param_groups": plain(state["param_groups"])}
    # The state of AllenNLP's `multi`: those of its optimizers by name.
    return {name: _with_plain_groups(part) for name, part in state.items()}


@dataclass
class MicroBatch:
    """
    A batch with a cache of intermediate results.

    # Parameters

    batch : `dict[str, Any]`
    alone : `bool`, optional (default = `False`)
        Whether the batch makes an update by itself. With gradient accumulation no graph is cached from one player's
        turn to the other's, to save memory.
    state : `TaskState`, optional
        Valid until the task-net is updated.
    has_graph : `bool`, optional (default = `False`)
        Whether `state` has a graph to backpropagate through.
    candidates : `Candidates`, optional
        Valid until the task-net is updated.
    features : `Features`
        The loss-net's features, valid until it is updated. With `reuse_features`, the encoder's vectors stay valid for
        the rest of the step.
    """

    batch: dict[str, Any]
    alone: bool = False
    state: Optional[TaskState] = None
    has_graph: bool = False
    candidates: Optional[Candidates] = None
    features: Features = field(default_factory=Features)


#: An update: its player, and the batches over which it accumulates gradients.
Update = tuple[str, list[MicroBatch]]


@dataclass
class Plan:
    """
    The updates of a batch.

    # Parameters

    order : `list[str]`
        The player of each update.
    uses_energy, supervised : `bool`, optional (default = `True`)
        Whether the task-net is trained by the energy, and on gold.
    """

    order: list[str]
    uses_energy: bool = True
    supervised: bool = True

    def keeps_graph(self, part: MicroBatch, second: str) -> bool:
        """Whether a graph of this turn may be kept for the turn of `second`, the player that is updated last."""
        return part.alone and self.order[-1] == second


def order_of_updates(steps: dict[str, int], interleaved: bool = False) -> list[str]:
    """
    The player of each update of a batch, in order.

    # Parameters

    steps : `dict[str, int]`
        The number of updates of each player; the first key is the first player.
    interleaved : `bool`, optional (default = `False`)
        Whether all updates of the first player are repeated before every update of the second: a batch then has
        `n_second * (n_first + 1)` updates instead of `n_first + n_second`.
    """
    if interleaved and len(steps) == 2:
        (first, before), (second, times) = steps.items()
        return ([first] * before + [second]) * times
    return [player for player, count in steps.items() for _ in range(count)]


class NotFinite(FloatingPointError):
    """
    The error of a value in training that is not finite.

    # Parameters

    what : `str`
        The value, such as "task_net's loss is nan".
    players : `str`
        The players whose settings should change, the likelier ones first.
    """

    def __init__(self, what: str, *players: str) -> None:
        super().__init__(f"{what}; train at a lower rate.")
        self.what, self.players = what, players


class PlayerLoss(NamedTuple):
    """The next loss that a training loop backpropagates."""

    #: The player of the loss.
    player: str
    #: A scalar with its graph: the player's loss of a batch, divided by the number of batches of the update. The value
    #: of the update's last loss is the mean over these batches.
    loss: torch.Tensor
    #: Whether it is the last loss of an update: the loop must then step the player's optimizer and clear all gradients
    #: before it requests the next loss.
    completes: bool
    #: Whether the update is the last of the player's turn.
    ends_turn: bool
    #: Whether it is the last loss of all updates.
    is_last: bool


class AlternatingUpdates:
    """
    Yields the losses of the two players in turns. The training loop (AllenNLP's, or `TwoPlayerStep`) backpropagates
    each loss and updates the player before it requests the next.

    Intermediate results of a batch are reused while they are valid: one forward pass of the task-net serves both
    players if its parameters have not changed in between.

    # Parameters

    nets : `Objectives`
    optimizer : `TwoPlayerOptimizer`
        The optimizer of the trained players.
    stream : `RandomStream`
        The random stream of the loss-net's samples and dropout.
    reuse_features : `bool`, optional (default = `False`)
        Whether one pass of the loss-net's own encoder serves both players.
    """

    def __init__(
        self, nets: Objectives, optimizer: TwoPlayerOptimizer, stream: RandomStream, reuse_features: bool = False
    ) -> None:
        self.nets, self.optimizer, self.stream, self.reuse_features = nets, optimizer, stream, reuse_features
        #: Replaces the loss-net's loss of a batch by a loss that includes its effect on the task-net.
        self.implicit_loss: Optional[Callable[[MicroBatch], torch.Tensor]] = None
        self._loss_of = {TASK_NET: self._task_net_loss, LOSS_NET: self._loss_net_loss}

    def losses(
        self, updates: list[Update], plan: Plan, parts: Optional[list[MicroBatch]] = None
    ) -> Iterator[PlayerLoss]:
        """
        Yields the losses of updates in order, and sets the optimizer's `turn` to the player of each.

        # Parameters

        updates : `list[Update]`
        plan : `Plan`
        parts : `list[MicroBatch]`, optional
            All batches of the group, if an update has only some of them.

        # Raises

        `NotFinite` if a loss, or an output to sample from, is not finite.
        """
        for place, (player, group) in enumerate(updates):
            ends = place + 1 == len(updates)
            earlier: Union[float, torch.Tensor] = 0.0
            for part in group:
                self.optimizer.turn = player
                loss = self._loss_of[player](part, plan)
                if not torch.isfinite(loss):
                    raise self._not_finite(player, loss, part, plan)
                if player == TASK_NET:
                    part.state = None  # The backward pass frees its graph, and the update makes it stale.
                completes = part is group[-1]
                if len(group) > 1:
                    loss = loss / len(group)
                    earlier, loss = earlier + loss.detach(), (loss + earlier if completes else loss)
                yield PlayerLoss(player, loss, completes, ends or updates[place + 1][0] != player, ends and completes)
            self._drop_stale(player, group if parts is None else parts)

    def blamed(self, player: str, plan: Plan) -> list[str]:
        """The players whose settings should change if the player's gradient is not finite, the likelier ones first."""
        both = player == TASK_NET and plan.uses_energy and LOSS_NET in self.optimizer.players
        return [TASK_NET, LOSS_NET] if both else [player]

    def _drop_stale(self, player: str, parts: list[MicroBatch]) -> None:
        """Removes the cached results that depend on the updated player."""
        for part in parts:
            if player == LOSS_NET:
                part.features.drop(but_vectors=self.reuse_features)
                continue
            part.state = part.candidates = None
            if self.nets.loss_net is not None and self.nets.loss_net.shares_encoder:
                part.features.drop()

    def _task_net_loss(self, part: MicroBatch, plan: Plan) -> torch.Tensor:
        """`L_F` under the present loss-net."""
        nets = self.nets
        state = part.state if part.has_graph else None
        if state is None:
            state = nets.state_of_all_nets(**part.batch)
            part.state, part.has_graph = state, torch.is_grad_enabled()
        if plan.uses_energy and self.reuse_features and plan.keeps_graph(part, LOSS_NET):
            with self.stream.active():
                part.features.prepare(nets, state)
        features = part.features.frozen(nets, state) if plan.uses_energy else None
        if nets.task_loss.draws:
            _check_output(state)
        return nets.task_net_loss(state, features, plan.supervised)

    def _loss_net_loss(self, part: MicroBatch, plan: Plan) -> torch.Tensor:
        """`L_E` on candidates from the present task-net."""
        if self.implicit_loss is not None and plan.uses_energy and TASK_NET in plan.order:
            return self.implicit_loss(part)
        nets = self.nets
        if part.state is None and plan.keeps_graph(part, TASK_NET):
            part.state, part.has_graph = nets.state_of_all_nets(**part.batch), torch.is_grad_enabled()
        with self.stream.active():
            state = part.state
            if state is None:
                # This forward pass of the task-net serves the loss-net alone, so its dropout draws from the loss-net's
                # stream, too. A task-net that is not trained in this phase (a frozen noise net) has no dropout, so that
                # it gives one distribution for an input. The cost-augmented network is trained with the task-net.
                frozen = () if TASK_NET in plan.order else (nets.task_net, nets.cost_augmented_net)
                with torch.no_grad(), without_dropout(*frozen):
                    part.state = state = nets.state_of_all_nets(**part.batch)
                part.has_graph = False
            _check_output(state)
            if part.candidates is None:
                part.candidates = nets.sample(state)
            return nets.loss_net_loss(state, part.candidates, part.features.take(nets, state))

    def _not_finite(self, player: str, loss: torch.Tensor, part: MicroBatch, plan: Plan) -> NotFinite:
        """The error of a loss. The energy in the task-net's loss may be infinite because the loss-net diverges."""
        state = part.state
        if state is not None and LOSS_NET in self.blamed(player, plan)[1:] and torch.isfinite(state.logits).all():
            with torch.no_grad():
                energy = self.nets.task_net_loss(state, part.features.frozen(self.nets, state), supervised=False)
            if not torch.isfinite(energy):
                return NotFinite(f"loss_net's energy of the task_net's output is {float(energy)}", LOSS_NET)
        return NotFinite(f"{player}'s loss is {float(loss.detach())}", player)


def _check_output(state: TaskState) -> None:
    """Raises `NotFinite` if the logits are not finite, so that nothing can be sampled."""
    if not torch.isfinite(state.logits).all():
        raise NotFinite("task_net's output is no longer finite", TASK_NET)
