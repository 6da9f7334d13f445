"""Feature vectors from the cache: the same data, warnings and training as from the file; memory flat in the rows."""

import json
import tracemalloc

import numpy
import pytest
import torch
from allennlp.data import Vocabulary
from scipy import sparse

from seal.files import array_cache, matrices
from seal.files.array_cache import is_mapped
from seal.tasks.base.tensor_loader import TensorLoader
from seal.tasks.multilabel import arff
from seal.tasks.multilabel import data_files as multilabel_files
from seal.tasks.multilabel.reader import MultilabelReader
from tests.multilabel import ROWS, vocabulary, write_data
from tests.one_sentence import message_of
from tests.training.runs import same

SPARSE = """@relation fruit
@attribute weight numeric
@attribute kind {apple,pear,plum}
@attribute sweet {0,1}
@attribute ripe numeric
@attribute red {0,1}
@attribute round {0,1}
@data
{0 1,2 1,3 ?}
{1 pear,4 1,5 1}
{}
{0 -2.5,1 ?,2 1,3 4}
1,plum,0,0,1,0
{3 ?,5 1}
"""
GENES = """@relation genes
@attribute a numeric
@attribute class hierarchical 01,01/02,05
@data
1,01/02
2,05
3,01@05
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SEAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(array_cache, "LEAST_BYTES", 0)
    return tmp_path / "cache"


@pytest.fixture(params=[2**14, 2], ids=["one piece", "pieces"])
def piece(request, monkeypatch):
    monkeypatch.setattr(arff, "PIECE_ROWS", request.param)


def of_kind(kind, folder):
    """The settings of a reader and a path."""
    data = write_data(folder)
    if kind == "dense":
        return data["reader"], data["path"]
    if kind == "standardized":
        return {**data["reader"], "standardize": True}, data["path"]
    if kind == "other file":
        other = write_data(folder, [(text.replace(",1,", ",?,"), gold) for text, gold in ROWS[1:]], "other.arff")
        return {**data["reader"], "standardize": True}, other["path"]
    if kind == "several files":
        other = write_data(folder, ROWS[::-1], "other.arff")
        return data["reader"], [data["path"], other["path"]]
    if kind == "sparse":
        (folder / "sparse.arff").write_text(SPARSE, encoding="utf-8")
        return {**data["reader"], "statistics_from": str(folder / "sparse.arff")}, str(folder / "sparse.arff")
    (folder / "genes.arff").write_text(GENES, encoding="utf-8")
    return {"root": "all"}, str(folder / "genes.arff")


KINDS = ["dense", "standardized", "other file", "several files", "sparse", "hierarchy under a root"]


def read(settings, path):
    """All that a loader has to say of a path, by a reader of its own."""
    data = MultilabelReader(**settings).load(path)
    loader = TensorLoader(MultilabelReader(**settings), path, batch_size=4)
    loader.index_with(Vocabulary.from_instances(loader.iter_instances()))
    taxonomy = None if data.taxonomy is None else (data.taxonomy.labels, data.taxonomy.edges)
    instances = [instance["metadata"].metadata["source"] for instance in loader.iter_instances()]
    told = (data.feature_names, data.label_names, list(data.source), data.wheres, taxonomy, data.means.tolist())
    return told, instances, list(loader), data


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_data_in_every_bit(kind, cache, piece, tmp_path, monkeypatch):
    settings, path = of_kind(kind, tmp_path)
    kept = [read(settings, path) for _ in range(2)]
    monkeypatch.setattr(multilabel_files, "read_arff", None)
    kept.append(read(settings, path))
    monkeypatch.undo()
    monkeypatch.setenv("SEAL_CACHE", "off")
    told, instances, batches, data = read(settings, path)
    assert not is_mapped(data.labels.data)
    for other_told, other_instances, others, other in kept:
        assert other_told == told and other_instances == instances == list(data.source)
        assert len(others) == len(batches) > 0
        assert all(same(one, another) for one, another in zip(batches, others))
        held = other.features.data if sparse.issparse(other.features) else other.features
        assert is_mapped(held) and is_mapped(other.labels.indices) and is_mapped(other.labels.indptr)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_columns_in_another_order_are_ordered_in_the_batch(kind, cache, tmp_path):
    settings, path = of_kind(kind, tmp_path)
    table = MultilabelReader(**settings).read_table(path)
    names = {name: columns.names for name, columns in table.columns.items()}
    rows = numpy.array([3, 0, 3])
    before, held = table.batch(rows), dict(table._matrices)
    # Each order is one of the columns as they are by then.
    for by in (1, 2):
        turned = {name: columns[by:] + columns[:by] for name, columns in names.items()}
        table.index_with(vocabulary(turned["labels"], turned["features"]))
    found = table.batch(rows)
    assert all(torch.equal(found[name], before[name].roll(-2, 1)) for name in before)
    assert table.columns["labels"].names == turned["labels"]
    assert all(table._matrices[name] is held[name] for name in held)


def test_warnings_are_those_of_the_first_start_with_the_path_of_this(cache, tmp_path, caplog):
    values = ",".join(f"v{i}" for i in range(101))
    head = f"@attribute a {{{values}}}\n@attribute red {{0,1}}\n@attribute big {{0,1}}\n@data\n"
    path, other = tmp_path / "a.arff", tmp_path / "b.arff"
    for file in (path, other):
        file.write_text(head + "v1,1,0\nv2,0,0\n")
    reader = MultilabelReader(labels=["red", "big"])
    texts = []
    for file in (path, path, other):
        caplog.clear()
        data = reader.load(str(file))
        texts.append(sorted(caplog.messages))
        assert data.source[1] == f"{file}:6" and data.wheres["red"] == f"{file}:2"
    assert len(texts[0]) == 3 and texts[0] == texts[1]
    assert texts[2] == [text.replace(str(path), str(other)) for text in texts[0]]
    (entry,) = cache.iterdir()
    assert json.loads((entry / "entry.json").read_text())["of"] == [str(path)]


def test_files_settings_and_statistics_decide(cache, tmp_path):
    data = write_data(tmp_path)
    settings, path = data["reader"], data["path"]
    other = write_data(tmp_path, [(text, gold) for text, gold in ROWS if "?" not in text], "other.arff")
    entries = lambda: len(list(cache.iterdir())) if cache.exists() else 0  # noqa: E731
    for more, new in (
        # The training data are their own statistics.
        ({}, 1),
        ({}, 0),
        ({"standardize": True}, 1),
        ({"missing": "zero"}, 1),
        ({"drop_attributes": ["size"]}, 1),
        ({"root": "all"}, 1),
        # Its own means, and the data with these.
        ({"statistics_from": other["path"]}, 2),
    ):
        before = entries()
        MultilabelReader(**{**settings, **more}).load(path)
        assert entries() - before == new, more
    means = MultilabelReader(**settings).training_statistics().means
    (tmp_path / "labels.xml").write_text('<labels><label name="red"/></labels>')
    before = entries()
    assert MultilabelReader(**settings).load(path).label_names == ["red"] and entries() == before + 1
    assert len(MultilabelReader(**settings).training_statistics().means) == len(means) + 2


def test_mistakes_are_told_at_every_start(cache, write):
    head = "@attribute a real\n@attribute red {0,1}\n@data\n"

    def told(rows, label="red"):
        path = write("a.arff", head + rows)
        return message_of(MultilabelReader(labels=[label]).load, path).removeprefix(path)

    for _ in range(2):
        assert told("1,1\n1,1\nx,1\n").startswith(":6: 'x'")
        told("1,0\n1,0\n")
    MultilabelReader(labels=["red"]).load(write("a.arff", head + "1,0\n1,1\n"))
    assert "'blue'" in told("1,0\n1,1\n", "blue")


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_memory_does_not_grow_with_the_rows(kind, cache, tmp_path, monkeypatch):
    monkeypatch.setattr(arff, "PIECE_ROWS", 200)
    monkeypatch.setattr(matrices, "PIECE", 2**12)
    head = "".join(f"@attribute a{i} numeric\n" for i in range(40)) + "@attribute red {0,1}\n@data\n"
    rows = {"dense": [",".join(["0.5"] * 40) + f",{i}" for i in (0, 1)], "sparse": ["{3 1,7 2.5,40 1}", "{1 ?}"]}

    def peak(number):
        path = tmp_path / f"{number}.arff"
        path.write_text(head + "\n".join(rows[kind] * (number // 2)))
        found = []
        for _ in range(2):
            tracemalloc.start()
            reader = MultilabelReader(labels=["red"], missing="zero")
            loader = TensorLoader(reader, str(path), batch_size=100, shuffle=True)
            loader.index_with(Vocabulary.from_instances(loader.iter_instances()))
            assert sum(len(batch["labels"]) for batch in loader) == number
            found.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        return found

    peak(1000)
    few, many = peak(1000), peak(9000)
    # NumPy's arrays are traced. What is left is a number or two a row: its length, its place in a pass.
    assert all(more - less < 8000 * 50 for less, more in zip(few, many)), (few, many)
