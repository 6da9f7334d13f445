from collections import Counter

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import BatchSampler, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader

from seal.dataset_readers.partly_labelled_batches import PartlyLabelledBatches
from seal.dataset_readers.tagging import TaggingReader


def instances_of(labelled, others):
    reader = TaggingReader(labelled=labelled)
    kinds = [["X"]] * labelled + [None] * others
    return [reader.text_to_instance([f"w{i}"], tags) for i, tags in enumerate(kinds)]


@pytest.mark.parametrize("labelled, others, size", [(5, 23, 3), (5, 40, 5), (2, 9, 4), (7, 300, 4), (0, 9, 4)])
def test_an_epoch_is_a_pass_over_the_others(labelled, others, size):
    torch.manual_seed(0)
    instances, sampler = instances_of(labelled, others), PartlyLabelledBatches(size, 4)
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


def test_without_others_it_is_a_pass_over_the_labelled():
    instances = instances_of(7, 0)
    batches = list(PartlyLabelledBatches(3, 4).get_batch_indices(instances))
    assert sorted(sum(batches, [])) == list(range(7)) and [len(batch) for batch in batches] == [3, 3, 1]


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


def test_mistakes():
    for settings in ({"num_labelled": 0}, {"num_unlabelled": 0}):
        with pytest.raises(ConfigurationError, match="^batch_sampler.num_"):
            PartlyLabelledBatches(**settings)
    plain = [TaggingReader().text_to_instance(["a"], ["X"])]
    with pytest.raises(ConfigurationError, match="needs dataset_reader.labelled"):
        list(PartlyLabelledBatches().get_batch_indices(plain))
    assert BatchSampler.by_name("partly_labelled") is PartlyLabelledBatches
