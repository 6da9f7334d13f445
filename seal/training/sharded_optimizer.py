from typing import Any, Optional

import torch
import torch.distributed as dist

from seal.two_player import TwoPlayerOptimizer
from seal.two_player.optimizer import check_players


class ShardedOptimizer(TwoPlayerOptimizer):
    """
    As `TwoPlayerOptimizer`, for a distributed run in which each worker keeps the states of its own part of the
    parameters of both players (ZeRO, stage 1: Rajbhandari et al. 2020): it updates these and sends them to the others.
    A parameter belongs to one worker as a whole, the largest ones first, each to the worker that has least. All workers
    must call `step` with the same gradients.

    PyTorch's `ZeroRedundancyOptimizer` would not do: when it loads the first state of an optimizer, for a phase with
    `restart`, it keeps Adam's moments; and it constructs the optimizer by itself, with the arguments of torch's, which
    AllenNLP's do not take.

    # Parameters

    players : `dict[str, torch.optim.Optimizer]`
    """

    def __init__(self, players: dict[str, torch.optim.Optimizer]) -> None:
        super().__init__(players)
        self._worker, sizes = dist.get_rank(), [0] * dist.get_world_size()
        self._owner: dict[torch.nn.Parameter, int] = {}
        parameters = [parameter for name in players for parameter in self.parameters(name)]
        for parameter in sorted(parameters, key=lambda parameter: -parameter.numel()):
            self._owner[parameter] = sizes.index(min(sizes))
            sizes[self._owner[parameter]] += parameter.numel()

    def step(self, closure=None) -> None:
        if self.pauses:
            return
        reached = [(parameter, parameter.grad) for parameter in self.parameters() if parameter.grad is not None]
        for parameter, _ in reached:
            if self._owner[parameter] != self._worker:
                parameter.grad = None  # So that the optimizer leaves it alone, and keeps no state of it.
        super().step(closure)
        exchanges = []
        for parameter, gradient in reached:
            parameter.grad = gradient
            exchanges.append(dist.broadcast(parameter.data, src=self._owner[parameter], async_op=True))
        for exchange in exchanges:
            exchange.wait()

    def whole_state(self, keep: bool) -> Optional[dict[str, Any]]:
        """
        What `state_dict` would be in one process, in memory of the CPU, for those workers that `keep` it. All workers
        must call this. They have one parameter's state at a time beside what they keep.
        """
        whole = self.state_dict()
        for name, state in whole.items():
            own, state["state"] = state["state"], {}
            for index, parameter in enumerate(self.parameters(name)):
                found = own.get(index)
                if found is not None:
                    found = {key: value.cpu() if torch.is_tensor(value) else value for key, value in found.items()}
                box = [found]
                dist.broadcast_object_list(box, src=self._owner[parameter])
                if keep and box[0] is not None:
                    state["state"][index] = box[0]
        return whole if keep else None

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes this worker's part of a whole state, whatever the number of workers was."""
        check_players(self.players, state)
        parts = {}
        for name, whole in state.items():
            parameters = enumerate(self.parameters(name))
            own = {index for index, parameter in parameters if self._owner[parameter] == self._worker}
            parts[name] = {**whole, "state": {index: found for index, found in whole["state"].items() if index in own}}
        super().load_state_dict(parts)
