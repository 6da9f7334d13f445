from typing import Iterable, Tuple

import torch
import torch.distributed as dist
from allennlp.models import Model
from allennlp.nn.parallel import DdpAccelerator, DdpWrappedModel


@DdpAccelerator.register("replicas")
class ReplicaAccelerator(DdpAccelerator):
    """
    Data-parallel training in which the trainer averages one player's gradients when its turn ends. PyTorch's own
    wrapper ties every forward pass to one backward pass over all parameters, and a two-player step is neither: one
    pass of the task-net serves two losses, and each backward pass reaches one player.

    The default of the `alternating` trainer.
    """

    def wrap_model(self, model: Model) -> Tuple[Model, DdpWrappedModel]:
        model = model.to(self.cuda_device)
        with torch.no_grad():
            for tensor in list(model.parameters()) + list(model.buffers()):
                dist.broadcast(tensor.data, src=0)
        return model, DdpWrappedModel(
            model, local_rank=self.local_rank, world_size=self.world_size
        )


@torch.no_grad()
def average_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    """
    Replaces each gradient by its mean over the workers. A parameter that a worker's batch did not reach counts
    there as 0, so that all workers take part in the same exchange.
    """
    parameters = list(parameters)
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    flat = torch.cat([parameter.grad.reshape(-1) for parameter in parameters])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for parameter, mean in zip(parameters, flat.split([p.numel() for p in parameters])):
        parameter.grad.copy_(mean.view_as(parameter))
