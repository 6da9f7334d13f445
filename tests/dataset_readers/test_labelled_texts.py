import csv
import io
import json
import logging
import tempfile
import time

import pandas
import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import given, settings
from hypothesis import strategies as st

from seal.dataset_readers.labelled_texts import (
    CONVERTED,
    FORMATS,
    TextOptions,
    format_of,
    labels_of,
    read_labelled_texts,
)
from tests.scripts.layouts.test_texts import BOOK


def read(folder, name, content, **options):
    """The texts, labels and lines of a file."""
    path = folder / name
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    found = list(read_labelled_texts(str(path), options=TextOptions(**options)))
    assert all(text.source.startswith(f"{path}:") for text in found)
    return [(text.text, text.labels, int(text.source.rpartition(":")[2])) for text in found]


def json_lines(*records):
    return "".join((record if isinstance(record, str) else json.dumps(record)) + "\n" for record in records)


@pytest.mark.parametrize(
    "name, content, label_names, expected",
    [
        ("a.jsonl", "", None, "json_lines"),
        ("a.json.gz", "", None, "json_lines"),
        ("a.csv", "", None, "csv"),
        ("a.tsv", "", None, "tsv"),
        ("a.tsv.gz", "", ["a"], "indexed_tsv"),
        ("notes.txt", '\n{"text": "a"}\n', None, "json_lines"),
    ],
)
def test_format_by_name_or_first_line(write, name, content, label_names, expected):
    assert format_of(write(name, content), TextOptions(label_names)) == expected and expected in FORMATS


def test_a_format_that_cannot_be_told(tmp_path):
    with pytest.raises(ConfigurationError, match="notes.txt: neither its name .* set dataset_reader.format to one of"):
        read(tmp_path, "notes.txt", "a text\n")


@pytest.mark.parametrize(
    "name, content, layout",
    [
        ("lyrl2004_tokens_train.dat", ".I 2286\n.W\nrecov\n", "rcv1"),
        ("lyrl.txt", "\n.I 2286\n.W\nrecov\n", "rcv1"),
        ("text_train", "we study graphs\n", "aapd"),
        ("books.txt", "\n" + BOOK, "bgc"),
    ],
)
def test_a_layout_that_is_converted_is_refused_with_the_way_to_convert_it(tmp_path, name, content, layout):
    with pytest.raises(ConfigurationError, match=f"{name}: .* `python scripts/convert.py {layout} .*{name} --out FILE"):
        read(tmp_path, name, content)


@pytest.mark.parametrize("format", sorted(CONVERTED))
def test_so_is_its_name_of_before(format):
    with pytest.raises(ConfigurationError, match=f"^a: the format '{format}' .*convert.py {CONVERTED[format]} a"):
        read_labelled_texts("a", format)


def test_keys_of_our_files_and_of_published_ones(tmp_path):
    records = [
        {"text": "a b", "labels": ["x", "y", "x"], "id": 3},
        "",
        {"token": ["a", "b"], "label": ["x/y"]},
        {"doc_token": ["a"], "doc_label": []},
    ]
    found = read(tmp_path, "a.jsonl", json_lines(*records))
    assert found == [("a b", ["x", "y"], 1), ("a b", ["x/y"], 3), ("a", [], 4)]


@pytest.mark.parametrize(
    "name, content", [("a.jsonl", '{"title": "A", "text": "b c", "labels": []}'), ("a.csv", "title;text;label\nA;b c;")]
)
def test_named_keys_are_joined(tmp_path, name, content):
    ((text, labels, _),) = read(tmp_path, name, content + "\n", text_keys=("title", "text"))
    assert text == "A b c" and labels == []


@pytest.mark.parametrize("tail", ["", "\tid"])
@pytest.mark.parametrize("names", [None, ["joy", "fear"]])
def test_tsv_with_and_without_ids(tmp_path, tail, names):
    cells = ("joy, great fear", "5") if names is None else ("1,0,01", "1")
    content = f'She said "oh" 😝\t{cells[0]}{tail}\r\n\nbad\t{tail}\n5\t{cells[1]}{tail}\n'
    labels = [["joy", "great fear"], ["5"]] if names is None else [["fear", "joy"], ["fear"]]
    expected = [('She said "oh" 😝', labels[0], 1), ("bad", [], 3), ("5", labels[1], 4)]
    assert read(tmp_path, "a.tsv", content, label_names=names) == expected


