from collections import Counter

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import BatchSampler
from allennlp.data.samplers import BucketBatchSampler

from seal.dataset_readers.srl import SrlReader
from seal.dataset_readers.tagging import TaggingReader


def instances_of(sentences, frames_of_each=2):
    """The instances of so many sentences; the words of each have a length of their own."""
    reader = SrlReader()
    for number in range(sentences):
        words = ["word"] * (number % 7 + 3)
        tags = ["B-V"] + ["O"] * (len(words) - 1)
        for predicate in [0] * frames_of_each + [None]:
            yield reader.text_to_instance(words, predicate, tags if predicate == 0 else ["O"] * len(words), [0])


def sampler_of(**settings):
    return BatchSampler.from_params(Params({"type": "frames", "batch_size": 4, **settings}))


def places_of(sampler, instances):
    batches = list(sampler.get_batch_indices(instances))
    assert len(batches) == sampler.get_num_batches(instances)
    return [place for batch in batches for place in batch]


def is_sentence(instance):
    return not any(instance["predicate"].labels)


@pytest.mark.parametrize("share, number", [(0.25, 5), (0.1, 2), (0.15, 3), (0.01, 1)])
def test_an_epoch_has_all_frames_and_other_sentences_each_time(share, number):
    instances, sampler = list(instances_of(20)), sampler_of(sentence_share=share)
    seen = Counter()
    for _ in range(200):
        places = places_of(sampler, instances)
        sentences = [place for place in places if is_sentence(instances[place])]
        assert len(set(sentences)) == len(sentences) == number
        assert sorted(set(places) - set(sentences)) == [i for i, item in enumerate(instances) if not is_sentence(item)]
        assert len(places) == 40 + number
        seen.update(sentences)
    assert len(seen) == 20


def test_with_all_sentences_the_batches_are_those_of_bucket():
    instances = list(instances_of(9))
    bucket = BucketBatchSampler(batch_size=4, sorting_keys=["tokens"], padding_noise=0.0, shuffle=False)
    ours = sampler_of(sentence_share=1, padding_noise=0.0)
    assert sorted(ours.get_batch_indices(instances)) == sorted(bucket.get_batch_indices(instances))


def test_only_frames_or_only_sentences():
    assert len(places_of(sampler_of(), [item for item in instances_of(5) if not is_sentence(item)])) == 10
    assert len(places_of(sampler_of(sentence_share=0.25), list(instances_of(8, frames_of_each=0)))) == 2


def test_batches_are_of_similar_length():
    instances = list(instances_of(70))
    batches = list(sampler_of(padding_noise=0.0).get_batch_indices(instances))
    widest = [max(len(instances[place]["tokens"]) for place in batch) for batch in batches]
    padded = sum(size * len(batch) for size, batch in zip(widest, batches))
    assert padded < 1.1 * sum(len(instances[place]["tokens"]) for batch in batches for place in batch)


@pytest.mark.parametrize("share", [0, 1.1, -1])
def test_the_share_is_a_share(share):
    with pytest.raises(ConfigurationError, match="sentence_share"):
        sampler_of(sentence_share=share)


def test_another_readers_instances_end_in_a_sentence():
    instances = [TaggingReader().text_to_instance(["a"], ["X"])]
    with pytest.raises(ConfigurationError, match="'frames' is for the reader 'seal_srl'; take 'by_size' here"):
        list(sampler_of().get_batch_indices(instances))
