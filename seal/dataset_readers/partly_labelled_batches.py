from collections.abc import Iterable, Iterator, Sequence

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import BatchSampler, Instance

from seal.common.setting_checks import check_range


@BatchSampler.register("partly_labelled")
class PartlyLabelledBatches(BatchSampler):
    """
    Batches of `num_labelled` labelled and `num_unlabelled` unlabelled instances, as told by the field `labelled`. An
    epoch is one pass over the unlabelled instances. The labelled ones, which are few, are repeated, in passes of their
    own. Without unlabelled instances an epoch is one pass over the labelled ones.

    # Parameters

    num_labelled, num_unlabelled : `int`, optional (default = `5` and `15`)
        The numbers in a batch; the last batch of an epoch may have fewer unlabelled instances.

    # Raises

    `ConfigurationError` if one is less than 1.
    """

    def __init__(self, num_labelled: int = 5, num_unlabelled: int = 15) -> None:
        for name, number in (("num_labelled", num_labelled), ("num_unlabelled", num_unlabelled)):
            check_range(f"batch_sampler.{name}", number, least=1)
        self._num_labelled, self._num_unlabelled = num_labelled, num_unlabelled

    def get_batch_indices(self, instances: Sequence[Instance]) -> list[list[int]]:
        # All random draws are made before the first batch: a recovered run skips batches without training on them.
        return list(self._batches(instances))

    def _batches(self, instances: Sequence[Instance]) -> Iterator[list[int]]:
        labelled, others = _kinds(instances)
        if not others:
            yield from _parts(_shuffled(labelled), self._num_labelled)
            return
        # No instance twice in a batch.
        size, waiting = min(self._num_labelled, len(labelled)), []
        for part in _parts(_shuffled(others), self._num_unlabelled):
            chosen, waiting = waiting[:size], waiting[size:]
            if len(chosen) < size:
                # A new pass: instances from the end of the last one are in the batch already, so they come later.
                again = _shuffled(labelled)
                fresh = [index for index in again if index not in chosen][: size - len(chosen)]
                waiting = [index for index in again if index not in fresh]
                chosen = chosen + fresh
            yield chosen + part

    def get_num_batches(self, instances: Sequence[Instance]) -> int:
        labelled, others = _kinds(instances)
        count, size = (len(others), self._num_unlabelled) if others else (len(labelled), self._num_labelled)
        return -(-count // size)

    def get_batch_size(self) -> int:
        return self._num_labelled + self._num_unlabelled


def _kinds(instances: Sequence[Instance]) -> list[list[int]]:
    """The indices of instances with gold, and of the others."""
    kinds: list[list[int]] = [[], []]
    for index, instance in enumerate(instances):
        if "labelled" not in instance.fields:
            raise ConfigurationError(
                "data_loader.batch_sampler.type: 'partly_labelled' needs dataset_reader.labelled, which says whose "
                "tags are known."
            )
        kinds[1 - instance["labelled"].label].append(index)
    return kinds


def _shuffled(indices: list[int]) -> list[int]:
    return [indices[place] for place in torch.randperm(len(indices)).tolist()]


def _parts(indices: list[int], size: int) -> Iterable[list[int]]:
    return (indices[start : start + size] for start in range(0, len(indices), size))
