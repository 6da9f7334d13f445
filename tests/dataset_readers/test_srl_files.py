import gzip
import json
import os
import shutil

import pytest
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.srl_files import (
    SrlFrame,
    SrlSentence,
    is_conllu,
    parse_conll2012,
    read_srl_sentences,
    srl_data_files,
)

FIXTURES = os.path.join(os.path.dirname(__file__), "..", "fixtures", "srl")
COLUMNS = os.path.join(FIXTURES, "kitchen.gold_conll")
JSON = os.path.join(FIXTURES, "kitchen.jsonl")
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


def message_of(path):
    with pytest.raises(ConfigurationError) as error:
        list(read_srl_sentences(str(path)))
    assert "\n" not in error.value.message
    return error.value.message


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


def test_streams():
    # A fault at the end of a file must not keep the sentences before it from being read.
    sentences = read_srl_sentences(COLUMNS)
    assert next(sentences).words[0] == "The"


def test_streams_up_to_a_fault(tmp_path):
    path = json_file(tmp_path / "x.jsonl", {"words": ["a"], "frames": []}, "{")
    sentences = read_srl_sentences(path)
    assert next(sentences).words == ["a"]
    with pytest.raises(ConfigurationError):
        next(sentences)


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


def test_a_file_of_any_name_is_read(tmp_path):
    shutil.copy(COLUMNS, tmp_path / "dev.txt")
    assert len(list(read_srl_sentences(str(tmp_path / "dev.txt")))) == 3


def test_last_sentence_needs_no_empty_line_and_no_break_spaces_stay_in_words(tmp_path):
    path = column_file(tmp_path / "x.conll", [("10\u00a0000", "-", "*"), ("go", "01", "(V*)")])
    stripped = open(path, encoding="utf-8").read().rstrip("\n")
    (tmp_path / "x.conll").write_bytes(stripped.replace("\n", "\r\n").encode())
    (sentence,) = read_srl_sentences(path)
    assert sentence.words == ["10\u00a0000", "go"] and sentence.predicates == [1]


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(b"\xef\xbb\xbf" + open(JSON, "rb").read())
    assert len(list(read_srl_sentences(str(tmp_path / "x.jsonl")))) == 2


def test_framesets_decide_which_row_owns_a_column(tmp_path):
    # The second column opens no (V: only the order of the framesets tells.
    path = column_file(
        tmp_path / "x.conll", [("go", "01", "(V*)", "*"), ("and", "-", "*", "*"), ("see", "01", "*", "(A0*)")]
    )
    (sentence,) = read_srl_sentences(path)
    assert [frame.predicate for frame in sentence.frames] == [0, 2]


def test_the_verb_bracket_decides_where_framesets_are_missing(tmp_path):
    path = column_file(
        tmp_path / "x.conll", [("go", "01", "(V*)", "*"), ("and", "-", "*", "*"), ("see", "-", "*", "(V*)")]
    )
    (sentence,) = read_srl_sentences(path)
    assert [(f.predicate, f.lemma, f.sense) for f in sentence.frames] == [(0, "go", "01"), (2, None, None)]


def test_the_verb_bracket_decides_where_the_frameset_is_on_another_row(tmp_path):
    path = column_file(tmp_path / "x.conll", [("go", "01", "(ARG1*)"), ("see", "-", "(V*)")])
    (sentence,) = read_srl_sentences(path)
    assert sentence.predicates == [1]


ROW = "doc 0 0 go X * go 01 - - * (V*) -"


