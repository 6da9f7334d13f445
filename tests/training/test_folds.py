"""Folds: instances of equal inputs are in one, for every task and reader; of unique inputs they are as ever."""

import json
import tempfile
from pathlib import Path

import numpy
import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.fields import MetadataField, TensorField
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from seal.dataset_readers.tensor_loader import TensorLoader
from seal.dataset_readers.tensor_table import TensorTable
from seal.training.held_out import folds_of
from seal.training.loaded_data import equal_inputs, input_of, inputs_of_rows
from tests.multilabel import vocabulary, write_data
from tests.segmentation import arrays

NAMES = ["Ann", "Bob", "Cid", "Dora", "Eve", "Fay"]


def sentences(inputs, line):
    """A file of tagged sentences of three words."""
    return "\n\n".join("\n".join(line(word) for word in (NAMES[one], "saw", "it")) for one in inputs) + "\n"


def srl(folder, inputs):
    frames = [[{"pred": 1, "tags": ["B-ARG0", "B-V", "O" if place % 2 else "B-ARG1"]}] for place in range(len(inputs))]
    records = [{"words": [NAMES[one], "saw", "it"], "frames": frame} for one, frame in zip(inputs, frames)]
    return {"type": "seal_srl", "predicate_instances": False}, "a.jsonl", "\n".join(map(json.dumps, records)) + "\n"


def tagging(folder, inputs):
    return {"type": "seal_tagging"}, "a.tsv", sentences(inputs, lambda word: f"{word}\tX")


def text(folder, inputs):
    records = [{"text": f"{NAMES[one]} saw it", "labels": [f"l{place % 3}"]} for place, one in enumerate(inputs)]
    return {"type": "seal_text_multilabel"}, "a.jsonl", "\n".join(map(json.dumps, records)) + "\n"


def parsing(folder, inputs):
    trees = [f"( (S (NP (NNP {NAMES[one]})) (VP (VBD saw) (NP (PRP it)))) )" for one in inputs]
    return {"type": "seal_parsing"}, "a.mrg", "\n".join(trees) + "\n"


def features(folder, inputs):
    # One row in two writes 0 as -0.
    zeros = ["-0" if place % 2 else "0" for place in range(len(inputs))]
    rows = [(f"{zero},0,{one},0,0,7", (place % 2, 1, 0)) for place, (zero, one) in enumerate(zip(zeros, inputs))]
    return {"type": "seal_multilabel", **write_data(folder, rows)["reader"]}, "fruit.arff", None


def images(folder, inputs):
    data = arrays(len(NAMES))
    masks = numpy.stack([data["masks"][place % len(NAMES)] for place in range(len(inputs))])
    numpy.savez(folder / "a.npz", images=data["images"][inputs], masks=masks)
    return {"type": "seal_segmentation"}, "a.npz", None


def cropped_images(folder, inputs):
    reader, *rest = images(folder, inputs)
    return {**reader, "crop": 4, "mirror": True}, *rest


def loader(make, inputs, tensors):
    with tempfile.TemporaryDirectory() as folder:
        reader, name, content = make(Path(folder), inputs)
        path = Path(folder) / name
        if content is not None:
            path.write_text(content, encoding="utf-8")
        reader = DatasetReader.from_params(Params(reader))
        made = TensorLoader(reader, str(path)) if tensors else MultiProcessDataLoader(reader, str(path), batch_size=2)
        if make is features:
            made.index_with(vocabulary())
        return made


CASES = [(srl, False), (tagging, False), (text, False), (parsing, False), (features, False), (features, True)]
CASES += [(images, False), (images, True), (cropped_images, True)]


@pytest.mark.parametrize("make, tensors", CASES)
@settings(max_examples=15, deadline=None)
@given(inputs=st.lists(st.integers(0, 5), min_size=2, max_size=9), folds=st.integers(2, 3), seed=st.integers(0, 9))
def test_no_input_is_in_two_folds(make, tensors, inputs, folds, seed):
    assume(len(set(inputs)) >= folds)
    data = loader(make, inputs, tensors)
    first = list(dict.fromkeys(inputs))
    assert equal_inputs(data, "").tolist() == [first.index(one) for one in inputs]
    parts = folds_of(data, folds, seed)
    assert sorted(place for part in parts for place in part) == list(range(len(inputs)))
    held = [{inputs[place] for place in part} for part in parts]
    assert all(held) and sum(map(len, held)) == len(set(inputs))


@pytest.mark.parametrize("make, tensors", CASES)
def test_folds_of_unique_inputs_are_those_of_the_places(make, tensors):
    """As they were before inputs were looked at, so that published scores stay."""
    data = loader(make, [3, 0, 5, 1, 4, 2], tensors)
    order = torch.randperm(6, generator=torch.Generator().manual_seed(13)).tolist()
    assert folds_of(data, 4, seed=13) == [sorted(order[fold::4]) for fold in range(4)]


def test_too_few_different_rows():
    with pytest.raises(ConfigurationError, match="trainer.folds: 2 different instances cannot make 3 folds"):
        folds_of(loader(features, [1, 1, 0, 1], True), 3, seed=0)


def test_what_an_instance_of_another_reader_is_told_by():
    """All arrays that are not gold; without any, and without words, nothing is known."""
    one, same, other = (
        Instance({"sound": TensorField(torch.tensor(sound)), "labels": TensorField(torch.tensor([label]))})
        for sound, label in (([0.5, 1.0], 0), ([0.5, 1.0], 1), ([0.5, 2.0], 0))
    )
    assert input_of(one) == input_of(same) != input_of(other)
    assert input_of(Instance({"metadata": MetadataField({}), "mask": TensorField(torch.zeros(2))})) is None


def test_rows_are_looked_at_in_little_memory(monkeypatch):
    """A table of 40 MB in float32, of which a part is there at a time."""
    rows, sizes = 10_000, []
    matrix = numpy.zeros((rows, 1000), dtype=numpy.uint8)
    matrix[:, 0], matrix[:, 1] = numpy.arange(rows) % 251, numpy.arange(rows) // 251 % 7
    table = TensorTable({"features": matrix}, {}, range(rows))
    original = TensorTable.batch

    def watched(self, block):
        batch = original(self, block)
        sizes.append(batch["features"].nbytes)
        return batch

    monkeypatch.setattr(TensorTable, "batch", watched)
    assert len(set(inputs_of_rows(table, numpy.arange(rows)))) == 251 * 7
    assert max(sizes) <= 2**24 and len(sizes) == 4 and sum(sizes) == 4 * matrix.size
