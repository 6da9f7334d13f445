import gzip
import json
import os
import shutil

import pytest

from seal.tasks.srl.data_files import read_srl_sentences, srl_data_files

FIXTURES = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "srl")
COLUMNS = os.path.join(FIXTURES, "kitchen.gold_conll")
JSON = os.path.join(FIXTURES, "kitchen.jsonl")
CONLL_U = os.path.join(FIXTURES, "kitchen.conllu")
EWT = os.path.join("data", "ewt_propbank_srl")


def column_file(path, *sentences):
    """Write sentences of rows `(word, frameset, role, role, ...)` in CoNLL-2012 columns."""
    lines = []
    for rows in sentences:
        for index, (word, frameset, *roles) in enumerate(rows):
            lemma = "-" if frameset == "-" else word.lower()
            row = ["doc", "0", str(index), word, "X", "*", lemma, frameset, "-", "-", "*", *roles, "-"]
            lines.append(" ".join(row))
        lines.append("")
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def json_file(path, *records):
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def test_reads_columns():
    give, rain, easy = read_srl_sentences(COLUMNS)
    assert give.words == "The old cook gave her a knife and left .".split()
    assert give.source == f"{COLUMNS}:2" and rain.source == f"{COLUMNS}:13"
    assert [(f.predicate, f.lemma, f.sense) for f in give.frames] == [(3, "give", "01"), (8, "leave", "01")]
    assert give.predicates == [3, 8]
    assert give.frames[0].tags == (["B-ARG0", "I-ARG0", "I-ARG0", "B-V", "B-ARG2", "B-ARG1", "I-ARG1", "O", "O", "O"])
    assert give.frames[1].tags == ["B-ARG0", "I-ARG0", "I-ARG0"] + ["O"] * 5 + ["B-V", "O"]
    assert rain.words == ["Rain", "."] and rain.frames == [] and rain.predicates == []
    assert easy.frames[1].tags == (
        ["B-ARG1", "I-ARG1", "I-ARG1", "O", "B-ARG0", "B-V", "O", "B-C-ARG1", "I-C-ARG1", "I-C-ARG1", "O"]
    )


def test_reads_json_lines():
    pears, morning = read_srl_sentences(JSON)
    assert pears.words == ["She", "peels", "and", "eats", "pears", "."]
    assert [(f.predicate, f.lemma, f.sense) for f in pears.frames] == [(1, "peel", "01"), (3, None, None)]
    assert pears.frames[1].tags == ["B-ARG0", "O", "O", "B-V", "B-ARG1", "O"]
    assert pears.source == f"{JSON}:1"
    assert morning.frames == [] and morning.source == f"{JSON}:2"


