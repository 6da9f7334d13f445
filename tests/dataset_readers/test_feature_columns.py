import numpy
import pytest
from scipy import sparse

from seal.files import matrices
from seal.tasks.multilabel.arff import Attribute
from seal.tasks.multilabel.feature_columns import fill_missing, is_binary
from tests.one_sentence import message_of


@pytest.mark.parametrize("values", [("YES", "NO"), ("no", "Yes"), ("0", "1"), ("1",), ("TRUE", "False")])
def test_two_words_for_yes_and_no_are_binary(values):
    assert is_binary(Attribute("a", "nominal", values, 1))


@pytest.mark.parametrize("values", [("yes", "no", "maybe"), ("yes", "1"), ("no", "NO"), ("a", "b"), ("t", "f")])
def test_other_lists_are_not(values):
    assert not is_binary(Attribute("a", "nominal", values, 1))
    assert not is_binary(Attribute("a", "numeric", (), 1))


def filled(values, thin, names, missing):
    """The filled values and the means."""
    matrix = sparse.csr_array(values) if thin else values.copy()
    held = matrix.data if thin else matrix

    def write(start, part):
        held[start : start + len(part)] = part

    means = fill_missing(matrix, names, [f"f:{row}" for row in range(1, len(values) + 1)], missing, None, write)
    return matrix.toarray() if thin else matrix, means


@pytest.mark.parametrize("piece", [2**20, 2])
@pytest.mark.parametrize("thin", [False, True])
def test_fills_with_means(thin, piece, monkeypatch):
    monkeypatch.setattr(matrices, "PIECE", piece)
    nan = numpy.nan
    values = numpy.array([[1, nan, 0], [0, nan, nan], [nan, nan, 4]], numpy.float32)
    found, means = filled(values, thin, "abc", "mean")
    assert means.tolist() == [0.5, 0, 2] and means.dtype == numpy.float32
    assert found.tolist() == [[1, 0, 0], [0, 0, 2], [0.5, 0, 4]] and found.dtype == numpy.float32
    assert filled(values, thin, "abc", "zero")[0].tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 4]]
    told = message_of(filled, values, thin, "abc", "error")
    assert told.startswith("f:1: ") and "'b'" in told


@pytest.mark.parametrize("thin", [False, True])
def test_means_are_summed_in_double_precision(thin):
    # In float32 the ones would be lost.
    assert filled(numpy.array([[2**24], [1], [1], [-(2**24)]], numpy.float32), thin, "a", "mean")[1].tolist() == [0.5]
