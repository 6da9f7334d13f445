import csv
import io
import json
import tempfile

import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seal.tasks.text.labelled_texts import (
    TextOptions,
    labels_of,
    read_labelled_texts,
)


def read(folder, name, content, **options):
    """The texts, labels and lines of a file."""
    path = folder / name
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    found = list(read_labelled_texts(str(path), options=TextOptions(**options)))
    assert all(text.source.startswith(f"{path}:") for text in found)
    return [(text.text, text.labels, int(text.source.rpartition(":")[2])) for text in found]


def test_keys_of_our_files_and_of_published_ones(tmp_path):
    records = [
        {"text": "a b", "labels": ["x", "y", "x"], "id": 3},
        "",
        {"token": ["a", "b"], "label": ["x/y"]},
        {"doc_token": ["a"], "doc_label": []},
    ]
    found = read(tmp_path, "a.jsonl", json_lines(*records))
    assert found == [("a b", ["x", "y"], 1), ("a b", ["x/y"], 3), ("a", [], 4)]


def json_lines(*records):
    return "".join((record if isinstance(record, str) else json.dumps(record)) + "\n" for record in records)


@pytest.mark.parametrize(
    "record",
    [
        {"text": "a b", "labels": [2, 0], "id": "x7"},
        {"sentence": "a b", "label": ["fear", "joy"]},
        {"text": "a b", "cats": {"joy": 1.0, "calm": 0.0, "fear": 1}},
        {"text": "a b", "options": [{"id": "joy", "text": "Joy"}], "accept": ["joy", "fear"], "answer": "accept"},
        {"comment_text": "a b", "joy": 1, "calm": False, "fear": True, "id": 7},
    ],
    ids=["Hugging Face", "doccano", "spaCy", "Prodigy", "a key a label"],
)
def test_labels_of_other_programs(tmp_path, record):
    names = ["joy", "calm", "fear"]
    ((text, labels, _),) = read(tmp_path, "a.jsonl", json_lines(record), label_names=names)
    assert text == "a b" and sorted(labels) == ["fear", "joy"]


@pytest.mark.parametrize("label, names", [("great fear", None), (1, ["joy", "great fear"])])
def test_one_label_without_a_list(tmp_path, label, names):
    lines = json_lines({"text": "a", "label": label}, {"text": "b", "answer": "reject"}, {"text": "c", "label": []})
    found = read(tmp_path, "a.jsonl", lines, label_names=names)
    assert found == [("a", ["great fear"], 1), ("c", [], 3)]


def test_keys_of_labels_that_are_named(tmp_path):
    record = {"id": 0, "text": "a", "spam": 1, "x": 1, "y": 0}
    assert read(tmp_path, "a.jsonl", json_lines(record), label_columns=("x", "y")) == [("a", ["x"], 1)]


@pytest.mark.parametrize("tail", ["", "\tid"])
@pytest.mark.parametrize("names", [None, ["joy", "fear"]])
def test_tsv_with_and_without_ids(tmp_path, tail, names):
    cells = ("joy, great fear", "5") if names is None else ("1,0,01", "1")
    content = f'She said "oh" 😝\t{cells[0]}{tail}\r\n\nbad\t{tail}\n5\t{cells[1]}{tail}\n'
    labels = [["joy", "great fear"], ["5"]] if names is None else [["fear", "joy"], ["fear"]]
    expected = [('She said "oh" 😝', labels[0], 1), ("bad", [], 3), ("5", labels[1], 4)]
    assert read(tmp_path, "a.tsv", content, label_names=names) == expected


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