@pytest.mark.parametrize(
    "lines, line, message",
    [
        ([ROW, ROW + " -"], 2, "found 14 columns where the first row of the sentence has 13"),
        ([ROW, ROW[:-2]], 2, "found 12 columns where the first row of the sentence has 13"),
        (["go V"], 1, "found 2 columns where CoNLL-2012 has at least 12"),
        ([ROW, "# a remark"], 2, "found 3 columns where CoNLL-2012 has at least 12"),
        ([ROW.replace("(V*)", "(V*"), ROW.replace("(V*)", "*")], 1, "V span of column 11 is never closed"),
        ([ROW, ROW.replace("(V*)", "*)")], 2, "closes a span that was not opened"),
        ([ROW.replace("(V*)", "(V*"), ROW.replace("(V*)", "(ARG0*)")], 2, "inside the V span of line 3"),
        ([ROW, ROW.replace("(V*)", "(ARG0*(ARG1*)")], 2, "is not a role"),
        ([ROW, ROW.replace("(V*)", "(ARG0(ARG1*))")], 2, "is not a role"),
        ([ROW, ROW.replace("(V*)", "(*)")], 2, "is not a role"),
        ([ROW, ROW.replace("(V*)", "B-ARG0")], 2, "is not a role"),
        (["#begin document", ROW.replace("(V*)", "*").replace("01", "-")], 2, "column 11 has no predicate"),
        ([], 1, "holds no sentence"),
        (["#begin document", "#end document", ""], 1, "holds no sentence"),
    ],
)
def test_malformed_columns(tmp_path, lines, line, message):
    # A good sentence first, so that the line is not the first one by accident.
    good = [] if message == "holds no sentence" else ["doc 0 0 hm X * - - - - * -", ""]
    path = tmp_path / "bad.gold_conll"
    path.write_text("\n".join(good + lines))
    found = message_of(path)
    assert found.startswith(f"{path}:{line + len(good)}: ")
    assert message in found


FRAME = {"pred": 1, "tags": ["B-ARG0", "B-V"]}


def with_frame(**changes):
    return {"words": ["we", "go"], "frames": [{**FRAME, **changes}]}


@pytest.mark.parametrize(
    "record, message",
    [
        ("{", "each line must be one JSON object: Expecting property name"),
        ("[", "each line must be one JSON object: Expecting value at character 2"),
        ("[" * 100_000, "the JSON is nested too deeply"),
        ('{"words": ["a"], "frames": [], "words": ["b"]}', "'words' is given twice"),
        ({"words": ["a", "b\r"], "frames": []}, "word 1 begins or ends with a control character"),
        ({"words": ["a\ud800"], "frames": []}, "word 0 holds half a surrogate pair"),
        (with_frame(tags=["B-ARG0\r", "B-V"]), "the tag begins or ends with a control character"),
        (with_frame(pred=0), "the tags of predicate 0 have V at word 1, not at 0"),
        ("[1, 2]", "expected a JSON object, found [1, 2]"),
        ('"words"', "expected a JSON object"),
        ({"words": ["a"]}, "the key 'frames' is missing; found ['words']"),
        ({"frames": []}, "the key 'words' is missing"),
        ({"words": [], "frames": []}, "'words' must be a list of one or more non-empty strings"),
        ({"words": ["a", 1], "frames": []}, "'words' must be"),
        ({"words": ["a", ""], "frames": []}, "'words' must be"),
        ({"words": "a b", "frames": []}, "'words' must be"),
        ({"words": ["a"], "frames": {}}, "'frames' must be a list"),
        ({"words": ["a"], "frames": [3]}, "expected a JSON object, found 3"),
        ({"words": ["a"], "frames": [{"tags": ["O"]}]}, "the key 'pred' is missing"),
        ({"words": ["a"], "frames": [{"pred": 0}]}, "the key 'tags' is missing"),
        (with_frame(pred=2), "'pred' must be the index of a word, 0 to 1 here, found 2"),
        (with_frame(pred=-1), "found -1"),
        (with_frame(pred=True), "found true"),
        (with_frame(pred=None), "found null"),
        (with_frame(tags=["O"]), "predicate 1 has 1 tags for 2 words"),
        (with_frame(tags=["O", 1]), "must be a list of strings"),
        (with_frame(tags="OO"), "must be a list of strings"),
        (with_frame(tags=["B-ARG0", "I-ARG1"]), "tag 1 of predicate 1 is 'I-ARG1', not legal there"),
        (with_frame(tags=["I-ARG0", "O"]), "tag 0 of predicate 1 is 'I-ARG0', not legal there"),
        (with_frame(tags=["ARG0", "O"]), "tag 0 of predicate 1 is 'ARG0', not legal there"),
        (with_frame(lemma=3), "'lemma' must be a string or null, found 3"),
    ],
)
def test_malformed_json(tmp_path, record, message):
    path = json_file(tmp_path / "bad.jsonl", with_frame(), "", record)
    found = message_of(path)
    assert found.startswith(f"{path}:3: ")
    assert message in found


