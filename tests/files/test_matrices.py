import numpy
import pytest
from scipy import sparse

from seal.files import matrices
from seal.files.matrices import pieces, stacked

VALUES = numpy.array([[1, 0, numpy.nan], [0, 0, 0], [2, 3, 0], [0, 0, 4], [5, 0, 6]], numpy.float32)


@pytest.mark.parametrize("forms", ["dd", "ss", "ds", "sd", "dds", "dsd"])
def test_rows_of_dense_and_sparse_parts(forms):
    parts = zip(forms, numpy.array_split(VALUES, len(forms)))
    found = stacked([part if form == "d" else sparse.csr_array(part) for form, part in parts])
    assert sparse.issparse(found) == ("s" in forms) and found.shape == (5, 3) and found.dtype == numpy.float32
    numpy.testing.assert_array_equal(found.toarray() if sparse.issparse(found) else found, VALUES)


def test_pieces():
    assert list(pieces(5, matrices.PIECE // 2)) == [(0, 2), (2, 4), (4, 5)]
    assert list(pieces(0)) == [] and list(pieces(2, 10**9)) == [(0, 1), (1, 2)]
