"""One table of texts and labels has the same texts and labels in every format that can hold it."""

import csv
import io
import json
import logging
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seal.dataset_readers.text_formats import FORMATS, TextOptions, format_of

LABELS = ["sea", "red kite", "C#", "a|b", "lighting", "-", "1"]
ROWS = st.lists(
    st.tuples(
        st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1).map(lambda text: f"a{text}b"),
        st.lists(st.sampled_from(LABELS), unique=True, max_size=3),
    ),
    min_size=1,
    max_size=5,
)


def read(path):
    return [(text.text, text.labels) for text in FORMATS[format_of(path, TextOptions())](path, TextOptions())]


@settings(max_examples=40, deadline=None)
@given(ROWS, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans(), st.sampled_from(",;\t"))
def test_texts_and_labels_are_those_of_the_table(rows, end, has_mark, has_blank_rows, separator):
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
            assert read(f"{folder}/{name}") == rows, name


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
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
def test_each_format_warns_of_other_separators(tmp_path, caplog, labels, told, ending):
    path = tmp_path / f"a{ending}"
    if ending == ".jsonl":
        path.write_text("".join(json.dumps({"text": "a", "labels": [label]}) + "\n" for label in labels))
    else:
        separator = "," if ending == ".csv" else "\t"
        header = "text,labels\n" * (ending == ".csv")
        path.write_text(header + "".join(f"a{separator}{label}\n" for label in labels))
    with caplog.at_level(logging.WARNING):
        assert len(read(str(path))) == len(labels)
    assert ("if it stands between labels" in caplog.text) is told
