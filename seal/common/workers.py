"""
What the workers of a distributed run tell each other.
"""

from typing import List, TypeVar

import torch.distributed as dist
from allennlp.common.util import is_distributed

T = TypeVar("T")


def of_all_workers(value: T) -> List[T]:
    """
    The `value` of every worker, in the order of their ranks; of this process alone where there are no others. All of
    them must call it. Values are pickled on their way, so they may differ in kind and size: workers see different
    labels, and some of them no row at all, where tensors of counts would not line up.
    """
    if not is_distributed():
        return [value]
    workers: List = [None] * dist.get_world_size()
    dist.all_gather_object(workers, value)
    return workers
