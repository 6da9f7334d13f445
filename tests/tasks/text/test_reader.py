import json
import logging

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, DataLoader, Vocabulary
from allennlp.data.dataset_readers import WorkerInfo
from allennlp.data.token_indexers import PretrainedTransformerIndexer
from allennlp.data.tokenizers import PretrainedTransformerTokenizer
from transformers import AutoTokenizer

from seal.tasks.text.reader import TextMultilabelReader
from tests.one_sentence import message_of
from tests.tiny_bert import save_tiny_bert

TEXTS = ["the red kite", "a blue kite over the blue sea", "sea"]
LABELS = [["toy"], ["toy", "water"], ["water"]]


def json_lines(texts, labels):
    return "".join(json.dumps({"text": text, "labels": names}) + "\n" for text, names in zip(texts, labels))


@pytest.fixture
def path(write):
    return write("a.jsonl", json_lines(TEXTS, LABELS))


def found(reader, path):
    return [
        (" ".join(token.text for token in instance["tokens"].tokens), instance["labels"].labels)
        for instance in reader.read(path)
    ]


def test_instances_become_a_batch(path):
    loader = DataLoader.from_params(Params({"batch_size": 3}), reader=TextMultilabelReader(), data_path=path)
    vocab = Vocabulary.from_instances(loader.iter_instances())
    loader.index_with(vocab)
    (batch,) = loader
    assert batch["tokens"]["tokens"]["tokens"].shape == (3, 7)
    names = [vocab.get_token_from_index(i, "labels") for i in range(2)]
    rows = [[float(name in labels) for name in names] for labels in LABELS]
    assert torch.equal(batch["labels"], torch.tensor(rows))
    assert [item["source"] for item in batch["metadata"]] == [f"{path}:{n}" for n in (1, 2, 3)]


def test_a_list_of_labels_is_the_vocabulary(path, write):
    labels = write("labels.txt", "water\nfire\ntoy\n")
    reader = TextMultilabelReader(labels=labels)
    vocab = Vocabulary.from_instances(reader.read(path))
    assert set(vocab.get_token_to_index_vocabulary("labels")) == {"water", "fire", "toy"}


def test_ancestors(path, write):
    taxonomy = write("t.tsv", "Root\tthing\tstuff\nthing\ttoy\nstuff\tliquid\nliquid\twater\n")
    closed = found(TextMultilabelReader(taxonomy=taxonomy, ancestors=True), path)
    assert [set(labels) for _, labels in closed] == [
        {"toy", "thing"},
        {"toy", "thing", "water", "liquid", "stuff"},
        {"water", "liquid", "stuff"},
    ]
    reader = TextMultilabelReader(taxonomy=taxonomy)
    assert [labels for _, labels in found(reader, path)] == LABELS
    assert reader.taxonomy().ancestors("water") == ["stuff", "liquid"]


def test_a_taxonomy_that_is_of_other_labels_is_told_by_every_worker(write):
    path = write("ten.jsonl", json_lines("a" * 10, ([f"label {number}"] for number in range(10))))
    for worker in range(2):
        reader = TextMultilabelReader(taxonomy=write("t.tsv", "Label 1\tLabel 2\n"), ancestors=True)
        reader._set_worker_info(WorkerInfo(2, worker))
        assert "'label 0'" in message_of(reader.read, path)


def test_parts_of_a_file_are_apart_and_make_it_whole(tmp_path, write):
    # 4 does not divide the number of the first file's texts: the count goes on in the second.
    for places in (range(201), range(201, 500)):
        write(f"p{places[0]}.jsonl", json_lines([f"w{i}" for i in places], [["x"]] * len(places)))
    reader = TextMultilabelReader(valid_every=4)
    train, valid = (found(reader, f"{tmp_path}/p*.jsonl#{part}") for part in ("train", "valid"))
    assert [text for text, _ in valid] == [f"w{i}" for i in range(0, 500, 4)]
    both = {text for text, _ in train} | {text for text, _ in valid}
    assert len(train) + len(valid) == len(both) == 500
    assert found(reader, f"{tmp_path}/p0.jsonl") == found(reader, f"{tmp_path}/p*.jsonl")[:201]


def test_long_texts_are_cut_and_told(path, caplog):
    with caplog.at_level(logging.WARNING):
        texts = [text for text, _ in found(TextMultilabelReader(max_tokens=3), path)]
    assert texts == ["the red kite", "a blue kite", "sea"]
    assert f"{path}: cut 1 of 3" in caplog.text
    assert len(found(TextMultilabelReader(max_words=3), path)) == 2


def test_wordpieces_are_those_of_transformers_when_it_cuts_itself(path, tmp_path):
    folder = str(save_tiny_bert(tmp_path / "bert", " ".join(TEXTS[:1]).split()))
    reader = TextMultilabelReader(
        max_tokens=8,
        tokenizer=PretrainedTransformerTokenizer(folder, add_special_tokens=False),
        token_indexers={"tokens": PretrainedTransformerIndexer(folder)},
    )
    instances = list(reader.read(path))
    for instance in instances:
        reader.apply_token_indexers(instance)
    batch = Batch(instances)
    batch.index_instances(Vocabulary.from_instances(instances))
    pieces = batch.as_tensor_dict()["tokens"]["tokens"]
    expected = AutoTokenizer.from_pretrained(folder)(
        TEXTS, truncation=True, max_length=8, padding=True, return_tensors="pt"
    )
    assert torch.equal(pieces["token_ids"], expected["input_ids"])
    assert torch.equal(pieces["mask"].long(), expected["attention_mask"])


def test_a_text_that_is_cut_is_not_warned_of_as_too_long(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("transformers"), "propagate", True)
    folder = str(save_tiny_bert(tmp_path / "bert", ["sea"]))
    tokenizer = PretrainedTransformerTokenizer(
        folder, add_special_tokens=False, tokenizer_kwargs={"model_max_length": 9}
    )
    assert tokenizer.tokenizer.model_max_length == 9
    reader = TextMultilabelReader(max_tokens=6, tokenizer=tokenizer)
    assert len(reader.text_to_instance("sea " * 20)["tokens"]) == 6
    assert "longer than" not in caplog.text


def test_a_transformers_tokenizer_leaves_special_tokens_and_length_to_the_reader(tmp_path):
    folder = str(save_tiny_bert(tmp_path / "bert", ["a"]))
    for settings in ({}, {"add_special_tokens": False, "max_length": 8}):
        with pytest.raises(ConfigurationError, match="dataset_reader.tokenizer"):
            TextMultilabelReader(tokenizer=PretrainedTransformerTokenizer(folder, **settings))
    with pytest.raises(ConfigurationError, match="max_tokens.* 3"):
        TextMultilabelReader(tokenizer=PretrainedTransformerTokenizer(folder, add_special_tokens=False), max_tokens=2)
