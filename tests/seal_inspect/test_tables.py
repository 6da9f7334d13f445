import numpy
import pytest
import torch

from seal_inspect.tables import spearman, write_matrix, write_table
from tests.seal_inspect.written import rows_of


def test_cells(tmp_path):
    rows = [["x, y", 1], [numpy.float32("nan"), 2 / 3], [None, numpy.pi * 1e6]]
    write_table(str(tmp_path / "t.csv"), ["a", "b"], rows)
    assert rows_of(tmp_path / "t.csv") == [["a", "b"], ["x, y", "1"], ["", "0.666667"], ["", "3.14159e+06"]]


@pytest.mark.parametrize("kind", [numpy.array, torch.tensor])
def test_a_matrix_has_its_names(kind, tmp_path):
    write_matrix(str(tmp_path / "m.csv"), "from", iter("ab"), kind([[1, 2], [3, 4]]))
    assert rows_of(tmp_path / "m.csv") == [["from", "a", "b"], ["a", "1", "2"], ["b", "3", "4"]]


def test_spearman():
    rising = numpy.array([1.0, 2.0, 4.0])
    assert spearman(rising, rising**2) == pytest.approx(1) and spearman(rising, -rising) == pytest.approx(-1)
    for first, second in ((rising, numpy.ones(3)), (numpy.ones(3), rising), (rising[:1], rising[:1])):
        assert spearman(first, second) is None
