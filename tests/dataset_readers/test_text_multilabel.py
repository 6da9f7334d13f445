import json
import logging
from pathlib import Path

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, DataLoader, DatasetReader, Vocabulary
from allennlp.data.dataset_readers import WorkerInfo
from allennlp.data.token_indexers import PretrainedTransformerIndexer
from allennlp.data.tokenizers import PretrainedTransformerTokenizer
from transformers import AutoTokenizer

from seal.dataset_readers.text_multilabel import TextMultilabelReader
from seal.metrics import UnknownGold
from tests.tiny_bert import save_tiny_bert

ROOT = Path(__file__).parents[2]
TEXTS = ["the red kite", "a blue kite over the blue sea", "sea"]
LABELS = [["toy"], ["toy", "water"], ["water"]]


@pytest.fixture
def path(tmp_path):
    lines = [json.dumps({"text": text, "labels": labels}) for text, labels in zip(TEXTS, LABELS)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    return str(tmp_path / "a.jsonl")


def write(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    return str(tmp_path / name)


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


def test_a_list_of_labels_is_the_vocabulary(path, tmp_path):
    labels = write(tmp_path, "labels.txt", "water\nfire\ntoy\n")
    reader = TextMultilabelReader(labels=labels)
    vocab = Vocabulary.from_instances(reader.read(path))
    assert set(vocab.get_token_to_index_vocabulary("labels")) == {"water", "fire", "toy"}
    with pytest.raises(ConfigurationError, match=r"a.jsonl:1: the label 'toy' is not in .*few.txt"):
        list(TextMultilabelReader(labels=write(tmp_path, "few.txt", "water\n")).read(path))
    for content, message in (
        ("a\nb\na\n", "the label 'a' comes a second time"),
        ("\n", "it lists no label"),
        ("a\n\nb\x7f\n", "bad.txt:3: the label begins or ends with a control character"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            list(TextMultilabelReader(labels=write(tmp_path, "bad.txt", content)).read(path))


def test_tsv_with_names_and_with_numbers(tmp_path):
    names = write(tmp_path, "a.tsv", "the red kite\ttoy\na sea\twater, toy\n")
    texts = [("the red kite", ["toy"]), ("a sea", ["water", "toy"])]
    assert found(TextMultilabelReader(), names) == texts
    numbers = write(tmp_path, "b.tsv", "the red kite\t1\na sea\t0,1\n")
    labels = write(tmp_path, "labels.txt", "water\ntoy\n")
    assert found(TextMultilabelReader(labels=labels), numbers) == texts
    assert found(TextMultilabelReader(labels=labels, format="tsv"), names) == texts


@pytest.mark.parametrize("older", [{"topics": "rcv1-v2.topics.qrels"}, {"format": "blurbs"}])
def test_a_reader_of_an_older_model_still_reads_text(older):
    reader = DatasetReader.from_params(Params({"type": "seal_text_multilabel", **older}))
    assert [token.text for token in reader.text_to_instance("a red kite")["tokens"].tokens] == ["a", "red", "kite"]


def test_ancestors(path, tmp_path):
    taxonomy = write(tmp_path, "t.tsv", "Root\tthing\tstuff\nthing\ttoy\nstuff\tliquid\nliquid\twater\n")
    closed = found(TextMultilabelReader(taxonomy=taxonomy, ancestors=True), path)
    assert [set(labels) for _, labels in closed] == [
        {"toy", "thing"},
        {"toy", "thing", "water", "liquid", "stuff"},
        {"water", "liquid", "stuff"},
    ]
    reader = TextMultilabelReader(taxonomy=taxonomy)
    assert [labels for _, labels in found(reader, path)] == LABELS
    assert reader.taxonomy().ancestors("water") == ["stuff", "liquid"]
    circle = write(tmp_path, "c.tsv", "a\tb\nb\ta\n")
    with pytest.raises(ConfigurationError, match="c.tsv:2: The taxonomy goes round in a circle"):
        list(TextMultilabelReader(taxonomy=circle).read(path))


def test_ancestors_are_labels_of_the_list(path, tmp_path):
    taxonomy = write(tmp_path, "t.tsv", "thing\ttoy\nstuff\twater\n")
    reader = TextMultilabelReader(
        labels=write(tmp_path, "few.txt", "toy\nwater\nthing\n"), taxonomy=taxonomy, ancestors=True
    )
    with pytest.raises(ConfigurationError, match=r"t.tsv: the label 'stuff', above 'water', is not in .*few.txt\."):
        list(reader.read(path))


def test_labels_that_the_taxonomy_lacks(path, tmp_path, caplog):
    labels = write(tmp_path, "labels.txt", "toy\nwater\nliquid\n")
    for more in ({}, {"labels": labels}):
        some = write(tmp_path, "some.tsv", "liquid\twater\n")
        with caplog.at_level(logging.WARNING):
            assert len(list(TextMultilabelReader(taxonomy=some, ancestors=True, **more).read(path))) == 3
        assert caplog.messages == [f"{path}: {some} lacks 1 of 2 labels, such as 'toy', which have no ancestors"]
        caplog.clear()
        none = write(tmp_path, "none.tsv", "Liquid\tWater\n")
        # Nobody asked for ancestors.
        assert len(list(TextMultilabelReader(taxonomy=none, **more).read(path))) == 3 and not caplog.messages
    with pytest.raises(ConfigurationError, match=r"none.tsv: it has no label of .*labels.txt, such as 'toy'; set"):
        list(TextMultilabelReader(taxonomy=none, ancestors=True, labels=labels).read(path))


def test_a_taxonomy_that_is_of_other_labels_is_told_by_every_worker(tmp_path):
    lines = [json.dumps({"text": "a", "labels": [f"label {number}"]}) for number in range(10)]
    path = write(tmp_path, "ten.jsonl", "\n".join(lines) + "\n")
    for worker in range(2):
        reader = TextMultilabelReader(taxonomy=write(tmp_path, "t.tsv", "Label 1\tLabel 2\n"), ancestors=True)
        reader._set_worker_info(WorkerInfo(2, worker))
        with pytest.raises(ConfigurationError, match="it has no label of .*ten.jsonl, such as 'label 0'"):
            list(reader.read(path))


def test_one_text_with_an_unknown_label_is_told_of_the_label(path, tmp_path):
    reader = TextMultilabelReader(taxonomy=write(tmp_path, "t.tsv", "liquid\twater\n"), ancestors=True)
    vocab = Vocabulary.from_instances(reader.read(path))
    other = write(tmp_path, "b.jsonl", json.dumps({"text": "a", "labels": ["toi"]}) + "\n")
    (instance,) = reader.read(other)
    instance.index_fields(vocab)
    assert instance.as_tensor_dict()["labels"].sum() == 0
    with pytest.raises(ConfigurationError, match="b.jsonl:1: the label 'toi' is not in the model's vocabulary"):
        UnknownGold(vocab.get_token_to_index_vocabulary("labels"), "labels", "labels").refuse(
            [instance["metadata"].metadata]
        )


def test_parts_of_a_file_are_apart_and_make_it_whole(tmp_path):
    lines = [json.dumps({"text": f"w{i}", "labels": ["x"]}) for i in range(500)]
    # 4 does not divide the number of the first file's texts: the count goes on in the second.
    for first, last in ((0, 201), (201, 500)):
        write(tmp_path, f"p{first}.jsonl", "\n".join(lines[first:last]) + "\n")
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
    assert f"{path}: cut 1 of 3 texts at 3 tokens" in caplog.text
    with caplog.at_level(logging.WARNING):
        assert len(found(TextMultilabelReader(max_words=3), path)) == 2
    assert "of over 3 words" in caplog.text


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


@pytest.mark.parametrize("text", ["", "  \t"])
def test_an_empty_text(tmp_path, text):
    path = write(tmp_path, "a.jsonl", json.dumps({"text": text, "labels": []}) + "\n")
    with pytest.raises(ConfigurationError, match=r"a.jsonl:1: the text is empty"):
        list(TextMultilabelReader().read(path))
    with pytest.raises(ConfigurationError, match=r"^the text is empty"):
        TextMultilabelReader().text_to_instance(text)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"format": "xml"}, "dataset_reader.format must be 'json_lines', "),
        ({"ancestors": True}, "dataset_reader.ancestors: set 'taxonomy' too"),
        ({"valid_every": 1}, "valid_every must be at least 2"),
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
        ({"max_words": 0}, "dataset_reader.max_words must be at least 1, found 0"),
        ({"text_keys": []}, "dataset_reader.text_keys: name at least one key"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ConfigurationError, match=message):
        DatasetReader.from_params(Params({"type": "seal_text_multilabel", **options}))


def test_a_transformers_tokenizer_leaves_special_tokens_and_length_to_the_reader(tmp_path):
    folder = str(save_tiny_bert(tmp_path / "bert", ["a"]))
    for settings in ({}, {"add_special_tokens": False, "max_length": 8}):
        with pytest.raises(ConfigurationError, match="set its add_special_tokens to false and leave out its max_le"):
            TextMultilabelReader(tokenizer=PretrainedTransformerTokenizer(folder, **settings))
    with pytest.raises(ConfigurationError, match="max_tokens must be at least 3"):
        TextMultilabelReader(tokenizer=PretrainedTransformerTokenizer(folder, add_special_tokens=False), max_tokens=2)


def test_half_a_surrogate_pair(tmp_path):
    path = write(tmp_path, "a.jsonl", '{"text": "a \\udc80", "labels": ["x"]}\n')
    with pytest.raises(ConfigurationError, match=r"a.jsonl:1: the text holds half a surrogate pair"):
        list(TextMultilabelReader().read(path))


def test_a_file_without_a_text(path, tmp_path):
    write(tmp_path, "b.jsonl", "\n")
    for asked in (tmp_path / "b.jsonl", tmp_path / "*.jsonl"):
        with pytest.raises(ConfigurationError, match=r"b.jsonl:1: the file holds no text\."):
            list(TextMultilabelReader().read(asked))
    write(tmp_path, "c.jsonl", '{"text": "a", "labels": ["x"]}\n')
    with pytest.raises(ConfigurationError, match=r"c.jsonl#train: this part holds no text\."):
        list(TextMultilabelReader().read(f"{tmp_path}/c.jsonl#train"))
    assert len(list(TextMultilabelReader().read(f"{tmp_path}/c.jsonl#valid"))) == 1


@pytest.mark.parametrize("wrong", [7, ["a.jsonl"], ["a.jsonl", 3]])
def test_a_path_that_is_none(wrong):
    with pytest.raises(ConfigurationError, match="the path of data must be one string here, found"):
        list(TextMultilabelReader().read(wrong))


def test_wrong_paths(path):
    with pytest.raises(ConfigurationError, match="is one of train, valid, not 'dev'"):
        list(TextMultilabelReader().read(f"{path}#dev"))
    with pytest.raises(ConfigurationError, match="no file matches the pattern"):
        list(TextMultilabelReader().read(f"{path}*x"))
    with pytest.raises(ConfigurationError, match="there is no such file"):
        list(TextMultilabelReader().read(f"{path}x.jsonl"))


@pytest.mark.parametrize("part, size", [("train", 6993), ("valid", 777)])
def test_reuters(part, size):
    folder = ROOT / "data" / "reuters21578"
    if not folder.exists():
        pytest.skip("data/reuters21578 is not there")
    reader = TextMultilabelReader(labels=str(folder / "labels.txt"), text_keys=["title", "text"])
    instances = list(reader.read(f"{folder}/train.jsonl#{part}"))
    assert len(instances) == size
    assert len({label for instance in instances for label in instance["labels"].labels}) <= 90
