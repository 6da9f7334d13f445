from collections.abc import Sequence

from allennlp.data import BatchSampler, Instance

from seal.common.length_groups import Size, length_groups, pieces_of, size_of


@BatchSampler.register("by_length")
class BatchesByLength(BatchSampler):
    """
    Batches of sentences of similar length, by their field `tokens`, shortest first and bounded in padded size
    (`seal.common.length_groups`): for evaluation, where one long text would pad all others of its batch to its length.
    Instances without such a field stay in their order.

    # Parameters

    batch_size : `int`
        The most sentences of a batch.
    """

    def __init__(self, batch_size: int) -> None:
        self._batch_size = batch_size

    def get_batch_indices(self, instances: Sequence[Instance]) -> list[list[int]]:
        if not all("tokens" in instance.fields for instance in instances):
            places = range(len(instances))
            return [list(places[start : start + self._batch_size]) for start in places[:: self._batch_size]]
        return list(length_groups([_size_of(instance) for instance in instances], self._batch_size))

    def get_num_batches(self, instances: Sequence[Instance]) -> int:
        return len(self.get_batch_indices(instances))

    def get_batch_size(self) -> int:
        return self._batch_size


def pieces_in(instance: Instance) -> int:
    """The pieces that the encoder of `tokens` reads; 0 where it reads words."""
    # A loader's instances are indexed; before, their pieces are not known.
    return pieces_of(instance["tokens"].get_padding_lengths()) if instance.indexed else 0


def _size_of(instance: Instance) -> Size:
    return size_of([token.text for token in instance["tokens"]])._replace(pieces=pieces_in(instance))
