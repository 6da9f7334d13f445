"""Rows of CSV files: quotes, line ends in cells, separators, and the numbers of lines."""

import json

import pytest
from allennlp.common.checks import ConfigurationError

from seal.files.records import csv_records, csv_rows, read_json
from tests.one_sentence import message_of


def numbered(text):
    return list(enumerate(text.splitlines(keepends=True), start=1))


@pytest.mark.parametrize(
    "text, rows",
    [
        ("", []),
        ("a,b\nc,d\n", [(1, ["a", "b"]), (2, ["c", "d"])]),
        ('a,"b\nc"\r\nd,e', [(1, ["a", "b\nc"]), (3, ["d", "e"])]),
        ('a,"he said ""no"", twice"\n\nb,\n', [(1, ["a", 'he said "no", twice']), (2, []), (3, ["b", ""])]),
        ('a;"b;c"\nd;e,f\n', [(1, ["a", "b;c"]), (2, ["d", "e,f"])]),
        ("a\tb, c\td\n1,2\t3\t\n", [(1, ["a", "b, c", "d"]), (2, ["1,2", "3", ""])]),
        ('"a;b",c\n', [(1, ["a;b", "c"])]),
        ("a\nb\n", [(1, ["a"]), (2, ["b"])]),
    ],
)
def test_rows_have_the_number_of_their_first_line(text, rows):
    assert list(csv_rows("f.csv", numbered(text))) == rows


@pytest.mark.parametrize(
    "text, told",
    [
        ('a,b\nc,"d\ne,f\n', "f.csv:2: "),
        ('a,"b"c\n', "f.csv:1: "),
        ('a,b\n\n\nc,"d" e\n', "f.csv:4: "),
        ("a,b\n1\n", "f.csv:2: .*1 cell.* 2"),
        ('a,b\n1,2\n""\n', "f.csv:3: .*1 cell"),
        ("a,a\n1,2\n", "f.csv:1: .*'a'"),
        ("a,\n1,2\n", "f.csv:1: .*''"),
    ],
)
def test_wrong_tables_are_told(text, told):
    with pytest.raises(ConfigurationError, match=told):
        list(csv_records("f.csv", numbered(text)))


def test_records_have_the_names_of_the_first_row():
    text = '\n id , text\n1,"a\nb"\n,\n\n2,c\n'
    found = [(3, {"id": "1", "text": "a\nb"}), (5, {"id": "", "text": ""}), (7, {"id": "2", "text": "c"})]
    assert list(csv_records("f.csv", numbered(text))) == found


def test_of_one_column_a_blank_line_is_a_row():
    text = '\ntext\na\n""\n\n  \n"  "\n'
    found = [(number, {"text": cell}) for number, cell in enumerate(["a", "", "", "", "  "], start=3)]
    assert list(csv_records("f.csv", numbered(text))) == found


@pytest.mark.parametrize("value", [{"a": [1, {"b": None}], "c": {"a": "\u00e9"}}, [], 3.5, "x"])
def test_what_is_json_is_read_as_json_reads_it(value):
    assert read_json(json.dumps(value) + "\r\n", "no JSON") == value


@pytest.mark.parametrize(
    "line, named",
    [
        ("[\n", "character 2"),
        ('[{"a": {"b\\n": 1, "b\\n": 2}}]', "'b\\n'"),
        ("[" * 100_000, ""),
        ("1" * 5000, ""),
    ],
)
def test_what_is_not_ends_in_a_sentence(line, named):
    told = message_of(read_json, line, "no JSON", "a.jsonl:3")
    assert told.startswith("a.jsonl:3: ") and named in told
