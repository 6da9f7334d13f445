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
        optimizer = self.players[self.turn]
        # AllenNLP's `multi` takes no closure.
        optimizer.step() if closure is None else optimizer.step(closure)

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
    """Raises a `RuntimeError` for the state of other players."""
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
    A batch, and what has been computed for it and is still valid.

    # Parameters

    batch : `dict[str, Any]`
    alone : `bool`, optional (default = `False`)
        Whether it makes an update by itself. Otherwise no graph is kept from one player's turn to the other's:
        accumulation is meant to save memory.
    state : `TaskState`, optional
        Until the task-net is updated. It has a graph to backpropagate through if `has_graph`.
    candidates : `Candidates`, optional
        Until the task-net is updated.
    features : `Features`
        The loss-net's, until it is updated or, with `reuse_features`, for the rest of the step.
    """

    batch: dict[str, Any]
    alone: bool = False
    state: Optional[TaskState] = None
    has_graph: bool = False
    candidates: Optional[Candidates] = None
    features: Features = field(default_factory=Features)


#: An update: its player, and the batches that make it.
Update = tuple[str, list[MicroBatch]]


@dataclass
class Plan:
    """
    What is done with a batch.

    # Parameters

    order : `list[str]`
        The player of each update.
    uses_energy, supervised : `bool`, optional (default = `True`)
        Whether the task-net follows the energy, and gold.
    """

    order: list[str]
    uses_energy: bool = True
    supervised: bool = True

    def keeps_graph(self, part: MicroBatch, second: str) -> bool:
        """Whether a graph of this turn may be kept for the turn of `second`, the player that is updated later."""
        return part.alone and self.order[-1] == second


def order_of_updates(steps: dict[str, int], interleaved: bool = False) -> list[str]:
    """
    The player of each update of a batch, in order.

    # Parameters

    steps : `dict[str, int]`
        The number of updates of each player, with the player that is updated first as the first key.
    interleaved : `bool`, optional (default = `False`)
        Whether the first player is updated `steps` times before every update of the other one, and not before the first
        of them alone: a batch then has `n_second * (n_first + 1)` updates.
    """
    if interleaved and len(steps) == 2:
        (first, before), (second, times) = steps.items()
        return ([first] * before + [second]) * times
    return [player for player, count in steps.items() for _ in range(count)]


class NotFinite(FloatingPointError):
    """
    A value of training is not finite.

    # Parameters

    what : `str`
        Which it is, and how: "task_net's loss is nan".
    players : `str`
        The players whose settings are to change, the likelier ones first.
    """

    def __init__(self, what: str, *players: str) -> None:
        super().__init__(f"{what}; train at a lower rate.")
        self.what, self.players = what, players


class PlayerLoss(NamedTuple):
    """What a loop backpropagates next."""

    #: Whose turn it is.
    player: str
    #: A scalar: the player's loss of a batch, with its graph, divided by the number of batches that make the update.
    #: The last one has the value of the mean over these batches.
    loss: torch.Tensor
    #: Whether it is the update's last: the player is then to be updated by its gradients, and all gradients cleared,
    #: before the next loss is asked for.
    completes: bool
    #: Whether the update is the last of the player's turn.
    ends_turn: bool
    #: Whether it is the last of all.
    is_last: bool


class AlternatingUpdates:
    """
    The losses of two players in turns. Whoever asks for them is the training loop: it backpropagates each one and
    updates the player before it asks for the next. AllenNLP's loop and `TwoPlayerStep` both do.

    What has been computed for a batch is used again as long as it is valid: one pass of the task-net serves both
    players if its parameters have not changed in between.

    # Parameters

    nets : `Objectives`
    optimizer : `TwoPlayerOptimizer`
        Of the players that are trained.
    stream : `RandomStream`
        The loss-net's draws and dropout come from it.
    reuse_features : `bool`, optional (default = `False`)
        Whether one pass of the loss-net's own encoder serves both players.
    """

    def __init__(
        self, nets: Objectives, optimizer: TwoPlayerOptimizer, stream: RandomStream, reuse_features: bool = False
    ) -> None:
        self.nets, self.optimizer, self.stream, self.reuse_features = nets, optimizer, stream, reuse_features
        #: The loss-net's loss of a batch with its effect on a task-net that follows it, where that is wanted.
        self.implicit_loss: Optional[Callable[[MicroBatch], torch.Tensor]] = None
        self._loss_of = {TASK_NET: self._task_net_loss, LOSS_NET: self._loss_net_loss}

    def losses(
        self, updates: list[Update], plan: Plan, parts: Optional[list[MicroBatch]] = None
    ) -> Iterator[PlayerLoss]:
        """
        The losses of updates in order. It is the turn of each one's player in the optimizer.

        # Parameters

        updates : `list[Update]`
        plan : `Plan`
        parts : `list[MicroBatch]`, optional
            All batches of these turns, if they are more than the updates'.

        # Raises

        `NotFinite` if a loss, or an output to draw from, is not finite.
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
        """The players whose settings are to change if the player's gradient is not finite, the likelier ones first."""
        follows = player == TASK_NET and plan.uses_energy and LOSS_NET in self.optimizer.players
        return [TASK_NET, LOSS_NET] if follows else [player]

    def _drop_stale(self, player: str, parts: list[MicroBatch]) -> None:
        """What the player's update has made stale."""
        for part in parts:
            if player == LOSS_NET:
                part.features.drop(but_vectors=self.reuse_features)
                continue
            part.state = part.candidates = None
            if self.nets.loss_net is not None and self.nets.loss_net.shares_encoder:
                part.features.drop()

    def _task_net_loss(self, part: MicroBatch, plan: Plan) -> torch.Tensor:
        """`L_F`, by the energy as it is."""
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
        """`L_E`, of candidates from the task-net as it is."""
        if self.implicit_loss is not None and plan.uses_energy and TASK_NET in plan.order:
            return self.implicit_loss(part)
        nets = self.nets
        if part.state is None and plan.keeps_graph(part, TASK_NET):
            part.state, part.has_graph = nets.state_of_all_nets(**part.batch), torch.is_grad_enabled()
        with self.stream.active():
            state = part.state
            if state is None:
                # This pass of the task-net is for the loss-net alone, so its dropout, too, draws from the loss-net's
                # stream. A task-net that is not trained in this phase (a frozen noise net) has no dropout, so that it
                # gives one distribution for an input; nor has the cost-augmented network, which it trains with.
                frozen = () if TASK_NET in plan.order else (nets.task_net, nets.cost_augmented_net)
                with torch.no_grad(), without_dropout(*frozen):
                    part.state = state = nets.state_of_all_nets(**part.batch)
                part.has_graph = False
            _check_output(state)
            if part.candidates is None:
                part.candidates = nets.sample(state)
            return nets.loss_net_loss(state, part.candidates, part.features.take(nets, state))

    def _not_finite(self, player: str, loss: torch.Tensor, part: MicroBatch, plan: Plan) -> NotFinite:
        """A loss-net that diverges may show it in the task-net's loss, by the energy."""
        state = part.state
        if state is not None and LOSS_NET in self.blamed(player, plan)[1:] and torch.isfinite(state.logits).all():
            with torch.no_grad():
                energy = self.nets.task_net_loss(state, part.features.frozen(self.nets, state), supervised=False)
            if not torch.isfinite(energy):
                return NotFinite(f"loss_net's energy of the task_net's output is {float(energy)}", LOSS_NET)
        return NotFinite(f"{player}'s loss is {float(loss.detach())}", player)


def _check_output(state: TaskState) -> None:
    """Where there is nothing to draw from."""
    if not torch.isfinite(state.logits).all():
        raise NotFinite("task_net's output is no longer finite", TASK_NET)
