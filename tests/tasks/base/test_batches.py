import random
from collections import Counter
from itertools import groupby

import pytest
import torch
from allennlp.common import Params
from allennlp.data import BatchSampler, Instance, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.fields import IndexField, LabelField, ListField, TextField
from allennlp.data.samplers import BucketBatchSampler

from seal.common import length_groups
from seal.tasks.base.batches import PartlyLabelledBatches
from seal.tasks.srl.reader import SrlReader
from seal.tasks.tagging.reader import TaggingReader


def instances_of(lengths):
    return [SrlReader().text_to_instance(["word"] * n, 0, ["B-V"] + ["O"] * (n - 1)) for n in lengths]


def sampler_of(kind, batch_size=4, **settings):
    return BatchSampler.from_params(Params({"type": kind, "batch_size": batch_size, **settings}))


@pytest.fixture
def of_pieces(monkeypatch):
    """Makes instances of sentences of so many words that are of so many pieces each."""

    def make(lengths, pieces):
        instances = instances_of(lengths)
        of_field = {id(instance["tokens"]): number for instance, number in zip(instances, pieces)}
        monkeypatch.setattr(TextField, "get_padding_lengths", lambda field: {"tokens___token_ids": of_field[id(field)]})
        for instance in instances:
            instance.indexed = True
        return instances

    return make


def test_batches_are_those_of_the_bucket_sampler_without_noise():
    instances = instances_of([5, 1, 9, 3, 3, 7, 2])
    bucket = BucketBatchSampler(batch_size=3, sorting_keys=["tokens"], shuffle=False)
    sampler = sampler_of("by_length", batch_size=3)
    assert list(sampler.get_batch_indices(instances)) == list(bucket.get_batch_indices(instances))
    assert sampler.get_num_batches(instances) == 3 and sampler.get_batch_size() == 3


def test_a_long_sentence_does_not_pad_others(monkeypatch):
    monkeypatch.setattr(length_groups, "MOST_WORDS", 40)
    instances = instances_of([2, 50, 3, 2])
    sampler = sampler_of("by_length", batch_size=4)
    assert list(sampler.get_batch_indices(instances)) == [[0, 3, 2], [1]]
    assert sampler.get_num_batches(instances) == 2


def test_instances_without_tokens_stay_in_their_order():
    instances = [Instance({"index": IndexField(0, ListField([LabelField("a")]))}) for _ in range(5)]
    sampler = sampler_of("by_length", batch_size=2)
    assert sampler.get_batch_indices(instances) == [[0, 1], [2, 3], [4]] and sampler.get_num_batches(instances) == 3


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_of_words_the_batches_are_those_of_bucket(noise):
    instances = instances_of([5, 1, 9, 3, 3, 7, 2])
    bucket = BucketBatchSampler(batch_size=3, sorting_keys=["tokens"], padding_noise=noise)
    ours = sampler_of("by_size", batch_size=3, padding_noise=noise)
    random.seed(7)
    theirs = list(bucket.get_batch_indices(instances))
    random.seed(7)
    assert list(ours.get_batch_indices(instances)) == theirs
    assert ours.get_num_batches(instances) == 3 and ours.get_batch_size() == 3


def test_sentences_of_as_many_pieces_are_together(of_pieces):
    instances = of_pieces([4] * 6, (9, 4, 9, 4, 9, 4))
    for _ in range(5):
        batches = sampler_of("by_size", batch_size=3).get_batch_indices(instances)
        assert sorted(map(sorted, batches)) == [[0, 2, 4], [1, 3, 5]]


def frames_and_sentences(sentences, frames_of_each=2):
    """The instances of so many sentences; the words of each have a length of their own."""
    reader = SrlReader()
    for number in range(sentences):
        words = ["word"] * (number % 7 + 3)
        tags = ["B-V"] + ["O"] * (len(words) - 1)
        for predicate in [0] * frames_of_each + [None]:
            yield reader.text_to_instance(words, predicate, tags if predicate == 0 else ["O"] * len(words), [0])


def places_of(sampler, instances):
    batches = list(sampler.get_batch_indices(instances))
    assert len(batches) == sampler.get_num_batches(instances)
    return [place for batch in batches for place in batch]


