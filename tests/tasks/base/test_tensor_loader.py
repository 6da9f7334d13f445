import itertools

import numpy
import pytest
import torch
from allennlp.data import Vocabulary
from scipy import sparse

from seal.tasks.base import tensor_loader
from seal.tasks.base.fields import NamedColumns
from seal.tasks.base.tensor_loader import TensorLoader, TensorTable


class Reader:
    """Rows that name themselves."""

    def __init__(self, rows, max_instances=None):
        self.max_instances = max_instances
        self.matrix = numpy.arange(2 * rows, dtype=numpy.float32).reshape(rows, 2)

    def read_table(self, path):
        columns = {"x": NamedColumns(["red", "round"], "labels", "label", "f")}
        return TensorTable({"x": self.matrix}, columns, [f"f:{i}" for i in range(len(self.matrix))])


def first_column(loader):
    return [batch["x"][:, 0].tolist() for batch in loader]


def test_batches_in_order():
    loader = TensorLoader(Reader(5), "f", batch_size=2)
    assert first_column(loader) == [[0, 2], [4, 6], [8]] and len(loader) == 3
    dropped = TensorLoader(Reader(5), "f", batch_size=2, drop_last=True)
    assert first_column(dropped) == [[0, 2], [4, 6]] and len(dropped) == 2
    assert len(TensorLoader(Reader(4), "f", batch_size=2, drop_last=True)) == 2


def test_the_first_rows_alone():
    for rows in (3, 9):
        loader = TensorLoader(Reader(5, max_instances=rows), "f", batch_size=2)
        assert first_column(loader) == ([[0, 2], [4]] if rows == 3 else [[0, 2], [4, 6], [8]])
        assert len(loader) == len(first_column(loader))
    shuffled = TensorLoader(Reader(50, max_instances=4), "f", shuffle=True)
    assert sorted(sum(first_column(shuffled), [])) == [0, 2, 4, 6]


def test_a_new_order_each_epoch_from_torchs_generator():
    loader = TensorLoader(Reader(50), "f", batch_size=8, shuffle=True)
    torch.manual_seed(0)
    first, second = first_column(loader), first_column(loader)
    assert first != second
    assert sorted(sum(first, [])) == sorted(sum(second, [])) == [2 * i for i in range(50)]
    torch.manual_seed(0)
    assert first_column(loader) == first


def test_an_epoch_of_so_many_batches():
    few = TensorLoader(Reader(5), "f", batch_size=2, batches_per_epoch=2)
    assert first_column(few) == [[0, 2], [4, 6]] and len(few) == 2
    many = TensorLoader(Reader(5), "f", batch_size=2, batches_per_epoch=7)
    assert first_column(many) == [[0, 2], [4, 6], [8]] * 2 + [[0, 2]] and len(many) == 7
    shuffled = TensorLoader(Reader(50), "f", batch_size=8, shuffle=True, batches_per_epoch=14)
    torch.manual_seed(0)
    epoch = first_column(shuffled)
    passes = [sum(part, []) for part in (epoch[:7], epoch[7:])]
    assert passes[0] != passes[1] and all(sorted(rows) == [2 * i for i in range(50)] for rows in passes)
    # All random numbers are drawn at the start, so that a run which skips batches goes on as it would have.
    torch.manual_seed(0)
    batches = iter(shuffled)
    next(batches)
    torch.rand(1000)
    assert [batch["x"][:, 0].tolist() for batch in batches] == epoch[1:]


class Counted(TensorTable):
    """Rows that hold the number of their pass."""

    passes = itertools.count(1)

    def start_pass(self):
        self.number = next(self.passes)

    def batch(self, rows):
        return {"x": torch.full((len(rows), 1), self.number)}


def test_passes_at_the_same_time_keep_what_each_has_drawn():
    reader = Reader(4)
    reader.read_table = lambda path: Counted({"x": reader.matrix}, {}, ["f:0", "f:1", "f:2", "f:3"])
    loader = TensorLoader(reader, "f", batch_size=2)
    pairs = [(one["x"].tolist(), other["x"].tolist()) for one, other in zip(loader, loader)]
    assert pairs == [([[1], [1]], [[2], [2]])] * 2


def test_workers_share_the_rows(monkeypatch):
    found = []
    for rank in range(3):
        monkeypatch.setattr(tensor_loader, "is_distributed", lambda: True)
        monkeypatch.setattr(tensor_loader.dist, "get_rank", lambda: rank)
        monkeypatch.setattr(tensor_loader.dist, "get_world_size", lambda: 3)
        loader = TensorLoader(Reader(8), "f", batch_size=2, shuffle=True)
        batches = first_column(loader)
        assert len(batches) == len(loader) > 0
        found += sum(batches, [])
    assert sorted(found) == [2 * i for i in range(8)]


#: Four rows of three columns.
VALUES = numpy.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.5, 3.0, 0.0], [0.0, 4.0, 5.0]])
FORMS = {"dense": numpy.array, "csr": sparse.csr_array, "integers": lambda values: (2 * values).astype(numpy.int8)}


def table(values, names="a b c"):
    columns = NamedColumns(names.split(), "attributes", "attribute", "a.arff")
    return TensorTable({"features": values}, {"features": columns}, [f"a.arff:{row}" for row in range(len(VALUES))])


def of_attributes(names="a b c"):
    return Vocabulary(non_padded_namespaces=["attributes"], tokens_to_add={"attributes": names.split()})


@pytest.mark.parametrize("most_bytes", [2**30, 0], ids=["held dense", "held sparse"])
@pytest.mark.parametrize("form", FORMS)
def test_rows_in_the_order_asked_for(form, most_bytes, monkeypatch):
    monkeypatch.setattr(tensor_loader, "DENSE_BYTES", most_bytes)
    rows = table(FORMS[form](VALUES))
    # A dense table takes less memory as it is.
    assert len(rows) == 4 and sparse.issparse(rows._matrices["features"]) == (most_bytes == 0 and form == "csr")
    batch = rows.batch(numpy.array([3, 0, 3]))
    expected = torch.tensor(VALUES[[3, 0, 3]]) * (2 if form == "integers" else 1)
    assert batch["features"].dtype == torch.float32 and torch.equal(batch["features"], expected.float())


@pytest.mark.parametrize("most_bytes", [2**30, 0], ids=["held dense", "held sparse"])
def test_columns_in_the_order_of_the_vocabulary(most_bytes, monkeypatch):
    monkeypatch.setattr(tensor_loader, "DENSE_BYTES", most_bytes)
    rows = table(sparse.csr_array(VALUES))
    # Twice: what is in order already stays.
    for _ in range(2):
        rows.index_with(of_attributes("c a b"))
        assert rows.columns["features"].names == ["c", "a", "b"]
        assert torch.equal(rows.batch(numpy.arange(4))["features"], torch.tensor(VALUES[:, [2, 0, 1]]).float())
