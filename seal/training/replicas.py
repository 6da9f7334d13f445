from collections.abc import Iterable
from typing import Optional, Union

import torch
import torch.distributed as dist
from allennlp.common.checks import ConfigurationError
from allennlp.models import Model
from allennlp.nn.parallel import DdpAccelerator, DdpWrappedModel


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
        with torch.no_grad():
            for tensor in list(model.parameters()) + list(model.buffers()):
                dist.broadcast(tensor.data, src=0)
        return model, DdpWrappedModel(model, local_rank=self.local_rank, world_size=self.world_size)


def accelerator_of_run(
    given: Optional[DdpAccelerator], distributed: bool, cuda_device: Optional[Union[int, torch.device]]
) -> Optional[DdpAccelerator]:
    """The one that the config gives, which must be of this kind, or the default of a distributed run."""
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
    order. A parameter that one worker's batch did not reach counts there as 0, so that all workers take part in the
    same exchange; one that no batch reached keeps no gradient, and its optimizer leaves it alone, as in a single
    process.

    Gradients go in buckets, in the reverse order of the parameters, which is about that of a backward pass. Between
    `begin` and `finish`, a bucket is sent as soon as all of its parameters have their gradient and the buckets before
    it are on their way, while the pass goes on: all workers must send in one order. What the last exchange reached in
    no worker, such as a pooling layer of no use, comes last, so that no other bucket waits for it. What has one bucket
    is sent at the end.

    Of a matrix that is more than a bucket by itself, the rows that some worker's gradient is not zero in are sent, and
    before them which these are: a batch has a few hundred of the tens of thousands of pieces that an encoder embeds.

    # Parameters

    parameters : `Iterable[torch.nn.Parameter]`
    """

    #: The most of a bucket, unless it is a single parameter: that of PyTorch's `DistributedDataParallel`.
    bucket_bytes: float = 25 * 2**20

    def __init__(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        self._parameters = list(parameters)[::-1]
        self._unreached: set[torch.nn.Parameter] = set()
        self._form_buckets()
        # Those on their way, in order.
        self._sent: list[_Sent] = []
        # During the last backward pass: of each bucket, what has no gradient of that pass yet.
        self._awaited: Optional[list[set[torch.nn.Parameter]]] = None
        if len(self._buckets) > 1:
            for parameter in self._parameters:
                parameter.register_post_accumulate_grad_hook(self._arrived)

    def begin(self) -> None:
        """The backward pass that follows is the last before `finish`; gradients of earlier ones are kept and added."""
        self._awaited = [set(bucket) for bucket in self._buckets]

    @torch.no_grad()
    def finish(self) -> None:
        """Sends what has not been sent, and waits until each parameter has its mean gradient."""
        self._awaited = None
        while len(self._sent) < len(self._buckets):
            self._send()
        for sent in self._sent:
            sent.wait()
        found = torch.cat([sent.reached.bool() for sent in self._sent]).tolist()
        self._sent = []
        parameters = [parameter for bucket in self._buckets for parameter in bucket]
        unreached = {parameter for parameter, anywhere in zip(parameters, found) if not anywhere}
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
                room = -1.0
                for parameter in self._parameters:
                    if (parameter in self._unreached) == late:
                        if parameter.nbytes > room:
                            self._buckets.append([])
                            room = self.bucket_bytes
                        self._buckets[-1].append(parameter)
                        room -= parameter.nbytes
        self._place = {parameter: place for place, bucket in enumerate(self._buckets) for parameter in bucket}


class _Sent:
    """The gradients of a bucket on their way: each is a part of what is exchanged, as soon as that begins."""

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
    """The gradient of a matrix on its way: first which of its rows are reached, when these are known their values."""

    def __init__(self, parameter: torch.nn.Parameter) -> None:
        reached = parameter.grad is not None
        if not reached:
            parameter.grad = torch.zeros_like(parameter)
        self._gradient = parameter.grad
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
