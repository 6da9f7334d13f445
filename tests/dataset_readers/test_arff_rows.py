import time

import numpy
import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import given, settings
from hypothesis import strategies as st

from seal.dataset_readers.arff_rows import ArffRows, Attribute, split_values, uncommented, unescape

THREE = [
    Attribute("a", "numeric", (), 1),
    Attribute("b", "nominal", ("x", "y z", "0"), 2),
    Attribute("c", "nominal", ("0", "1"), 3),
]
FINITE = st.floats(-1e6, 1e6, width=32) | st.integers(-50, 50).map(float)


def message_of(lines):
    with pytest.raises(ConfigurationError) as error:
        list(ArffRows("f", THREE).read(enumerate(lines, start=1)))
    assert "\n" not in error.value.message
    return error.value.message


def test_unescape():
    assert unescape(r"a\'b\"c\\d\te\%") == "a'b\"c\\d\te%"


def test_uncommented():
    kept = ["1,2", "'a % b',1", "50%_x", "5%", "{0 'a % b',1\t\" %\"}", "don't,'a, \\' % b'", "@attribute a{'b %'}"]
    for line in kept:
        assert uncommented(line) == line
    assert uncommented("% all") == uncommented("%") == ""
    assert uncommented("1,'%' % rest '") == "1,'%'"
    assert uncommented("o'clock % rest") == "o'clock"
    # Apostrophes of a value and of the comment.
    assert uncommented("don't,1,1 % it's a comment") == "don't,1,1"
    assert uncommented("{0 don't,1 'it\\'s %'} % it's") == "{0 don't,1 'it\\'s %'}"
    assert uncommented("'it\\'s % 5',m\\'x % 'z'") == "'it\\'s % 5',m\\'x"
    assert uncommented('a"b %"') == 'a"b'


def test_split_values():
    assert split_values("f:1", "a b , 'c,d' ,\"e\\\"\",m\\'x,'?'") == [
        ("a b", False), ("c,d", True), ('e"', True), ("m\\'x", False), ("?", True),
    ]  # fmt: skip
    for text, what in (("a,,b", "empty"), ("a,", "empty"), ("'a'b,c", "not closed"), ("'a", "not closed")):
        with pytest.raises(ConfigurationError, match=f"^f:1: .*{what}"):
            split_values("f:1", text)


def test_rows_of_numerals_of_both_shapes():
    rows = ArffRows("f", [Attribute("a", "numeric", (), 1), Attribute("b", "nominal", ("0", "1"), 2)])
    ((codes, texts, lines),) = rows.read([(3, "1.5,1"), (4, ""), (5, "-2, ?")])
    assert codes.dtype == numpy.float32 and texts == {} and lines.tolist() == [3, 5]
    numpy.testing.assert_array_equal(codes, [[1.5, 1], [-2, numpy.nan]])
    ((codes, _, _),) = rows.read([(3, "{ }"), (4, "{}"), (5, "{1 1}")])
    assert codes.toarray().tolist() == [[0, 0], [0, 0], [0, 1]]


def test_listed_numerals_that_are_not_their_own_places():
    rows = ArffRows("f", [Attribute("a", "nominal", ("1", "2", "3"), 1), Attribute("b", "nominal", ("1", "0"), 2)])
    ((codes, _, _),) = rows.read([(3, "2,0"), (4, "1,1"), (5, "{0 3,1 0}")])
    assert codes.toarray().tolist() == [[1, 1], [0, 0], [2, 1]]


