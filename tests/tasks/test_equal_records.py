"""One input has the same records from a file, packed or not, and from standard input, for every task."""

import bz2
import csv
import gzip
import io
import json
import lzma
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seal.tasks.base.pipeline import Pipeline
from tests.segmentation import write_npz
from tests.tasks.test_every_task import MAKERS

SENTENCES = ["Rose sells ginger!", "She cut it .", "red kite", "Zürich \U0001f600 left", "[laughs] he said", "[1]"]
JSON = {
    "tags": [{"words": ["Rose", "\u00a0"], "id": 1}, {"sentence": "Rose\u2028sells"}, {"words": []}],
    "frames": [{"words": ["She", "left"], "predicates": [1]}, {"sentence": "She\x85left"}],
    "texts": [{"text": "sea\u2029kite", "id": 2}, {"tokens": ["sea"]}],
    "features": [{"features": [1, 2, 3]}, {"features": {"size": 1}, "id": "é"}, {"features": [1, None, 3]}],
    "masks": [{"images": "data.npz", "row": 2}, {"images": "data.npz", "row": 99}],
}
ENDS = ["\n", "\n", "\r\n", "\n\n", "\n \t\n", "\r\n\r\n"]
# All that Python or another program may take for the end of a line, blanks, and other characters.
SIGNS = st.sampled_from(list("\r\x0b\x0c\x1c\x1e\x85\u2028\u2029 \t\u00a0\u200b"))
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\n")
WORDS = st.one_of(st.text(CHARACTERS, max_size=5), SIGNS)


def records(predictor, path, monkeypatch, text=None):
    if text is not None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text)), encoding="utf-8"))
    try:
        pipeline = Pipeline(predictor)
        found = pipeline.predicted(pipeline.lines(str(path)), 3)
        return [json.loads(predictor.dump_line(record)) for record in found]
    except Exception as error:  # The same error, too.
        return str(error).replace("standard input" if text is not None else str(path), "INPUT")


@pytest.mark.parametrize("task", JSON)
def test_records_do_not_depend_on_how_the_input_comes(task, tmp_path, monkeypatch):
    predictor = MAKERS[task]()
    write_npz(tmp_path)
    monkeypatch.chdir(tmp_path)
    packings = {"": lambda data: data, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    a_line = st.one_of(
        st.sampled_from(SENTENCES),
        st.sampled_from([json.dumps(item, ensure_ascii=False) for item in JSON[task]]),
        st.lists(WORDS, min_size=1, max_size=4).map("".join),
    )

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.tuples(a_line, st.sampled_from(ENDS)), max_size=5), st.booleans())
    def check(lines, has_mark):
        text = "\ufeff" * has_mark + "".join(line + end for line, end in lines)
        data = text.encode()
        expected = records(predictor, "-", monkeypatch, data)
        for ending, pack in packings.items():
            path = tmp_path / f"input.txt{ending}"
            path.write_bytes(pack(data))
            assert records(predictor, path, monkeypatch) == expected
        # A record for each line; between objects of JSON blank ones are none.
        rows = text.removeprefix("\ufeff").split("\n")
        rows = rows if rows[-1] else rows[:-1]
        filled = [row for row in rows if row and not row.isspace()]
        rows = filled if filled and filled[0].lstrip().startswith("{") else rows
        assert isinstance(expected, str) or len(expected) == len(rows)

    check()


def test_the_first_line_says_whether_blank_lines_are_inputs(tmp_path, monkeypatch):
    predictor = MAKERS["texts"]()
    for text, number in (('sea\tkite\n{"text": "sea"}\n\n', 3), ('{"text": "sea"}\n\nkite\n', 2)):
        (tmp_path / "input.txt").write_text(text)
        assert len(records(predictor, tmp_path / "input.txt", monkeypatch)) == number


SPECIAL = ["", " ", '"', "sea", "red, kite", "a\nb", "a\r\nb"]
# A file with several zero bytes is refused as a whole, as no text.
LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\n\0")
CELLS = st.one_of(st.sampled_from(SPECIAL), st.text(LETTERS, max_size=5))
MISSING = {"tags": "'sentence' is blank", "frames": "'sentence' is blank", "texts": "the text is empty"}


@pytest.mark.parametrize("task", MISSING)
def test_each_row_of_a_table_has_a_record(task, tmp_path, monkeypatch):
    predictor, name = MAKERS[task](), "text" if task == "texts" else "sentence"

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.lists(CELLS, min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans(),
        st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    )  # fmt: skip
    def check(cells, end, has_mark, has_id, quoting):
        path = tmp_path / "input.csv"
        # Python writes a carriage return without quotes before its version 3.13, and there it ends a row.
        quoting = csv.QUOTE_ALL if any("\r" in cell for cell in cells) else quoting
        with open(path, "w", newline="", encoding="utf-8-sig" if has_mark else "utf-8") as file:
            writer = csv.writer(file, lineterminator=end, quoting=quoting)
            writer.writerow([name, "id"][: 1 + has_id])
            for place, cell in enumerate(cells):
                writer.writerow([cell, str(place)][: 1 + has_id])
        found = records(predictor, path, monkeypatch)
        assert len(found) == len(cells)
        for place, (record, cell) in enumerate(zip(found, cells)):
            assert not cell.strip() or record.get("input", cell) == cell
            assert record.get("id", str(place)) == str(place)
            assert ("error" in record) or cell.strip()

    check()


def test_only_line_feeds_end_a_line(tmp_path, monkeypatch):
    data = b"Good work\ron the park\nBest\n"
    predictor = MAKERS["texts"]()
    (tmp_path / "lines.txt").write_bytes(data)
    (tmp_path / "lines.txt.gz").write_bytes(gzip.compress(data))
    for path, text in ((tmp_path / "lines.txt", None), (tmp_path / "lines.txt.gz", None), ("-", data)):
        assert len(records(predictor, path, monkeypatch, text)) == 2
    # As in the reader of training.
    (tmp_path / "lines.tsv").write_bytes(data.replace(b"\n", b"\ta\n"))
    assert len(list(predictor._dataset_reader.texts(str(tmp_path / "lines.tsv")))) == 2
