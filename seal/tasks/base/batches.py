"""Batch samplers: by length, by padded size, for frames, and for partly labelled data."""

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import BatchSampler, Instance
from allennlp.data.fields import LabelField, MetadataField, SequenceLabelField, TextField
from allennlp.data.samplers import BucketBatchSampler
from allennlp.data.samplers.bucket_batch_sampler import add_noise_to_value

from seal.common.length_groups import Size, length_groups, pieces_of, size_of
from seal.common.setting_checks import check_range
from seal.tasks.base.fields import field_of


@BatchSampler.register("by_length")
class BatchesByLength(BatchSampler):
    """
    Batches of sentences of similar length, shortest first and bounded in padded size (`seal.common.length_groups`), for
    evaluation: a batch is padded to its longest text. The length is the number of tokens in the field `tokens`;
    instances without it stay in their order.

    # Parameters

    batch_size : `int`
        The most sentences in a batch.
    """

    def __init__(self, batch_size: int) -> None:
        check_range("batch_size", batch_size, least=1)
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
    """The number of word pieces that the encoder of `tokens` reads; 0 if it reads words."""
    # Only indexed instances, such as a loader's, have pieces.
    return pieces_of(instance["tokens"].get_padding_lengths()) if instance.indexed else 0


def _size_of(instance: Instance) -> Size:
    return size_of([token.text or "" for token in field_of(instance, "tokens", TextField)])._replace(
        pieces=pieces_in(instance)
    )


@BatchSampler.register("by_size")
class BatchesBySize(BucketBatchSampler):
    """
    Batches of similar padded size in random order, for training: AllenNLP's `bucket`, where the size is the number of
    pieces or words that the encoder of `tokens` reads. Two sentences with equal numbers of words may differ by a factor
    of two in pieces.

    # Parameters

    batch_size : `int`
    padding_noise : `float`, optional (default = `0.05`)
        Each size is changed randomly by up to this share before sorting, so that the batches of two epochs differ.
    """

    def __init__(self, batch_size: int, padding_noise: float = 0.05) -> None:
        super().__init__(batch_size, sorting_keys=["tokens"], padding_noise=padding_noise)

    def _argsort_by_padding(self, instances: Iterable[Instance]) -> tuple[list[int], list[list[int]]]:
        sizes = [pieces_in(instance) or len(instance["tokens"]) for instance in instances]
        noisy = [add_noise_to_value(size, self.padding_noise) for size in sizes]
        order = sorted(range(len(sizes)), key=noisy.__getitem__)
        return order, [[sizes[place]] for place in order]


