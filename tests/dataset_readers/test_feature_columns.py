import numpy
import pytest
from allennlp.common.checks import ConfigurationError
from scipy import sparse

from seal.dataset_readers.arff_rows import Attribute
from seal.dataset_readers.feature_columns import fill_missing, is_binary


def nominal(*values):
    return Attribute("a", "nominal", values, 1)


def test_is_binary():
    for values in (("YES", "NO"), ("no", "Yes"), ("0", "1"), ("1",), ("TRUE", "False")):
        assert is_binary(nominal(*values))
    for values in (("yes", "no", "maybe"), ("yes", "1"), ("no", "NO"), ("a", "b"), ("t", "f")):
        assert not is_binary(nominal(*values))
    assert not is_binary(Attribute("a", "numeric", (), 1))


@pytest.mark.parametrize("thin", [False, True])
def test_fills_with_means(thin):
    nan = numpy.nan
    values = numpy.array([[1, nan, 0], [0, nan, nan], [nan, nan, 4]], numpy.float32)
    matrix = sparse.csr_array(values) if thin else values.copy()
    filled, means = fill_missing(matrix, "abc", ["f:1", "f:2", "f:3"], "mean")
    assert means.tolist() == [0.5, 0, 2] and means.dtype == numpy.float32
    filled = filled.toarray() if thin else filled
    assert filled.tolist() == [[1, 0, 0], [0, 0, 2], [0.5, 0, 4]] and filled.dtype == numpy.float32
    matrix = sparse.csr_array(values) if thin else values.copy()
    with pytest.raises(ConfigurationError, match="^f:1: the value of 'b' is missing; set dataset_reader.missing to"):
        fill_missing(matrix, "abc", ["f:1", "f:2", "f:3"], "error")


@pytest.mark.parametrize("thin", [False, True])
def test_means_are_summed_in_double_precision(thin):
    # In float32 the ones would be lost.
    values = numpy.array([[2**24], [1], [1], [-(2**24)]], numpy.float32)
    means = fill_missing(sparse.csr_array(values) if thin else values, "a", range(4), "mean")[1]
    assert means.tolist() == [0.5]
