import math
import random
from collections.abc import Iterator, Sequence

from allennlp.common.checks import ConfigurationError
from allennlp.data import BatchSampler, Instance

from seal.common.setting_checks import check_range
from seal.dataset_readers.batches_by_size import BatchesBySize


@BatchSampler.register("frames")
class BatchesOfFrames(BatchesBySize):
    """
    Batches of similar padded size (`by_size`) for training on semantic roles, of all frames and of some of the sentence
    instances, which train the predicate finder (`seal_srl` reader): each epoch has others. An instance of the finder
    costs as much as a frame; with fewer of them an epoch is shorter, and both learn less.

    # Parameters

    batch_size : `int`
    sentence_share : `float`, optional (default = `1.0`)
        The share of the sentence instances in an epoch, in (0, 1]; rounded up to a whole number of them.
    padding_noise : `float`, optional (default = `0.05`)
        As for `by_size`.

    # Raises

    `ConfigurationError` if the share is out of range, or the instances are not those of frames.
    """

    def __init__(self, batch_size: int, sentence_share: float = 1.0, padding_noise: float = 0.05) -> None:
        check_range("batch_sampler.sentence_share", sentence_share, above=0, most=1)
        super().__init__(batch_size, padding_noise)
        self._share = sentence_share

    def get_batch_indices(self, instances: Sequence[Instance]) -> Iterator[list[int]]:
        frames, sentences = _kinds(instances)
        # In order, so that with all of them the batches are those of `by_size`.
        chosen = sorted(frames + random.sample(sentences, self._number_of(sentences)))
        for batch in super().get_batch_indices([instances[place] for place in chosen]):
            yield [chosen[place] for place in batch]

    def get_num_batches(self, instances: Sequence[Instance]) -> int:
        frames, sentences = _kinds(instances)
        return -(-(len(frames) + self._number_of(sentences)) // self.batch_size)

    def _number_of(self, sentences: list[int]) -> int:
        # Less what rounding adds: 0.1 of 30 are 3.
        return math.ceil(self._share * len(sentences) - 1e-9)


def _kinds(instances: Sequence[Instance]) -> tuple[list[int], list[int]]:
    """The places of frames, and of sentences."""
    kinds: tuple[list[int], list[int]] = ([], [])
    for place, instance in enumerate(instances):
        if "predicate" not in instance.fields:
            raise ConfigurationError(
                "data_loader.batch_sampler.type: 'frames' is for the reader 'seal_srl'; take 'by_size' here."
            )
        kinds[1 not in instance["predicate"].labels].append(place)
    return kinds
