import logging

import numpy
import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.data.data_loaders import SimpleDataLoader

from seal.tasks.base.tensor_loader import TensorLoader
from seal.tasks.multilabel.reader import MultilabelReader
from tests.multilabel import HEAD, ROWS, row, vocabulary, write_data
from tests.one_sentence import message_of

GOLD = [list(gold) for _, gold in ROWS]


def table_of(reader, path):
    loader = TensorLoader(reader, path, batch_size=10)
    loader.index_with(Vocabulary.from_instances(loader.iter_instances()))
    (batch,) = loader
    return batch


def test_features_and_labels_of_the_file(tmp_path):
    data = write_data(tmp_path)
    batch = table_of(MultilabelReader(**data["reader"]), data["path"])
    assert batch["labels"].tolist() == GOLD
    # The missing value is the mean of 3, 1, 2 and 0.
    assert batch["features"].tolist() == [[1, 1.5, 2.5], [0.5, 3, -1], [2, 1, 0], [-1, 2, 4], [3, 0, 1]]


def test_instances_and_tables_are_the_same(tmp_path):
    data = write_data(tmp_path)
    reader = MultilabelReader(**data["reader"], standardize=True)
    shuffled = vocabulary(["sweet", "red", "round"], ["size", "weight", "ripe"])
    batches = []
    for loader in (
        TensorLoader(reader, data["path"], batch_size=10),
        SimpleDataLoader(list(reader.read(data["path"])), batch_size=10),
    ):
        loader.index_with(shuffled)
        batches.append(next(iter(loader)))
    for name in ("features", "labels"):
        assert torch.equal(batches[0][name], batches[1][name])
    assert batches[0]["labels"].tolist() == [[gold[2], gold[0], gold[1]] for gold in GOLD]
    instance = reader.text_to_instance(numpy.array([1.0, 2.0, 3.0]))
    assert instance["features"].tensor.tolist() == [1, 2, 3] and "labels" not in instance.fields


def test_standardized_by_the_training_data(tmp_path):
    # The last attribute is constant in training.
    constant = [(text.rpartition(",")[0] + ",7", gold) for text, gold in ROWS]
    train = write_data(tmp_path, constant)
    other = write_data(tmp_path, [("4,0,?,0,0,9", (0, 1, 0))], "other.arff")
    reader = MultilabelReader(**train["reader"], standardize=True)
    features = table_of(reader, train["path"])["features"].double()
    assert torch.allclose(features.mean(dim=0), torch.zeros(3, dtype=torch.double), atol=1e-6)
    assert torch.allclose(features.std(dim=0, correction=0), torch.tensor([1.0, 1, 0]).double(), atol=1e-6)
    weight = numpy.array([1, 0.5, 2, -1, 3])
    expected = [(4 - weight.mean()) / weight.std(), 0, 0]
    assert table_of(reader, other["path"])["features"][0].tolist() == pytest.approx(expected, abs=1e-6)
    # A reader that reads no other file, as in evaluation and in a loader's worker process.
    evaluating = MultilabelReader(**train["reader"], standardize=True)
    assert table_of(evaluating, other["path"])["features"][0].tolist() == pytest.approx(expected, abs=1e-6)


def test_large_values_close_together_are_no_constant(tmp_path):
    values = [16000000, 16000008, 16000000, 16000016, 16000001]
    rows = [(f"{value},0,0.1,0,0,1", gold) for value, (_, gold) in zip(values, ROWS)]
    train = write_data(tmp_path, rows)
    found = MultilabelReader(**train["reader"], standardize=True).load(train["path"]).features
    offsets = numpy.array(values) - 16000000.0
    assert found[:, 0].tolist() == pytest.approx((offsets - offsets.mean()) / offsets.std(), abs=1e-6)
    assert found[:, 1].tolist() == [0] * 5


def test_statistics_go_by_name(tmp_path):
    train = write_data(tmp_path)
    turned = tmp_path / "turned.arff"
    lines = HEAD.splitlines()
    # The last attribute first.
    body = [one.rpartition(",") for one in "".join(row(*one) for one in ROWS).splitlines()]
    turned.write_text("\n".join([lines[0], lines[-2], *lines[1:-2], lines[-1], *(f"{z},{x}" for x, _, z in body)]))
    reader = MultilabelReader(**train["reader"], standardize=True)
    data, other = reader.load(train["path"]), reader.load(str(turned))
    assert other.feature_names == ["size", "weight", "ripe"]
    assert numpy.array_equal(other.features[:, [1, 2, 0]], data.features)