def is_sentence(instance):
    return not any(instance["predicate"].labels)


@pytest.mark.parametrize("share, number", [(0.25, 5), (0.1, 2), (0.15, 3), (0.01, 1)])
def test_an_epoch_has_all_frames_and_other_sentences_each_time(share, number):
    instances, sampler = list(frames_and_sentences(20)), sampler_of("frames", sentence_share=share)
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
    instances = list(frames_and_sentences(9))
    bucket = BucketBatchSampler(batch_size=4, sorting_keys=["tokens"], padding_noise=0.0, shuffle=False)
    ours = sampler_of("frames", sentence_share=1, padding_noise=0.0)
    assert sorted(ours.get_batch_indices(instances)) == sorted(bucket.get_batch_indices(instances))


def test_the_frames_of_a_sentence_are_next_to_each_other():
    reader = SrlReader()
    instances = [
        reader.text_to_instance(["word"] * (5 + sentence % 3), frame, source=f"a:{sentence}")
        for frame in range(4)
        for sentence in range(12)
    ]
    instances += [reader.text_to_instance(["word"] * 6, 0) for _ in range(8)]
    for batch_size, parts in ((56, 12), (4, 24)):
        batches = list(
            sampler_of("frames", batch_size, by_sentence=True, padding_noise=0.3).get_batch_indices(instances)
        )
        assert sorted(place for batch in batches for place in batch) == list(range(56))
        # A sentence is whole, or at the ends of two batches.
        runs = [
            source
            for batch in batches
            for source, _ in groupby(instances[place]["metadata"]["source"] for place in batch)
            if source is not None
        ]
        assert 12 <= len(runs) <= parts and set(Counter(runs)) == {f"a:{sentence}" for sentence in range(12)}
        assert max(Counter(runs).values()) <= 2


def partly_labelled(labelled, others):
    reader = TaggingReader(labelled=labelled)
    kinds = [["X"]] * labelled + [None] * others
    return [reader.text_to_instance([f"w{i}"], tags) for i, tags in enumerate(kinds)]


@pytest.mark.parametrize("labelled, others, size", [(5, 23, 3), (5, 40, 5), (2, 9, 4), (7, 300, 4), (0, 9, 4)])
def test_an_epoch_is_a_pass_over_the_others(labelled, others, size):
    torch.manual_seed(0)
    instances, sampler = partly_labelled(labelled, others), PartlyLabelledBatches(size, 4)
    batches = list(sampler.get_batch_indices(instances))
    assert len(batches) == sampler.get_num_batches(instances) == -(-others // 4)
    seen = Counter(index for batch in batches for index in batch)
    assert all(seen[index] == 1 for index in range(labelled, labelled + others))
    counts = [seen[index] for index in range(labelled)]
    assert not counts or max(counts) - min(counts) <= 1
    for batch in batches:
        assert len(set(batch)) == len(batch)
        assert sum(index < labelled for index in batch) == min(size, labelled)
    # In an order that is the generator's: another in each pass, whatever else draws from it.
    assert list(sampler.get_batch_indices(instances)) != batches
    torch.manual_seed(0)
    assert list(sampler.get_batch_indices(instances)) == batches


def test_mixed_batches_come_out_of_a_loader(tmp_path):
    path = tmp_path / "data"
    path.write_text("\n\n".join(f"a X\nb{i} Y" for i in range(10)), encoding="utf-8")
    reader = TaggingReader(labelled=2)
    loader = MultiProcessDataLoader(reader, str(path), batch_sampler=PartlyLabelledBatches(2, 3))
    loader.index_with(Vocabulary.from_instances(loader.iter_instances()))
    batches = list(loader)
    assert batches
    for batch in batches:
        assert batch["labelled"].tolist()[:2] == [1, 1] and not batch["labelled"][2:].any()
        assert batch["tags"][:2].tolist() == [[0, 1]] * 2 and not batch["tags"][2:].any()
        assert all((meta["tags"] is None) == (flag == 0) for meta, flag in zip(batch["metadata"], batch["labelled"]))
