import gzip
import shutil
import time
from pathlib import Path

import pytest
from allennlp.common.checks import ConfigurationError

from scripts.convert import convert
from scripts.layouts.nxt import read_nxt
from seal.tasks.parsing.reader import ParsingReader, cleaned, parsed_trees

# Made up, laid out as NXT's files are.
SAMPLE = Path(__file__).resolve().parents[2] / "fixtures" / "nxt"
SYNTAX = str(SAMPLE / "syntax" / "sw0001.A.syntax.xml")
# The same trees in Penn's brackets, as the bracketed edition of Switchboard would have them.
BRACKETS = r"""
( (SQ (INTJ (UH Well) (, ,))
    (EDITED (-DFL- \[) (NP-SBJ-UNF (PRP I)) (, ,))
    (NP-SBJ-1 (PRP we))
    (VP (VBP want)
      (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB sell) (NP (PRP$ our) (JJ old) (NN café))))))
    (. ?) ))
( (INTJ (UH Yes) (. .)))
"""
NITE = 'xmlns:nite="http://nite.sourceforge.net/"'
WORDS = '<word nite:id="a" orth="tea" pos="NN"/><word nite:id="b" orth="ale" pos="NN"/>'


def files(folder, syntax, terminals=WORDS):
    """A side of a conversation, from what its two files have in their outermost element."""
    path = folder / "sw0002.B.syntax.xml"
    path.write_text(f"<nite:parse_stream {NITE}>\n{syntax}\n</nite:parse_stream>\n", encoding="utf-8")
    (folder / "sw0002.B.terminals.xml").write_text(f"<t {NITE}>\n{terminals}\n</t>\n", encoding="utf-8")
    return str(path)


def child(name):
    return f'<nite:child href="sw0002.B.terminals.xml#id({name})"/>'


def tree_of(content):
    return f'<parse><nt cat="NP">{content}</nt></parse>'


def message_of(path):
    with pytest.raises(ConfigurationError) as error:
        list(read_nxt(path))
    assert "\n" not in error.value.message
    return error.value.message


def trees(path):
    return [tree for _, tree in parsed_trees("a", enumerate(read_nxt(path), start=1))]


def test_trees_as_published():
    sentence, word, nothing = trees(SYNTAX)
    assert cleaned(sentence).pformat(margin=10_000) == (
        "(SQ (INTJ (UH Well) (, ,)) (EDITED (NP (PRP I)) (, ,)) (NP (PRP we)) (VP (VBP want) (S (VP (TO to) "
        "(VP (VB sell) (NP (PRP$ our) (JJ old) (NN café)))))) (. ?))"
    )
    assert cleaned(word).pformat() == "(INTJ (UH Yes) (. .))" and cleaned(nothing) is None


@pytest.mark.parametrize("punctuation", [True, False])
def test_the_same_instances_as_from_brackets(tmp_path, punctuation):
    brackets, converted = tmp_path / "sw0001.mrg", tmp_path / "converted.mrg"
    brackets.write_text(BRACKETS, encoding="utf-8")
    assert convert("nxt", [SYNTAX], converted) == 3
    reader = ParsingReader(punctuation=punctuation)
    of_xml, of_brackets = list(reader.read(str(converted))), list(reader.read(str(brackets)))
    assert len(of_xml) == len(of_brackets) == 2
    for one, other in zip(of_xml, of_brackets):
        metadata = dict(one["metadata"].metadata)
        assert metadata.pop("source").startswith(f"{converted}:")
        assert metadata == {key: value for key, value in other["metadata"].metadata.items() if key != "source"}
        assert one["symbols"].labels == other["symbols"].labels


def test_folders_patterns_and_packed_files(tmp_path):
    shutil.copytree(SAMPLE, tmp_path / "xml")
    for kind in ("syntax", "terminals"):
        content = (SAMPLE / kind / f"sw0001.A.{kind}.xml").read_bytes().replace(b"sw0001.A", b"sw0003.B")
        content = content.replace(b"Yes", b"Yeah")
        (tmp_path / "xml" / kind / f"sw0003.B.{kind}.xml.gz").write_bytes(gzip.compress(content))
    folder = str(tmp_path / "xml")

    def answers(*paths):
        convert("nxt", paths, tmp_path / "out.mrg")
        words = [instance["metadata"].metadata["words"] for instance in ParsingReader().read(tmp_path / "out.mrg")]
        return [sentence[0] for sentence in words[1::2]]

    # The folder `terminals` has no trees.
    assert answers(folder) == answers(f"{folder}/syntax/sw*.syntax.xml*") == ["Yes", "Yeah"]
    assert answers(f"{folder}/syntax/sw0003*", f"{folder}/syntax/sw0001*") == ["Yeah", "Yes"]