def test_no_file_is_its_own_training_data(tmp_path):
    data = write_data(tmp_path)
    xml = data["reader"]["label_xml"]
    assert "arff:9: the value of 'ripe' is missing" in message_of(MultilabelReader(xml).load, data["path"])
    zero, whole = MultilabelReader(xml, missing="zero"), write_data(tmp_path, ROWS[1:], "whole.arff")
    assert zero.load(data["path"]).features[0].tolist() == [1, 0, 2.5]
    # Nothing is missing, so nothing is needed.
    assert MultilabelReader(xml).load(whole["path"]).features.tolist() == zero.load(whole["path"]).features.tolist()
    # A training split of several files.
    params = {"label_xml": xml, "standardize": True, "statistics_from": [whole["path"], data["path"]]}
    reader = MultilabelReader.from_params(Params(params))
    assert reader.load(data["path"]).features[0, 0] == pytest.approx(
        (1 - 10 / 9) / numpy.std([0.5, 2, -1, 3] * 2 + [1])
    )


def test_root(tmp_path):
    path = tmp_path / "genes.arff"
    path.write_text(
        "@relation genes\n@attribute a numeric\n@attribute class hierarchical 01,01/02,05\n@data\n1,01/02\n2,05\n",
        encoding="utf-8",
    )
    data = MultilabelReader(root="root").load(str(path))
    assert data.label_names == ["root", "01", "01/02", "05"]
    assert data.labels.toarray().tolist() == [[True, True, True, False], [True, False, False, True]]
    assert data.taxonomy.ancestors("01/02") == ["root", "01"] and data.taxonomy.ancestors("05") == ["root"]
    # The root is the parent only of the labels that have no other.
    assert data.taxonomy.edges == [(0, 1), (0, 3), (1, 2)]
    with pytest.raises(ConfigurationError, match="dataset_reader.root: '05'"):
        MultilabelReader(root="05").load(str(path))


def test_rows_and_labels_without_a_positive_are_told(tmp_path, caplog):
    rows = [(ROWS[0][0], (0, 0, 0)), (ROWS[1][0], (0, 1, 0))]
    data = write_data(tmp_path, rows)
    with caplog.at_level(logging.WARNING):
        MultilabelReader(**data["reader"]).load(data["path"])
    assert "fruit.arff:9: " in caplog.text and "2 of the 3 labels" in caplog.text and "'red'" in caplog.text
    empty = write_data(tmp_path, rows[:1], "empty.arff")
    assert "empty.arff" in message_of(MultilabelReader(**empty["reader"]).load, empty["path"])


def test_a_sparse_file_is_not_standardized(tmp_path):
    data = write_data(tmp_path)
    sparse = tmp_path / "sparse.arff"
    head = open(data["path"], encoding="utf-8").read().split("@data\n")[0]
    sparse.write_text(head + "@data\n{0 1,3 1}\n{2 1,4 1}\n", encoding="utf-8")
    for training in (data["path"], str(sparse)):
        reader = MultilabelReader(data["reader"]["label_xml"], standardize=True, statistics_from=training)
        with pytest.raises(ConfigurationError, match="sparse.arff:9:.*standardize"):
            reader.load(str(sparse))


def test_a_label_that_the_model_does_not_know(tmp_path):
    data = write_data(tmp_path)
    vocab = vocabulary()
    (tmp_path / "labels.xml").write_text('<labels><label name="red"/><label name="round"/></labels>')
    loader = TensorLoader(MultilabelReader(**data["reader"]), data["path"])
    with pytest.raises(ConfigurationError, match="fruit.arff:3: .*'sweet'"):
        loader.index_with(vocab)
    (tmp_path / "labels.xml").write_text('<labels><label name="red"/><label name="size"/></labels>')
    path = tmp_path / "fruit.arff"
    path.write_text(HEAD.replace("size numeric", "size {0,1}") + "1,0,2,1,0,1\n")
    loader = TensorLoader(MultilabelReader(label_xml=data["reader"]["label_xml"]), str(path))
    with pytest.raises(ConfigurationError, match="fruit.arff:7: .*'size'"):
        loader.index_with(vocabulary(attributes=["weight", "sweet", "ripe", "round"]))
