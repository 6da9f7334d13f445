"""Distributed training: the exchange of gradients between workers, and sharded optimizer states."""

from collections.abc import Iterable
from typing import Any, Optional, Union

import torch
import torch.distributed as dist
from allennlp.common.checks import ConfigurationError
from allennlp.models import Model
from allennlp.nn.parallel import DdpAccelerator, DdpWrappedModel

from seal.two_player import TwoPlayerOptimizer
from seal.two_player.updates import check_players


@DdpAccelerator.register("replicas")
class ReplicaAccelerator(DdpAccelerator):
    """
    Data-parallel training in which the trainer averages one player's gradients when its turn ends. PyTorch's own
    wrapper expects each forward pass to be followed by one backward pass over all parameters. A two-player step does
    neither: one pass of the task-net serves two losses, and each backward pass reaches one player.

    The default of the trainers `alternating` and `implicit_gradient`.

    # Parameters

    local_rank, world_size : `int`, optional (default = `None`)
        This worker's number and the number of workers; `None`: those of the process group.
    cuda_device : `Union[torch.device, int]`, optional (default = `-1`)
        The model's device; -1 is the CPU.
    """

    def wrap_model(self, model: Model) -> tuple[Model, DdpWrappedModel]:
        model = model.to(self.cuda_device)
        take_from_first_worker(model)
        return model, DdpWrappedModel(model, local_rank=self.local_rank, world_size=self.world_size)


def take_from_first_worker(model: torch.nn.Module) -> None:
    """Copies the parameters and buffers of the first worker's model to the model of every worker."""
    for tensor in (*model.parameters(), *model.buffers()):
        dist.broadcast(tensor.data, src=0)


def accelerator_of_run(
    given: Optional[DdpAccelerator], distributed: bool, cuda_device: Optional[Union[int, torch.device]]
) -> Optional[DdpAccelerator]:
    """The accelerator of the config, which must be a `ReplicaAccelerator`, or the default of a distributed run."""
    if given is not None and not isinstance(given, ReplicaAccelerator):
        raise ConfigurationError(
            "distributed.ddp_accelerator: the trainers 'alternating' and 'implicit_gradient' need 'replicas', "
            f"their default, not {type(given).__name__}."
        )
    if distributed and given is None:
        return ReplicaAccelerator(cuda_device=-1 if cuda_device is None else cuda_device)
    return given


