import numpy
import pytest

from seal.common.equal_contents import digest, in_order


def test_equal_contents_have_one_number():
    one, other = numpy.array([0.0, 1.5]), numpy.array([-0.0, 1.5])
    assert digest(one) == digest(other) == digest(one.tobytes()) and 0 <= digest(one) < 2**64
    assert digest(one) != digest(one[::-1]) and digest(b"a", b"b") == digest(b"ab")
    # Also where the numbers of a row do not lie side by side.
    table = numpy.arange(6).reshape(2, 3)
    assert digest(table[:, 1]) == digest(numpy.array([1, 4]))


@pytest.mark.parametrize("values, numbers", [([], []), ([7, 3, 7, 9, 3], [0, 1, 0, 2, 1]), ([5, 5], [0, 0])])
def test_numbers_are_in_the_order_of_first_occurrences(values, numbers):
    assert in_order(numpy.array(values)).tolist() == numbers
