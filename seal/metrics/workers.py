"""
Exchange of values between the workers of a distributed run.
"""

from typing import TypeVar

import torch.distributed as dist
from allennlp.common.util import is_distributed

T = TypeVar("T")


def gathered(value: T) -> list[T]:
    """
    The `value` of every worker, in the order of their ranks; the value of this process alone in a run that is not
    distributed. All workers must call it. Values are pickled, so they may differ in type and size: workers see
    different labels, and some of them no row at all, so that tensors of counts would not have the same shape.
    """
    if not is_distributed():
        return [value]
    workers: list = [None] * dist.get_world_size()
    dist.all_gather_object(workers, value)
    return workers