RECORD = '{"text": "a", "labels": []}\n'
OF_JSON = [
    ("{", r":2: each line must be one JSON object: Expecting property name .* at character 2\."),
    ("[", r":2: each line must be one JSON object: Expecting value at character 2\."),
    ("[" * 100_000, r":2: the JSON is nested too deeply"),
    ('{"text": "a", "labels": ["x"], "labels": []}', r":2: 'labels' is given twice"),
    ({"text": "a", "labels": ["x\r"]}, r":2: the label begins or ends with a control .*: 'x\\r'"),
    ({"text": "a", "labels": ["\udc80"]}, r":2: the label holds half a surrogate pair, .*: '\\udc80'"),
    ({"text": "a", "labels": ["x", ""]}, r":2: the label is blank: ''"),
    ({"text": "a", "labels": [" x"]}, r":2: the label begins or ends with white space: ' x'"),
    ("[1]", r":2: expected a JSON object"),
    ({"labels": []}, r":2: the object has none of text, token"),
    ({"text": 3, "labels": []}, r"'text' must be a string or a list of words, found 3"),
    ({"text": ["a", 1], "labels": []}, r"'text' must be a string or a list of words"),
    ({"text": "a"}, r":2: the object has no 'labels'"),
    ({"text": "a", "labels": "x"}, r"'labels' must be a list of names, found 'x'"),
    ({"text": "a", "labels": [1]}, r"'labels' must be a list of names"),
]
OF_CSV = [
    ("text,kind\na,b\n", ":1: no column is called labels or .* dataset_reader.label_columns; .* 'text', 'kind' have"),
    ("text,x,y,n,m\na,0,1,7,8\n", ":1: no column is called labels or .* 'text', 'n', 'm' have, of 5 columns"),
    ("text,x,y\n" + "a,0,1\n" * 100 + "a,0,2\n", ":102: the column 'y' of a label must be 0 or 1, found '2'"),
    ("text,x,y\n" + "a,0,1\n" * 100 + "a,,1\n", ":102: the column 'x' of a label must be 0 or 1, found ''"),
    ("title,body,x,y\na b,c d,0,1\n", ":1: which column has the texts\\? .*text_keys; .* are 'title', 'body'"),
    ("words,labels\na,b\n", ":2: the object has none of text, token"),
    ('text,labels\na,"[x, y]"\n', ":2: .* is no list of names"),
    ('text,labels\na,"{""x"": 1}"\n', ":2: .* is no list of names"),
    ("text,labels\na,\"['x', 'x']\"\n", ":2: the label 'x' comes a second time"),
    ('text,labels\na,"x,x"\n', ":2: the label 'x' comes a second time"),
]
OF_TSV = [
    ("a\n", r":1: expected a text, .* with tabs between, found 1 column\."),
    ("a\tx\tb\tc\n", r":1: expected a text, .* found 4 columns"),
    ("a\t1\tx\nb\t1\n", r":2: found 2 columns, and 3 in the first line"),
    ("Text\tlabels\tid\na\tx\t1\n", r":1: this line is a header, .*; remove it\."),
    ("id\ttext\tlabels\n1\ta\tx\n", r":1: this line is a header"),
]
OF_NAMES = [
    ("a\tx\nb\n", r":2: found 1 column, and 2 in the first line"),
    ("a\tx\nb\tx,\n", r":2: a label is empty; names have one comma between, found 'x,'"),
    ("a\tx,,y\n", r":1: a label is empty"),
    ("a\tx\n\nb\ty, x,y\n", r":3: the label 'y' comes a second time"),
    ("a\tx,y\x7f\n", r":1: the label begins or ends with a control character"),
]
OF_NUMBERS = [
    ("a\t1\nb\t0,2\n", r":2: there is no label 2; dataset_reader.labels lists 2, 0 to 1"),
    ("a\t" + "1" * 5000 + "\n", r":1: there is no label 1{40}; dataset_reader.labels lists 2, 0 to 1"),
    ("a\tfear\n", r":1: the labels must be numbers from 0, .* set dataset_reader.format to 'tsv'"),
    ("a\t-1\n", r":1: the labels must be numbers from 0"),
]


@pytest.mark.parametrize(
    "name, content, names, message",
    [
        *(("a.jsonl", RECORD + json_lines(line), None, message) for line, message in OF_JSON),
        *(("a.csv", content, None, message) for content, message in OF_CSV),
        *(("a.tsv", content, None, message) for content, message in OF_TSV + OF_NAMES),
        *(("a.tsv", content, ["joy", "fear"], message) for content, message in OF_TSV + OF_NUMBERS),
    ],
)
def test_wrong_lines(tmp_path, name, content, names, message):
    with pytest.raises(ConfigurationError, match=message) as error:
        read(tmp_path, name, content, label_names=names)
    assert error.value.message.startswith(f"{tmp_path / name}:")


@pytest.mark.parametrize(
    "cell, labels",
    [
        ("['a', \"it's\"]", ["a", "it's"]),
        ("['a, b']", ["a, b"]),
        (r'["caf\u00e9", "\ud83d\ude00", "x/y"]', ["caf\u00e9", "\U0001f600", "x/y"]),
        (r"['a\'b']", ["a'b"]),
        # NumPy's, which Python would read as one string.
        ("['a' 'b'\n 'c']", ["a", "b", "c"]),
        ("('a',)", ["a"]),
        ("{'a', 'b'}", ["a", "b"]),
        ("[]", []),
        ("[7]", ["7"]),
        ("[3, 12]", ["3", "12"]),
        ("[3 12]", ["3", "12"]),
    ],
)
def test_a_cell_with_a_list_has_its_items(cell, labels):
    assert labels_of(cell, "f:1") == labels


