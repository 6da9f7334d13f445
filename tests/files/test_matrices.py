import numpy
import pytest
from scipy import sparse

from seal.files import matrices
from seal.files.array_cache import Arrays, MappedArrays
from seal.files.matrices import GrowingMatrix, matrix_of, pieces

VALUES = numpy.array([[1, 0, numpy.nan], [0, 0, 0], [2, 3, 0], [0, 0, 4], [5, 0, 6]], numpy.float32)
KINDS = {"memory": lambda folder: Arrays(), "files": lambda folder: MappedArrays(str(folder))}


@pytest.mark.parametrize("forms", ["dd", "ss", "ds", "sd", "dds", "dsd"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_dense_and_sparse_parts(kind, forms, tmp_path, monkeypatch):
    monkeypatch.setattr(matrices, "PIECE", 4)
    arrays = KINDS[kind](tmp_path)
    growing = GrowingMatrix(arrays, "m", 3)
    for form, part in zip(forms, numpy.array_split(VALUES, len(forms))):
        growing.add(part if form == "d" else sparse.csr_array(part))
    found = growing.matrix()
    assert sparse.issparse(found) == ("s" in forms) and found.shape == (5, 3) and found.dtype == numpy.float32
    numpy.testing.assert_array_equal(found.toarray() if sparse.issparse(found) else found, VALUES)
    held = found.data.copy() if sparse.issparse(found) else found.copy()
    held[1:3] = 9
    growing.write(1, held[1:3])
    changed = matrix_of(arrays, "m", 3)
    numpy.testing.assert_array_equal(changed.data if sparse.issparse(changed) else changed, held)


def test_pieces():
    assert list(pieces(5, matrices.PIECE // 2)) == [(0, 2), (2, 4), (4, 5)]
    assert list(pieces(0)) == [] and list(pieces(2, 10**9)) == [(0, 1), (1, 2)]