def test_a_folder_is_all_its_files_sorted(tmp_path):
    names = ["b/y.v4_gold_conll", "b/x.conll", "c.gold_conll.gz", "a.jsonl.gz", "z.jsonl"]
    for name in [*names[::-1], "b/skip.gold_skel", "README"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        content = open(JSON if "json" in name else COLUMNS, "rb").read()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    files = srl_data_files(str(tmp_path))
    assert [os.path.relpath(f, tmp_path) for f in files] == (
        ["a.jsonl.gz", "b/x.conll", "b/y.v4_gold_conll", "c.gold_conll.gz", "z.jsonl"]
    )
    assert srl_data_files(str(tmp_path / "*.jsonl*")) == [str(tmp_path / "a.jsonl.gz"), str(tmp_path / "z.jsonl")]
    sources = [sentence.source for sentence in read_srl_sentences(str(tmp_path))]
    assert len(sources) == 2 + 3 + 3 + 3 + 2
    assert [source.rsplit(":", 1)[0] for source in sources] == sorted(s.rsplit(":", 1)[0] for s in sources)


def test_a_folder_is_its_files_of_conllu_where_it_has_no_others(tmp_path):
    names = ["es-up-dev.conllu", "sub/fr.conllup.gz"]
    (tmp_path / "sub").mkdir()
    shutil.copy(CONLL_U, tmp_path / names[0])
    (tmp_path / names[1]).write_bytes(gzip.compress(open(CONLL_U, "rb").read()))
    assert srl_data_files(str(tmp_path)) == [str(tmp_path / name) for name in names]
    assert len(list(read_srl_sentences(str(tmp_path)))) == 4
    shutil.copy(COLUMNS, tmp_path / "dev.conll")
    assert srl_data_files(str(tmp_path)) == [str(tmp_path / "dev.conll")]


def test_last_sentence_needs_no_empty_line_and_no_break_spaces_stay_in_words(tmp_path):
    path = column_file(tmp_path / "x.conll", [("10\u00a0000", "-", "*"), ("go", "01", "(V*)")])
    stripped = open(path, encoding="utf-8").read().rstrip("\n")
    (tmp_path / "x.conll").write_bytes(stripped.replace("\n", "\r\n").encode())
    (sentence,) = read_srl_sentences(path)
    assert sentence.words == ["10\u00a0000", "go"] and sentence.predicates == [1]


@pytest.mark.parametrize(
    "rows, frames",
    [
        # The second column opens no (V: only the order of the framesets tells.
        (
            [("go", "01", "(V*)", "*"), ("and", "-", "*", "*"), ("see", "01", "*", "(A0*)")],
            [(0, "go", "01"), (2, "see", "01")],
        ),
        # No frameset marks the second verb.
        (
            [("go", "01", "(V*)", "*"), ("and", "-", "*", "*"), ("see", "-", "*", "(V*)")],
            [(0, "go", "01"), (2, None, None)],
        ),
        # The frameset is on another row.
        ([("go", "01", "(ARG1*)"), ("see", "-", "(V*)")], [(1, None, None)]),
    ],
    ids=["by framesets", "by the bracket", "by the bracket, not the frameset"],
)
def test_the_row_that_owns_a_column(tmp_path, rows, frames):
    (sentence,) = read_srl_sentences(column_file(tmp_path / "x.conll", rows))
    assert [(frame.predicate, frame.lemma, frame.sense) for frame in sentence.frames] == frames


def test_an_empty_line_and_the_marks_of_a_document_end_a_sentence(write):
    row = "d 0 0 {} X * - - - - * -\n"
    marks = "#end document\n#begin document (x); part 000\n"
    path = write("x.conll", row.format("a") + "\n\n" + row.format("b") + marks + row.format("c"))
    found = [(sentence.words, sentence.source) for sentence in read_srl_sentences(path)]
    assert found == [(["a"], f"{path}:1"), (["b"], f"{path}:4"), (["c"], f"{path}:7")]


def test_the_verb_may_be_of_several_words_or_come_again(tmp_path):
    record = {"words": ["gave", "it", "up"], "frames": []}
    record["frames"].append({"pred": 1, "tags": ["B-V", "I-V", "O"]})
    record["frames"].append({"pred": 2, "tags": ["B-V", "O", "B-V"]})
    record["frames"].append({"pred": 0, "tags": ["O", "B-ARG1", "O"]})
    (sentence,) = read_srl_sentences(json_file(tmp_path / "x.jsonl", record))
    assert [frame.predicate for frame in sentence.frames] == [1, 2, 0]


def test_what_tools_annotated_gives_way_to_what_people_did(tmp_path):
    """CoNLL-2012's folders hold both."""
    for name in ("a.v4_auto_conll", "b.v4_auto_conll", "c.conll"):
        (tmp_path / name).write_bytes(open(COLUMNS, "rb").read())
    names = [os.path.basename(path) for path in srl_data_files(str(tmp_path))]
    assert names == ["a.v4_auto_conll", "b.v4_auto_conll", "c.conll"]
    (tmp_path / "a.v4_gold_conll").write_bytes(open(COLUMNS, "rb").read())
    names = [os.path.basename(path) for path in srl_data_files(str(tmp_path))]
    assert names == ["a.v4_gold_conll", "c.conll"]


@pytest.mark.skipif(not os.path.isdir(EWT), reason=f"the PropBank EWT data is not in {EWT}")
@pytest.mark.parametrize("name, sentences, frames, by_bracket", [("train", 12514, 40420, 8), ("dev", 1966, 4960, 2)])
def test_counts_of_the_ewt_data(name, sentences, frames, by_bracket):
    data = list(read_srl_sentences(os.path.join(EWT, f"{name}.gold_conll")))
    assert len(data) == sentences
    assert sum(len(sentence.frames) for sentence in data) == frames
    for sentence in data:
        assert len(sentence.predicates) == len(sentence.frames)
        for frame in sentence.frames:
            assert frame.tags[frame.predicate] == "B-V"
            assert frame.tags.count("B-V") == 1
            assert len(frame.tags) == len(sentence.words)
    # Predicates that no frameset marks, found by their bracket alone.
    assert sum(frame.sense is None for sentence in data for frame in sentence.frames) == by_bracket
