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


@torch.no_grad()
def average_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    """
    Replaces each gradient by its mean over the workers, which all have the same parameters in the same order. A
    parameter that one worker's batch did not reach counts there as 0, so that all workers take part in the same
    exchange; one that no batch reached keeps no gradient, and its optimizer leaves it alone, as in a single process.
    """
    parameters = list(parameters)
    parts = [torch.zeros_like(parameter) if parameter.grad is None else parameter.grad for parameter in parameters]
    reached = parts[0].new_tensor([parameter.grad is not None for parameter in parameters])
    # One exchange for everything: the gradients, followed by whether each parameter has one.
    flat = torch.cat([part.reshape(-1) for part in parts] + [reached])
    dist.all_reduce(flat)
    *means, reached = (flat / dist.get_world_size()).split([part.numel() for part in parts] + [len(parts)])
    for parameter, mean, anywhere in zip(parameters, means, reached.tolist()):
        parameter.grad = mean.view_as(parameter) if anywhere else None
