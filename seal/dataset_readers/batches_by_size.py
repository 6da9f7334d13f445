from collections.abc import Sequence

from allennlp.data import BatchSampler, Instance
from allennlp.data.samplers import BucketBatchSampler
from allennlp.data.samplers.bucket_batch_sampler import add_noise_to_value

from seal.dataset_readers.batches_by_length import pieces_in


@BatchSampler.register("by_size")
class BatchesBySize(BucketBatchSampler):
    """
    Batches of similar padded size in random order, for training: AllenNLP's `bucket`, by what the encoder of `tokens`
    reads. A transformer reads pieces of words, and of sentences with as many words some have twice as many pieces.

    # Parameters

    batch_size : `int`
    padding_noise : `float`, optional (default = `0.05`)
        Each size is changed by up to this share of it before they are sorted, so that the batches of two epochs differ.
    """

    def __init__(self, batch_size: int, padding_noise: float = 0.05) -> None:
        super().__init__(batch_size, sorting_keys=["tokens"], padding_noise=padding_noise)

    def _argsort_by_padding(self, instances: Sequence[Instance]) -> tuple[list[int], list[list[int]]]:
        sizes = [pieces_in(instance) or len(instance["tokens"]) for instance in instances]
        noisy = [add_noise_to_value(size, self.padding_noise) for size in sizes]
        order = sorted(range(len(sizes)), key=noisy.__getitem__)
        return order, [[sizes[place]] for place in order]
