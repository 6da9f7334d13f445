import random

import pytest
from allennlp.common import Params
from allennlp.data import BatchSampler
from allennlp.data.fields import TextField
from allennlp.data.samplers import BucketBatchSampler

from seal.dataset_readers.srl import SrlReader


def instances_of(lengths):
    return [SrlReader().text_to_instance(["word"] * n, 0, ["B-V"] + ["O"] * (n - 1)) for n in lengths]


def sampler_of(**settings):
    return BatchSampler.from_params(Params({"type": "by_size", **settings}))


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_of_words_the_batches_are_those_of_bucket(noise):
    instances = instances_of([5, 1, 9, 3, 3, 7, 2])
    bucket = BucketBatchSampler(batch_size=3, sorting_keys=["tokens"], padding_noise=noise)
    ours = sampler_of(batch_size=3, padding_noise=noise)
    random.seed(7)
    theirs = list(bucket.get_batch_indices(instances))
    random.seed(7)
    assert list(ours.get_batch_indices(instances)) == theirs
    assert ours.get_num_batches(instances) == 3 and ours.get_batch_size() == 3


def test_sentences_of_as_many_pieces_are_together(monkeypatch):
    instances = instances_of([4] * 6)
    pieces = {id(instance["tokens"]): number for instance, number in zip(instances, (9, 4, 9, 4, 9, 4))}
    monkeypatch.setattr(TextField, "get_padding_lengths", lambda field: {"tokens___token_ids": pieces[id(field)]})
    for instance in instances:
        instance.indexed = True
    for _ in range(5):
        batches = sampler_of(batch_size=3).get_batch_indices(instances)
        assert sorted(map(sorted, batches)) == [[0, 2, 4], [1, 3, 5]]


def test_batches_differ_between_epochs():
    instances, sampler = instances_of(range(1, 60)), sampler_of(batch_size=4)
    first, second = ({frozenset(batch) for batch in sampler.get_batch_indices(instances)} for _ in range(2))
    assert first != second and set().union(*first) == set(range(59))