def test_signs_words_and_encodings(tmp_path):
    ids = "abcdefg"
    signs = ['orth="!"/>', ">\n ; <", 'orth=","/>', 'orth="."  pos=":"/>', ">''<", ">--<"]
    punctuation = "".join(
        f'<punc nite:id="{name}" {sign}' + ("/punc>" if sign.endswith("<") else "") for name, sign in zip(ids, signs)
    )
    words = f'{punctuation}<word nite:id="g" orth=" of \n course" pos=""/>'
    (tree,) = trees(files(tmp_path, tree_of("".join(map(child, ids))), words))
    assert tree.pos() == [
        ("!", "."),
        (";", ":"),
        (",", ","),
        (".", ":"),
        ("''", "''"),
        ("--", ":"),
        ("of_course", "XX"),
    ]
    assert [node.label() for node in tree] == ["NP"] and len(tree[0]) == 7
    path = files(tmp_path, tree_of(child("a") + child("b")))
    for encoding, word in (("iso-8859-1", "thé"), ("utf-8", "茶"), ("koi8-r", "чай")):
        text = f'<?xml version="1.0" encoding="{encoding}"?><t {NITE}>{WORDS.replace("tea", word)}</t>'
        (tmp_path / "sw0002.B.terminals.xml").write_bytes(text.encode(encoding))
        assert [tree.leaves() for tree in trees(path)] == [[word, "ale"]]
    words = WORDS.replace("tea", "(").replace("ale", ":)")
    assert trees(files(tmp_path, tree_of(child("a") + child("b") + "<nt cat='NP'/>"), words))[0].leaves() == [
        "-LRB-",
        ":-RRB-",
    ]


@pytest.mark.parametrize(
    "syntax, line, named",
    [
        (tree_of(child("c")), ":2", "'c'"),
        (tree_of(child("b)..id(a")), ":2", "'a'"),
        (tree_of('\n<nite:child href="sw9.A.terminals.xml#id(a)"/>'), ":3", "'sw9.A.terminals.xml'"),
        (tree_of('<nite:child href="../sw0002.B.terminals.xml#id(a)"/>'), ":2", "../sw0002"),
        ("<parse>\n<nt cat='N P'/></parse>", ":3", "'N P'"),
        ("<nt cat='NP'/>", ":2", "'parse'"),
        ("<parse>\n<nt cat='NP'><parse/></nt></parse>", ":3", "line 2"),
        ("<parse>\n<nt cat='NP'></parse>", ":3", "XML"),
        (tree_of("&tea;"), ":2", "entity"),
        ("<parse>" + "<nt cat='NP'>" * 199, ":2", "198"),
        ("", "", "'parse'"),
    ],
)
def test_mistakes_in_trees(tmp_path, syntax, line, named):
    path = files(tmp_path, syntax)
    told = message_of(path)
    assert told.startswith(f"{path}{line}: ") and named in told


@pytest.mark.parametrize(
    "terminals, line, named",
    [
        ("<word nite:id='a' pos='NN'/>", ":2", "'orth'"),
        ("<word nite:id='a' orth='tea' pos='N N'/>", ":2", "'N N'"),
        ("<word orth='tea' pos='NN'/>", ":2", "'nite:id'"),
        (WORDS + "\n<trace nite:id='a'/>", ":3", "'a'"),
        ("<word", ":3", "XML"),
    ],
)
def test_mistakes_in_terminals(tmp_path, terminals, line, named):
    path = files(tmp_path, tree_of(child("a")), terminals)
    told = message_of(path)
    assert told.startswith(f"{path.replace('.syntax.', '.terminals.')}{line}: ") and named in told


@pytest.mark.parametrize(
    "content",
    [b"(NP (NN tea))\n", b"", b'<?xml version="1.0" encoding="no-such"?><a/>', "<a/>".encode("utf-16"), b"\xff<a/>"],
)
def test_what_is_not_such_a_file(tmp_path, content):
    path = files(tmp_path, "")
    Path(path).write_bytes(content)
    assert message_of(path).startswith(f"{path}:")


def test_the_deepest_tree_is_read(tmp_path):
    deepest = "<nt cat='NP'>" * 198 + child("a") + "</nt>" * 198
    assert trees(files(tmp_path, f"<parse>{deepest}</parse>"))[0].height() == 201


def test_entities_do_not_unfold(tmp_path):
    path = files(tmp_path, "")
    levels = "".join(f'<!ENTITY e{level} "{f"&e{level - 1};" * 10}">' for level in range(1, 10))
    for declared in (
        f'[<!ENTITY e0 "tea">{levels}]',
        f'SYSTEM "{Path(path).as_uri()}"',
        '[<!ENTITY e9 SYSTEM "/etc/hostname">]',
    ):
        Path(path).write_text(f"<!DOCTYPE a {declared}>\n<a>&e9;</a>\n")
        start = time.process_time()
        assert message_of(path).startswith(f"{path}:1: ")
        assert time.process_time() - start < 1


def test_time_is_linear_in_the_number_of_words(tmp_path):
    def seconds(number):
        words = "".join(f'<word nite:id="w{place}" orth="tea" pos="NN"/>' for place in range(number))
        path = files(tmp_path, "\n".join(tree_of(child(f"w{place}")) for place in range(number)), words)
        start = time.process_time()
        assert sum(1 for _ in read_nxt(path)) == number
        return time.process_time() - start

    seconds(1000)
    # Quadratic time would take 256 times as long, linear time 16; a busy machine adds to both.
    assert min(seconds(40_000) for _ in range(3)) < 80 * min(seconds(2500) for _ in range(3))
