import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import BatchSampler, Instance
from allennlp.data.fields import IndexField, LabelField, ListField, TextField
from allennlp.data.samplers import BucketBatchSampler

from seal.common import length_groups
from seal.dataset_readers.srl import SrlReader


def instances_of(lengths):
    return [SrlReader().text_to_instance(["word"] * n, 0, ["B-V"] + ["O"] * (n - 1)) for n in lengths]


def sampler_of(**settings):
    return BatchSampler.from_params(Params({"type": "by_length", **settings}))


def test_batches_are_those_of_the_bucket_sampler_without_noise():
    instances = instances_of([5, 1, 9, 3, 3, 7, 2])
    bucket = BucketBatchSampler(batch_size=3, sorting_keys=["tokens"], shuffle=False)
    sampler = sampler_of(batch_size=3)
    assert list(sampler.get_batch_indices(instances)) == list(bucket.get_batch_indices(instances))
    assert sampler.get_num_batches(instances) == 3 and sampler.get_batch_size() == 3


def test_a_long_sentence_does_not_pad_others(monkeypatch):
    monkeypatch.setattr(length_groups, "MOST_WORDS", 40)
    instances = instances_of([2, 50, 3, 2])
    sampler = sampler_of(batch_size=4)
    assert list(sampler.get_batch_indices(instances)) == [[0, 3, 2], [1]]
    assert sampler.get_num_batches(instances) == 2


def test_pieces_count(monkeypatch):
    monkeypatch.setattr(length_groups, "MOST_WORDS", 20)
    instances = instances_of([2, 2, 2])
    pieces = {id(instance["tokens"]): number for instance, number in zip(instances, (3, 30, 3))}
    monkeypatch.setattr(TextField, "get_padding_lengths", lambda field: {"tokens___token_ids": pieces[id(field)]})
    for instance in instances:
        instance.indexed = True
    assert list(sampler_of(batch_size=4).get_batch_indices(instances)) == [[0, 2], [1]]


def test_instances_without_tokens_stay_in_their_order():
    instances = [Instance({"index": IndexField(0, ListField([LabelField("a")]))}) for _ in range(5)]
    sampler = sampler_of(batch_size=2)
    assert sampler.get_batch_indices(instances) == [[0, 1], [2, 3], [4]] and sampler.get_num_batches(instances) == 3


def test_a_batch_has_a_sentence():
    with pytest.raises(ConfigurationError, match='"batch_size" of BatchesByLength must be at least 1'):
        sampler_of(batch_size=0)
