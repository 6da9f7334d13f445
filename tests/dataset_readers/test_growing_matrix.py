import numpy
import pytest
from scipy import sparse

from seal.dataset_readers import growing_matrix
from seal.dataset_readers.growing_matrix import GrowingMatrix, matrix_of, pieces
from seal.files.kept_arrays import Arrays, MappedArrays

VALUES = numpy.array([[1, 0, numpy.nan], [0, 0, 0], [2, 3, 0], [0, 0, 4], [5, 0, 6]], numpy.float32)
KINDS = {"memory": lambda folder: Arrays(), "files": lambda folder: MappedArrays(str(folder))}


@pytest.mark.parametrize("forms", ["dd", "ss", "ds", "sd", "dds", "dsd"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_dense_and_sparse_parts(kind, forms, tmp_path, monkeypatch):
    monkeypatch.setattr(growing_matrix, "PIECE", 4)
    arrays = KINDS[kind](tmp_path)
    growing = GrowingMatrix(arrays, "m", 3)
    for form, part in zip(forms, numpy.array_split(VALUES, len(forms))):
        growing.add(part if form == "d" else sparse.csr_array(part))
    found = growing.matrix()
    assert sparse.issparse(found) == ("s" in forms) and found.shape == (5, 3) and found.dtype == numpy.float32
    whole = found.toarray() if sparse.issparse(found) else found
    numpy.testing.assert_array_equal(whole, VALUES)
    again = matrix_of(arrays, "m", 3)
    numpy.testing.assert_array_equal(again.toarray() if sparse.issparse(again) else again, VALUES)
    held = found.data if sparse.issparse(found) else found
    growing.write(1, numpy.full_like(held[1:3], 9))
    changed = growing.matrix()
    changed = changed.data if sparse.issparse(changed) else changed
    numpy.testing.assert_array_equal(changed, numpy.concatenate([held[:1], numpy.full_like(held[1:3], 9), held[3:]]))


def test_pieces():
    growing = list(pieces(5, growing_matrix.PIECE // 2))
    assert growing == [(0, 2), (2, 4), (4, 5)] and list(pieces(0)) == [] and list(pieces(2, 10**9)) == [(0, 1), (1, 2)]
