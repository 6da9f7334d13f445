from collections.abc import Sequence

from allennlp.data import BatchSampler, Instance

from seal.common.length_groups import length_groups, size_of


@BatchSampler.register("by_length")
class BatchesByLength(BatchSampler):
    """
    Batches of sentences of similar length, by their field `tokens`, shortest first and bounded in padded size
    (`seal.common.length_groups`): for evaluation, where one long text would pad all others of its batch to its length.

    # Parameters

    batch_size : `int`
        The most sentences of a batch.
    """

    def __init__(self, batch_size: int) -> None:
        self._batch_size = batch_size

    def get_batch_indices(self, instances: Sequence[Instance]) -> list[list[int]]:
        sizes = [size_of([token.text for token in instance["tokens"]]) for instance in instances]
        return list(length_groups(sizes, self._batch_size))

    def get_num_batches(self, instances: Sequence[Instance]) -> int:
        return len(self.get_batch_indices(instances))

    def get_batch_size(self) -> int:
        return self._batch_size