class GradientExchange:
    """
    Replaces each gradient of a player by its mean over the workers, which all have the same parameters in the same
    order. A missing gradient in one worker counts as 0, so that all workers take part in the same exchange. A parameter
    without a gradient in any worker keeps none, and its optimizer skips it, as in a single process.

    Gradients are sent in buckets, in the reverse order of the parameters, which is roughly the order of a backward
    pass. Between `begin` and `finish`, a bucket is sent during the backward pass, as soon as all of its parameters have
    their gradients and the buckets before it are sent: all workers must send in the same order. Parameters without a
    gradient in the last exchange, such as an unused pooling layer, come last, so that no other bucket waits for them. A
    single bucket is sent in `finish`.

    For a matrix larger than a bucket, only the rows with a nonzero gradient in some worker are sent, after their
    indices: a batch has a few hundred of the tens of thousands of word pieces that an encoder embeds.

    # Parameters

    parameters : `Iterable[torch.nn.Parameter]`
    """

    #: The largest size of a bucket of several parameters; as in PyTorch's `DistributedDataParallel`.
    bucket_bytes: float = 25 * 2**20

    def __init__(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        self._parameters = list(parameters)[::-1]
        self._unreached: set[torch.nn.Parameter] = set()
        self._form_buckets()
        # The exchanges in progress, in order.
        self._sent: list[Union[_Sent, _SentByRows]] = []
        # During the last backward pass: the parameters of each bucket that have no gradient of that pass yet.
        self._awaited: Optional[list[set[torch.nn.Parameter]]] = None
        if len(self._buckets) > 1:
            for parameter in self._parameters:
                parameter.register_post_accumulate_grad_hook(self._arrived)

    def begin(self) -> None:
        """Call it before the last backward pass before `finish`. Gradients of earlier passes are accumulated."""
        self._awaited = [set(bucket) for bucket in self._buckets]

    @torch.no_grad()
    def finish(self) -> None:
        """Sends the remaining buckets, and waits until each parameter has its mean gradient."""
        self._awaited = None
        while len(self._sent) < len(self._buckets):
            self._send()
        for sent in self._sent:
            sent.wait()
        reached = torch.cat([sent.reached.bool() for sent in self._sent]).tolist()
        self._sent = []
        parameters = [parameter for bucket in self._buckets for parameter in bucket]
        unreached = {parameter for parameter, anywhere in zip(parameters, reached) if not anywhere}
        for parameter in unreached:
            parameter.grad = None
        if unreached != self._unreached:
            self._unreached = unreached
            self._form_buckets()

    @torch.no_grad()
    def _arrived(self, parameter: torch.nn.Parameter) -> None:
        if self._awaited is None:
            return
        place = self._place[parameter]
        if place < len(self._sent):
            raise RuntimeError(
                "a gradient that has been sent to the other workers has changed: a parameter may get its gradient once "
                "in a backward pass, so that checkpoints in it may not be reentrant, and a turn ends with one such pass"
            )
        self._awaited[place].discard(parameter)
        while len(self._sent) < len(self._buckets) and not self._awaited[len(self._sent)]:
            self._send()

    def _send(self) -> None:
        bucket = self._buckets[len(self._sent)]
        by_rows = len(bucket) == 1 and bucket[0].dim() == 2 and bucket[0].nbytes > self.bucket_bytes
        self._sent.append(_SentByRows(bucket[0]) if by_rows else _Sent(bucket))

    def _form_buckets(self) -> None:
        self._buckets = [self._parameters]
        if sum(parameter.nbytes for parameter in self._parameters) > self.bucket_bytes:
            self._buckets = []
            for late in (False, True):
                left = -1.0
                for parameter in self._parameters:
                    if (parameter in self._unreached) == late:
                        if parameter.nbytes > left:
                            self._buckets.append([])
                            left = self.bucket_bytes
                        self._buckets[-1].append(parameter)
                        left -= parameter.nbytes
        self._place = {parameter: place for place, bucket in enumerate(self._buckets) for parameter in bucket}


class _Sent:
    """The exchange of a bucket in progress. The gradients are views of the exchanged tensor."""

    def __init__(self, parameters: list[torch.nn.Parameter]) -> None:
        parts = [torch.zeros_like(parameter) if parameter.grad is None else parameter.grad for parameter in parameters]
        reached = parts[0].new_tensor([parameter.grad is not None for parameter in parameters])
        # One exchange for everything: the gradients, followed by whether each parameter has one.
        self._flat = torch.cat([part.reshape(-1) for part in parts] + [reached])
        *means, self.reached = self._flat.split([part.numel() for part in parts] + [len(parts)])
        for parameter, mean in zip(parameters, means):
            parameter.grad = mean.view_as(parameter)
        self._work = dist.all_reduce(self._flat, async_op=True)

    def wait(self) -> None:
        self._work.wait()
        self._flat /= dist.get_world_size()


class _SentByRows:
    """The exchange of a matrix's gradient in progress: first the mask of its nonzero rows, then their values."""

    def __init__(self, parameter: torch.nn.Parameter) -> None:
        reached = parameter.grad is not None
        if not reached:
            parameter.grad = torch.zeros_like(parameter)
        self._gradient: torch.Tensor = parameter.grad  # type: ignore[assignment]
        rows = self._gradient.any(dim=1)  # NaN counts as any other value.
        self._reached = torch.cat([rows, rows.new_tensor([reached])]).byte()
        self._work = dist.all_reduce(self._reached, dist.ReduceOp.MAX, async_op=True)

    def wait(self) -> None:
        self._work.wait()
        rows, self.reached = self._reached[:-1].nonzero().squeeze(1), self._reached[-1:]
        if len(rows):
            values = self._gradient[rows]
            dist.all_reduce(values)
            self._gradient[rows] = values / dist.get_world_size()


class ShardedOptimizer(TwoPlayerOptimizer):
    """
    A `TwoPlayerOptimizer` for a distributed run in which each worker holds the optimizer states of a part of the
    parameters of both players (ZeRO, stage 1: Rajbhandari et al. 2020), updates these parameters and sends them to the
    others. Each parameter is assigned as a whole, the largest first, to the worker with the fewest numbers so far. All
    workers must call `step` with the same gradients.

    PyTorch's `ZeroRedundancyOptimizer` does not fit: it keeps Adam's moments when it loads the initial state of an
    optimizer, for a phase with `restart`; and it passes arguments to the optimizer's constructor that AllenNLP's
    optimizers do not accept.

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
                parameter.grad = None  # The optimizer then skips the parameter and creates no state.
        super().step(closure)
        exchanges: list[Any] = []
        for parameter, gradient in reached:
            parameter.grad = gradient
            exchanges.append(dist.broadcast(parameter.data, src=self._owner[parameter], async_op=True))
        for exchange in exchanges:
            exchange.wait()

    def whole_state(self, keep: bool) -> Optional[dict[str, Any]]:
        """
        The `state_dict` of all parameters, on the CPU, in the workers with `keep`; `None` in the others. All workers
        must call it. In addition to the result a worker needs the memory of one parameter's state.
        """
        whole = self.state_dict()
        for name, state in whole.items():
            own, state["state"] = state["state"], {}
            for index, parameter in enumerate(self.parameters(name)):
                entry = own.get(index)
                if entry is not None:
                    entry = {key: value.cpu() if torch.is_tensor(value) else value for key, value in entry.items()}
                box = [entry]
                dist.broadcast_object_list(box, src=self._owner[parameter])
                if keep and box[0] is not None:
                    state["state"][index] = box[0]
        return whole if keep else None

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Loads this worker's part of a `whole_state`, which any number of workers may have written."""
        check_players(self.players, state)
        parts = {}
        for name, whole in state.items():
            parameters = enumerate(self.parameters(name))
            own = {index for index, parameter in parameters if self._owner[parameter] == self._worker}
            parts[name] = {**whole, "state": {index: entry for index, entry in whole["state"].items() if index in own}}
        super().load_state_dict(parts)
