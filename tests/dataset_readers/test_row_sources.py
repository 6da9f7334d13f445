import numpy
import pytest

from seal.dataset_readers.multilabel_files import RowSources


def test_file_and_line_of_each_row():
    sources = RowSources(["a.arff", "empty.arff", "b.arff"], numpy.array([2, 0, 1]), numpy.array([5, 7, 3]))
    assert len(sources) == 3 and list(sources) == ["a.arff:5", "a.arff:7", "b.arff:3"]
    assert sources[-1] == "b.arff:3" and sources[1:] == ["a.arff:7", "b.arff:3"]
    assert sources[numpy.int64(1)] == "a.arff:7"
    with pytest.raises(IndexError):
        sources[3]