@BatchSampler.register("frames")
class BatchesOfFrames(BatchesBySize):
    """
    Batches of similar padded size (`by_size`) for training on semantic roles. Each epoch has all frames and a new
    random sample of the sentence instances, which train the predicate finder (`seal_srl` reader). A sentence instance
    costs as much time as a frame: with fewer of them an epoch is shorter, and the predicate finder and the shared
    encoder learn less.

    # Parameters

    batch_size : `int`
    sentence_share : `float`, optional (default = `1.0`)
        The share of the sentence instances in an epoch, in (0, 1]; their number is rounded up.
    padding_noise : `float`, optional (default = `0.05`)
        As in `by_size`.
    by_sentence : `bool`, optional (default = `False`)
        Whether the frames of a sentence are next to each other, so that they are in one batch but for a sentence at
        its end (for `crossing_weight` of the model `seal_srl`).

    # Raises

    `ConfigurationError` if the share is out of range, or the instances are not from the `seal_srl` reader.
    """

    def __init__(
        self,
        batch_size: int,
        sentence_share: float = 1.0,
        padding_noise: float = 0.05,
        by_sentence: bool = False,
    ) -> None:
        check_range("batch_sampler.sentence_share", sentence_share, above=0, most=1)
        super().__init__(batch_size, padding_noise)
        self._share, self._by_sentence = sentence_share, by_sentence

    def get_batch_indices(self, instances: Sequence[Instance]) -> Iterator[list[int]]:
        frames, sentences = _frames_and_sentences(instances)
        # Sorted, so that with `sentence_share = 1` the batches equal those of `by_size`.
        chosen = sorted(frames + random.sample(sentences, self._number_of(sentences)))
        for batch in super().get_batch_indices([instances[place] for place in chosen]):
            yield [chosen[place] for place in batch]

    def get_num_batches(self, instances: Sequence[Instance]) -> int:
        frames, sentences = _frames_and_sentences(instances)
        return -(-(len(frames) + self._number_of(sentences)) // self.batch_size)

    def _argsort_by_padding(self, instances: Iterable[Instance]) -> tuple[list[int], list[list[int]]]:
        instances = list(instances)
        order, sizes = super()._argsort_by_padding(instances)
        if self._by_sentence:
            # A sentence comes where the first of its frames comes.
            first: dict[Any, int] = {}
            places = []
            for rank, place in enumerate(order):
                source = field_of(instances[place], "metadata", MetadataField).metadata["source"]
                places.append(first.setdefault(place if source is None else source, rank))
            ranks = sorted(range(len(order)), key=places.__getitem__)
            order, sizes = [order[rank] for rank in ranks], [sizes[rank] for rank in ranks]
        return order, sizes

    def _number_of(self, sentences: list[int]) -> int:
        # Corrects the rounding of floating point: 0.1 of 30 is 3.
        return math.ceil(self._share * len(sentences) - 1e-9)


def _frames_and_sentences(instances: Sequence[Instance]) -> tuple[list[int], list[int]]:
    """The indices of the frames, and of the sentence instances."""
    kinds: tuple[list[int], list[int]] = ([], [])
    for place, instance in enumerate(instances):
        if "predicate" not in instance.fields:
            raise ConfigurationError(
                "data_loader.batch_sampler.type: 'frames' is for the reader 'seal_srl'; take 'by_size' here."
            )
        kinds[1 not in field_of(instance, "predicate", SequenceLabelField).labels].append(place)
    return kinds


@BatchSampler.register("partly_labelled")
class PartlyLabelledBatches(BatchSampler):
    """
    Batches of `num_labelled` labelled and `num_unlabelled` unlabelled instances; the field `labelled` distinguishes
    them. An epoch is one pass over the unlabelled instances, during which the labelled ones, which are few, are
    repeated. Without unlabelled instances an epoch is one pass over the labelled ones.

    # Parameters

    num_labelled, num_unlabelled : `int`, optional (default = `5` and `15`)
        The numbers per batch; the last batch of an epoch may have fewer unlabelled instances.

    # Raises

    `ConfigurationError` if one is less than 1.
    """

    def __init__(self, num_labelled: int = 5, num_unlabelled: int = 15) -> None:
        for name, number in (("num_labelled", num_labelled), ("num_unlabelled", num_unlabelled)):
            check_range(f"batch_sampler.{name}", number, least=1)
        self._num_labelled, self._num_unlabelled = num_labelled, num_unlabelled

    def get_batch_indices(self, instances: Sequence[Instance]) -> list[list[int]]:
        # All random numbers are drawn before the first batch, since a recovered run skips batches without training.
        return list(self._batches(instances))

    def _batches(self, instances: Sequence[Instance]) -> Iterator[list[int]]:
        labelled, others = _labelled_and_others(instances)
        if not others:
            yield from _parts(_shuffled(labelled), self._num_labelled)
            return
        # No instance twice in a batch.
        size = min(self._num_labelled, len(labelled))
        waiting: list[int] = []
        for part in _parts(_shuffled(others), self._num_unlabelled):
            chosen, waiting = waiting[:size], waiting[size:]
            if len(chosen) < size:
                # In the new pass, instances that are already in the batch come later.
                again = _shuffled(labelled)
                fresh = [index for index in again if index not in chosen][: size - len(chosen)]
                waiting = [index for index in again if index not in fresh]
                chosen = chosen + fresh
            yield chosen + part

    def get_num_batches(self, instances: Sequence[Instance]) -> int:
        labelled, others = _labelled_and_others(instances)
        count, size = (len(others), self._num_unlabelled) if others else (len(labelled), self._num_labelled)
        return -(-count // size)

    def get_batch_size(self) -> int:
        return self._num_labelled + self._num_unlabelled


def _labelled_and_others(instances: Sequence[Instance]) -> list[list[int]]:
    """The indices of instances with gold, and of the others."""
    kinds: list[list[int]] = [[], []]
    for index, instance in enumerate(instances):
        if "labelled" not in instance.fields:
            raise ConfigurationError(
                "data_loader.batch_sampler.type: 'partly_labelled' needs dataset_reader.labelled, which says whose "
                "tags are known."
            )
        kinds[1 - int(field_of(instance, "labelled", LabelField).label)].append(index)
    return kinds


def _shuffled(indices: list[int]) -> list[int]:
    return [indices[place] for place in torch.randperm(len(indices)).tolist()]


def _parts(indices: list[int], size: int) -> Iterable[list[int]]:
    return (indices[start : start + size] for start in range(0, len(indices), size))