@pytest.mark.parametrize("name", ["bad.gold_conll", "bad.jsonl"])
def test_undecodable_bytes(tmp_path, name):
    good = open(JSON if name.endswith("jsonl") else COLUMNS, "rb").read().split(b"\n")
    good[1] = good[1].replace(b"n", b"\xe9", 1)
    assert b"\xe9" in good[1]
    (tmp_path / name).write_bytes(b"\n".join(good))
    assert message_of(tmp_path / name).startswith(f"{tmp_path / name}:2: byte 0xe9 is not UTF-8")


@pytest.mark.parametrize("damage", ["not gzip", "cut short"])
def test_damaged_gzip(tmp_path, damage):
    data = open(COLUMNS, "rb").read()
    (tmp_path / "x.conll.gz").write_bytes(data if damage == "not gzip" else gzip.compress(data)[:-20])
    found = message_of(tmp_path / "x.conll.gz")
    assert found.startswith(f"{tmp_path / 'x.conll.gz'}:") and "cannot be read from here on" in found


@pytest.mark.parametrize("wrong", [7, ["a.jsonl"]])
def test_a_path_that_is_none(wrong):
    with pytest.raises(ConfigurationError, match="the path of data must be one string here, found "):
        list(read_srl_sentences(wrong))


def test_the_verb_may_be_of_several_words_or_come_again(tmp_path):
    record = {"words": ["gave", "it", "up"], "frames": []}
    record["frames"].append({"pred": 1, "tags": ["B-V", "I-V", "O"]})
    record["frames"].append({"pred": 2, "tags": ["B-V", "O", "B-V"]})
    record["frames"].append({"pred": 0, "tags": ["O", "B-ARG1", "O"]})
    (sentence,) = read_srl_sentences(json_file(tmp_path / "x.jsonl", record))
    assert [frame.predicate for frame in sentence.frames] == [1, 2, 0]


def test_missing_path(tmp_path):
    found = message_of(tmp_path / "none")
    assert found.startswith(f"{tmp_path / 'none'}: there is no such file or folder; put the data there")


def test_what_tools_annotated_gives_way_to_what_people_did(tmp_path):
    """CoNLL-2012's folders hold both."""
    for name in ("a.v4_auto_conll", "b.v4_auto_conll", "c.conll"):
        (tmp_path / name).write_bytes(open(COLUMNS, "rb").read())
    names = [os.path.basename(path) for path in srl_data_files(str(tmp_path))]
    assert names == ["a.v4_auto_conll", "b.v4_auto_conll", "c.conll"]
    (tmp_path / "a.v4_gold_conll").write_bytes(open(COLUMNS, "rb").read())
    names = [os.path.basename(path) for path in srl_data_files(str(tmp_path))]
    assert names == ["a.v4_gold_conll", "c.conll"]


def test_folder_without_matching_files(tmp_path):
    (tmp_path / "dev.gold_skel").write_text("x")
    found = message_of(tmp_path)
    assert found.startswith(f"{tmp_path}: no file in this folder") and "_conll" in found


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


CONLL_U = """\
# sent_id = 1
1\tShe\tshe\tPRON\t_\t_\t2\tnsubj\t_\t_\t_\tA0
2\tslept\tsleep\tVERB\t_\t_\t0\troot\t_\t_\tsleep.01\t_

"""


