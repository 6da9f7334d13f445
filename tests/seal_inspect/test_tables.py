import numpy
import pytest

from seal_inspect.tables import spearman


def test_spearman():
    rising = numpy.array([1.0, 2.0, 4.0])
    assert spearman(rising, rising**2) == pytest.approx(1) and spearman(rising, -rising) == pytest.approx(-1)
    for first, second in ((rising, numpy.ones(3)), (numpy.ones(3), rising), (rising[:1], rising[:1])):
        assert spearman(first, second) is None