def test_what_pandas_writes_of_lists_is_read(tmp_path):
    rows = [("a b", ["x", "y z"]), ("c", []), ("d", ["it's, so"])]
    pandas.DataFrame(rows, columns=["text", "labels"]).to_csv(tmp_path / "a.csv")
    found = read_labelled_texts(str(tmp_path / "a.csv"))
    assert [(text.text, text.labels) for text in found] == rows


#: As AAPD, and as the comments of a well-known competition.
ONE_HOT = [
    ("text,cs.LG,math\na b,1,0\nc,0,0\nd,1,1\n", {}),
    (",comment,cs.LG,math\n7,a b,1,0\n8,c d,0,0\n9,d,1,1\n", {}),
    ("id,comment,cs.LG,math\n7,a b,1.0,0.0\n8,c d,0.0,0.0\n9,d,1.0,1.0\n", {}),
    ("comment,cs.LG,math\na b,True,False\nc d,False,False\nd,True,True\n", {}),
    ("a,b,n,cs.LG,math\nx,a b,5,1,0\nx,c,5,0,0\nx,d,5,1,1\n", {"label_columns": ["cs.LG", "math"], "text_keys": ["b"]}),
    ("a,b,cs.LG,math\nx,a b,1,0\nx,c,0,0\nx,d,1,1\n", {"text_keys": ["b"]}),
]


@pytest.mark.parametrize("content, options", ONE_HOT)
def test_a_table_with_a_column_for_each_label(tmp_path, content, options):
    path = tmp_path / "a.csv"
    path.write_text(content)
    options = TextOptions(**{name: tuple(names) for name, names in options.items()})
    found = [(text.text.split()[0], text.labels) for text in read_labelled_texts(str(path), options=options)]
    assert found == [("a", ["cs.LG"]), ("c", []), ("d", ["cs.LG", "math"])]


def test_label_columns_that_are_not_there_or_not_of_a_table(tmp_path):
    with pytest.raises(ConfigurationError, match="a.csv:1: no column is called 'z', which .*label_columns"):
        read(tmp_path, "a.csv", "text,x\na,1\n", label_columns=("x", "z"))
    with pytest.raises(ConfigurationError, match="a.jsonl: .*label_columns is for CSV"):
        read(tmp_path, "a.jsonl", RECORD, label_columns=("x",))


def test_a_named_key_that_is_missing(tmp_path):
    with pytest.raises(ConfigurationError, match=r"a.jsonl:1: the object has no 'title', which .* text_keys"):
        read(tmp_path, "a.jsonl", RECORD, text_keys=("title",))


def test_numbers_need_names():
    with pytest.raises(ConfigurationError, match="a.tsv: its labels are numbers; name the file"):
        list(read_labelled_texts("a.tsv", "indexed_tsv"))


def test_a_cell_of_many_labels():
    names = [str(number) for number in range(60000)]
    start = time.process_time()
    assert labels_of(",".join(names), "f:1") == names
    assert time.process_time() - start < 2


ROWS = st.lists(
    st.tuples(
        st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1).map(lambda text: f"a{text}b"),
        st.lists(st.sampled_from(["sea", "red kite", "C#", "a|b", "lighting", "-", "1"]), unique=True, max_size=3),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=40, deadline=None)
@given(ROWS, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans(), st.sampled_from(",;\t"))
def test_a_table_has_the_same_texts_and_labels_in_every_format(rows, end, has_mark, has_blank_rows, separator):
    gap = end * (1 + has_blank_rows)
    table = io.StringIO()
    writer = csv.writer(table, delimiter=separator, lineterminator=gap, quoting=csv.QUOTE_ALL)
    writer.writerows([("text", "labels"), *((text, ",".join(labels)) for text, labels in rows)])
    contents = {
        "a.csv": table.getvalue(),
        "a.tsv": "".join(f"{text}\t{', '.join(labels)}{gap}" for text, labels in rows),
        "a.jsonl": "".join(json.dumps({"text": text, "labels": labels}) + gap for text, labels in rows),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, content in contents.items():
            with open(f"{folder}/{name}", "w", newline="", encoding="utf-8-sig" if has_mark else "utf-8") as file:
                file.write(content)
            found = read_labelled_texts(f"{folder}/{name}")
            assert [(text.text, text.labels) for text in found] == rows, name


@pytest.mark.parametrize(
    "labels, told",
    [
        (["a|b", "a|c"], True),
        (["a;b", "a;c"], True),
        (["a#b", "a #c"], True),
        (["C#", "#news", "F#", "part #2"], False),
        (["a|b", "c"], False),
    ],
)
def test_warns_of_other_separators(tmp_path, caplog, labels, told):
    with caplog.at_level(logging.WARNING):
        assert len(read(tmp_path, "a.tsv", "".join(f"a\t{label}\n" for label in labels))) == len(labels)
    assert ("if it stands between labels" in caplog.text) is told