@pytest.mark.parametrize(
    "row, message",
    [
        ("1,x", "the row has 2 values for 3 attributes."),
        ("1,x,0,0", "the row has 4 values for 3 attributes."),
        ("1,1", "the row has 2 values for 3 attributes."),
        ("1,x,0,", "the row has 4 values for 3 attributes."),
        ("1,w,0", "the value 'w' is not in the list of 'b': {x,y z,0}."),
        ("1,X,0", "the value 'X' is not in the list of 'b': {x,y z,0}."),
        ("1,1,0", "the value '1' is not in the list of 'b': {x,y z,0}."),
        ("1,x,2", "the value '2' is not in the list of 'c': {0,1}."),
        ("1,x,0.5", "the value '0.5' is not in the list of 'c': {0,1}."),
        ("1,x,-1", "the value '-1' is not in the list of 'c': {0,1}."),
        ("{2 0.5}", "the value '0.5' is not in the list of 'c': {0,1}."),
        ("{2 -1}", "the value '-1' is not in the list of 'c': {0,1}."),
        ("{2 2}", "the value '2' is not in the list of 'c': {0,1}."),
        ("{1 1}", "the value '1' is not in the list of 'b': {x,y z,0}."),
        ("nan,x,0", "'nan' is not a finite number, but the attribute 'a' is numeric."),
        ("1e999,x,0", "'1e999' is not a finite number, but the attribute 'a' is numeric."),
        ("1e39,0,0", "'1e39' is not a finite number, but the attribute 'a' is numeric."),
        ("{0 -inf}", "'-inf' is not a finite number, but the attribute 'a' is numeric."),
        ("{0 1e39}", "'1e39' is not a finite number, but the attribute 'a' is numeric."),
        ("1_0,x,0", "'1_0' is not a finite number, but the attribute 'a' is numeric."),
        ("\u0661,x,0", "'\u0661' is not a finite number, but the attribute 'a' is numeric."),
        ("0x1,x,0", "'0x1' is not a finite number, but the attribute 'a' is numeric."),
        (",x,0", "'' is not a finite number, but the attribute 'a' is numeric."),
        ("1,'x,0", 'the quote of "\'x" is not closed.'),
        ("{0 1", "the sparse row does not end in '}'."),
        ("{0 1}, {5}", "the row ends with an instance weight, {5}; weights are not supported, so remove it."),
        ("1,x,0,{0.5}", "the row ends with an instance weight, {0.5}; weights are not supported, so remove it."),
        ("{3 1}", "the index 3 is out of range; the last attribute is 2."),
        ("{9999999999 1}", "the index 9999999999 is out of range; the last attribute is 2."),
        ("{-1 1}", "expected 'index value' in the sparse row, found '-1 1'."),
        ("{1.0 1}", "expected 'index value' in the sparse row, found '1.0 1'."),
        ("{0 1,0 2}", "the index 0 comes twice in the sparse row."),
        ("{0 1,}", "expected 'index value' in the sparse row, found ''."),
        ("{0 1 2 1}", "'1 2 1' is not a finite number, but the attribute 'a' is numeric."),
        ("{0}", "expected 'index value' in the sparse row, found '0'."),
    ],
)
def test_row_errors(row, message):
    # The fast way and the slow one must agree on what is wrong, so good rows of both stand before.
    found = message_of(["1,x,0", "{0 1,2 1}", "", row])
    assert found == "f:4: " + message


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), FINITE), max_size=4, unique_by=lambda pair: pair[0]))
def test_the_fast_way_agrees_with_the_slow_one(pairs):
    line = "{" + ",".join(f"{column} {value!r}" for column, value in sorted(pairs)) + "}"
    rows = ArffRows("f", [Attribute(f"a{i}", "numeric", (), i) for i in range(4)])
    for fast, slow in zip(rows._sparse_numerals(line), rows._sparse("f:1", line)):
        assert fast.dtype == slow.dtype
        numpy.testing.assert_array_equal(fast, slow)


@pytest.mark.parametrize(
    "row",
    [
        "1" * 40_000 + "x", "'" * 20_001, "'" + "\\'" * 20_000, "1" + " " * 40_000 + "x", "{0 " * 15_000,
        "1,?" * 9_999, "x" + " %'" * 9_999, " '\"\\'" * 9_999 + "%", "{" + "0 1," * 9_999,
    ],
)  # fmt: skip
def test_a_long_damaged_row_takes_no_time(row):
    start = time.perf_counter()
    message_of([row])
    assert time.perf_counter() - start < 5