@pytest.mark.parametrize("name", ["a.conllu", "a.conllup", "a.conllu.gz", "a.conll", "a.txt"])
@pytest.mark.parametrize("content", [CONLL_U, "\n" + CONLL_U.partition("\n")[2]])
def test_conllu_is_refused_with_the_way_to_convert_it(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    assert message_of(path) == (
        f"{path}: CoNLL-U with roles is not read as it is; convert it first, by `python scripts/convert.py propbank "
        f"{path} --out FILE.jsonl`, and read that file."
    )


@pytest.mark.parametrize(
    "line, expected",
    [
        ("# sent_id = 1\n", True),
        ("#begin document (a); part 000\n", False),
        ("1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\t_\t_\t_", True),
        ("1-2\tdu" + "\t_" * 4 + "\t0\tx\t_\t_\n", True),
        # Columns of CoNLL-2012, and of CoNLL-2009.
        ("1 0 0 a X * a 01 - - * (V*) -\n", False),
        ("1\ta\ta\ta\tN\tN\t_\t_\t2\t2\tSBJ\tSBJ\t_\t_\tA0\n", False),
    ],
)
def test_conllu_is_known_by_its_first_line(line, expected):
    assert is_conllu(line) is expected


def numbered(*rows):
    """Of a word, its lemma and frameset, and its cells; `None` is an empty line."""
    lines = []
    for number, row in enumerate(rows, start=1):
        if row is None:
            lines.append((number, "\n"))
            continue
        word, lemma, frameset, *cells = row
        lines.append((number, " ".join(["d", "0", "0", word, "X", "*", lemma, frameset, "-", "-", "*", *cells, "-"])))
    return lines


def test_spans_of_one_row_and_of_several():
    rows = [("She", "-", "-", "(ARG0*)"), ("sold", "sell", "01", "(V*)"), ("two", "-", "-", "(ARG1*")]
    (sentence,) = parse_conll2012("a", numbered(*rows, ("cars", "-", "-", "*)")))
    assert sentence.words == ["She", "sold", "two", "cars"] and sentence.source == "a:1"
    assert sentence.frames == [SrlFrame(1, ["B-ARG0", "B-V", "B-ARG1", "I-ARG1"], "sell", "01")]


def test_an_empty_line_and_the_marks_of_a_document_end_a_sentence():
    lines = numbered(("a", "-", "-"), None, None, ("b", "-", "-"))
    lines += [(5, "#end document"), (6, "#begin document (x); part 000")]
    lines += [(7, line) for _, line in numbered(("c", "-", "-"))]
    found = list(parse_conll2012("a", lines))
    assert [(sentence.words, sentence.source) for sentence in found] == [(["a"], "a:1"), (["b"], "a:4"), (["c"], "a:7")]


def test_sentences_come_one_by_one():
    sentences = parse_conll2012("a", iter([*numbered(("a", "-", "-"), None), (3, "too short")]))
    assert next(sentences).words == ["a"]
    with pytest.raises(ConfigurationError, match="^a:3: found 2 columns"):
        next(sentences)


@pytest.mark.parametrize(
    "cells, message",
    [
        (["(A*", "(B*"], "a:2: .* opens inside the A span of line 1"),
        (["*", "*)"], "a:2: .* closes a span that was not opened"),
        (["*", "(A*"], "a:2: the A span of column 11 is never closed"),
        (["*", "A"], "a:2: 'A' in column 11 is not a role"),
        (["*", "*"], "a:1: column 11 has no predicate"),
    ],
)
def test_roles_that_are_wrong(cells, message):
    with pytest.raises(ConfigurationError, match=message):
        list(parse_conll2012("a", numbered(*(("w", "-", "-", cell) for cell in cells))))


def test_predicates_are_ascending_and_each_is_there_once():
    frames = [SrlFrame(predicate, ["O"] * 5) for predicate in (3, 1, 3)]
    assert SrlSentence(list("abcde"), frames).predicates == [1, 3]
    assert SrlSentence(list("abcde")).predicates == []


def test_sentences_do_not_share_their_frames():
    first, second = SrlSentence(["a"]), SrlSentence(["b"])
    first.frames.append(SrlFrame(0, ["B-V"]))
    assert second.frames == []
