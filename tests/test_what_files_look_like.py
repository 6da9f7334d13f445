"""
What each reader and `seal predict` make of files as people have them. The table in docs/your_data.md is made from
the forms here; `python -m tests.test_what_files_look_like` prints it.
"""

import bz2
import gzip
import io
import json
import logging
import lzma
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Optional, Union

import pytest
from allennlp.common.checks import ConfigurationError

from seal.cli.evaluate import inputs_of
from seal.files.input_lines import input_lines
from seal.files.paths import expanded, user_path
from seal.tasks.base.sentence_reader import split_off_part
from seal.tasks.multilabel.reader import MultilabelReader
from seal.tasks.parsing.reader import ParsingReader
from seal.tasks.srl.reader import SrlReader
from seal.tasks.tagging.reader import TaggingReader
from seal.tasks.text.reader import TextMultilabelReader

DOCS = Path(__file__).resolve().parents[1] / "docs" / "your_data.md"
START, END = "<!-- what files look like: made by tests/test_what_files_look_like.py -->", "<!-- end -->"


class Form(NamedTuple):
    """
    # Parameters

    reader : `str`
        A key of `READERS`.
    form : `str`
        What a file has, for the table.
    answer : `str`
        For the table.
    told : `Union[str, int]`
        A pattern of the error's sentence, or the number of records that are read.
    examples : `list[tuple[str, Union[str, bytes]]]`
        Names and contents of files.
    warned : `str`, optional (default = `None`)
        A pattern of the warning; `None` where there is none.
    """

    reader: str
    form: str
    answer: str
    told: Union[str, int]
    examples: list[tuple[str, Union[str, bytes]]]
    warned: Optional[str] = None


def predicted(path: str) -> list:
    return list(input_lines(path))


READERS: dict[str, Callable[[str], list]] = {
    "`predict`": predicted,
    "tagging": lambda path: list(TaggingReader().read(path)),
    "SRL": lambda path: list(SrlReader(predicate_instances=False).read(path)),
    "texts": lambda path: list(TextMultilabelReader().read(path)),
    "feature vectors": lambda path: list(MultilabelReader(labels=["l"]).read(path)),
    "trees": lambda path: list(ParsingReader().read(path)),
}
PREDICT, TAGGING, SRL, TEXTS, FEATURES, TREES = READERS

RECORD = {"words": ["she", "left"], "frames": [{"pred": 1, "tags": ["B-ARG0", "B-V"]}]}
TOKENS = json.dumps({"tokens": ["Anna", "sells", "honey"], "tags": ["B-PER", "O", "O"]})
SPREAD = json.dumps([{"text": "a", "labels": ["x"]}], indent=2)
NITE = 'xmlns:nite="http://nite.sourceforge.net/"'
HEAD = "@relation r\n@attribute a real\n@attribute l {0,1}\n"


def conll(*words: str) -> str:
    rows = [f"d 0 {i} {word} NN * - - - - * {'(V*)' if i == 0 else '*'} -" for i, word in enumerate(words)]
    return "\n".join(rows) + "\n\n"


UD = "1\tShe\t_\t_\t_\t_\t2\t_\t_\t_\t_\t{}\n2\tleft\t_\t_\t_\t_\t0\t_\t_\t_\tleave.01\t{}\n\n"
UD_1 = UD.format("A0", "_").replace("\t2\t_\t_\t_\t_", "\t2\t_\t_\t_").replace("_\t_\t_\tleave", "_\tY\tleave")
NAMED = "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC UP:PRED UP:ARGHEADS UP:ARGSPANS\n"


FORMS = [
    Form(PREDICT, "text or JSON objects, an input a line (`\\n` or `\\r\\n`); also packed (`.gz`, `.bz2`, `.xz`)",
         "read", 2, [
        ("a.txt", "one\ntwo\n"), ("b.txt", b"\xef\xbb\xbfone\r\ntwo"), ("c.gz", gzip.compress(b"one\n \n")),
        ("d.txt.bz2", bz2.compress(b"one\ntwo")), ("e.xz", lzma.compress(b"one\r\ntwo\n")),
        ("f.txt", '{"a": 1}\n\n{}\n'),
    ]),
    Form(PREDICT, "other signs that may end a line (`\\r`, U+2028, form feeds)",
         "part of the line", 2, [
        ("a.txt", b"Good work\ron the park\nBest\n"), ("b.txt", "a\u2028b\nc\u2029d\n"), ("c.txt", "a\x0cb\n\x0bc\n"),
        ("d.txt", "a\x85b\nc\x1dd\n"), ("e.gz", gzip.compress(b"Good work\ron the park\nBest\n")),
    ]),
    Form(PREDICT, "text that begins with a bracket or a quote", "text", 1, [
        ("a.txt", "[laughs] he said\n"), ("b.txt", "[1] A reference\n"), ("c.txt", '"Yes," she said.\n'),
        ("d.txt", '["Yes" is] what she said\n'), ("e.txt", "[1]\n"), ("f.txt", "(a, b)\n"), ("g.txt", "[a, b]\n"),
        ("h.txt", "(USA (NATO) and others) agreed\n"), ("i.txt", "(X) He said (NN)\n"), ("j.txt", "<user> hello\n"),
        ("k.txt", ".I said 3\n"), ("l.txt", "<url>\n"),
    ]),
    Form(PREDICT, "a JSON array, in a line or over several; JSON objects over several lines", "refused",
         "this looks like a JSON (array|object)", [
        ("a.json", '[{"text": "a"}, {"text": "b"}]\n'), ("b.json", SPREAD), ("c.txt", '["She", "left"]\n["b"]\n'),
        ("i.txt", "['She', 'left']\n"),
        ("d.json", json.dumps({"words": ["a"]}, indent=1)), ("e.json", '[{"text": "a"},\n{"text": "b"}]\n'),
        ("f.json", '\n\n[\n"a text",\n"b"\n]\n'), ("g.json", '[["a", "b"], ["c"]]'),
        ("h.gz", gzip.compress(SPREAD.encode())),
    ]),
    Form(PREDICT, "a table with a header, in a file that does not end in `.csv`; a CoNLL file", "refused",
         "add --use-dataset-reader", [
        ("a.txt", "text,labels\na b,x\n"), ("b.tsv", "id\ttext\n1\tab\n"), ("c.conllu", "# sent_id = 1\n1\ta\n"),
        ("d.conll", "-DOCSTART- -X- O\n\nEU B-ORG\n"), ("e.txt", '"Text";"Label"\na;b\n'),
        ("f.gold_conll", "#begin document (a); part 000\n"),
        ("g.conllu", "1\tShe\tshe\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n"),
        ("h.txt", "EU B-ORG\nsays O\n"), ("i.tsv", "\nEU\tNNP\tb_ORG\nsays\tVBZ\to\n\nno\tUH\to\n"),
        ("j.tsv", "Rose\tN\nsells\tV\n\nIt\tN\nrains\tV\n" * 60), ("k.txt", "a\tB\nb\tI\nc\tO\n"),
        ("l.txt", "EU ORG_B\nsays O\n"),
    ]),
    Form(PREDICT, "token files of RCV1, trees in brackets, ARFF, the blurbs of BGC", "refused",
         "this looks like a file of data.* add --use-dataset-reader", [
        ("a.dat", ".I 2286\n.W\nrecov recov\nexcit\n\n"), ("b.mrg", "\n( (S (NP (NN a)) ))\n"),
        ("c.mrg", "(TOP (NP-SBJ\n  (NN a)))\n"), ("d.txt", "( (S\n (NN a)))\n"), ("e.ptb", "(ROOT (S (NN a)))\n"),
        ("f.arff", HEAD), ("g.txt", '<book date="2018-08-18" xml:lang="en">\n<title>a</title>\n'),
    ]),
    Form(PREDICT, "lines that all have a tab, or end with a tag", "text, with a warning", 2, [
        ("a.tsv", "a\tx\nb\ty\n"), ("b.tsv", "1\tone\n2\ttwo\n"), ("c.tsv", "1\ta text B-X\n2\tb O\n"),
        ("d.tsv", "a\tO\nb\tO\n"),
    ], "each of the 2 lines .* was read as text; if the file has the format of the training data"),
    Form(PREDICT, "a packed file without its ending; UTF-16; Excel, Word, PDF, Parquet, NumPy", "refused",
         "this is .*; (its name must end in|save)", [
        ("a.txt", gzip.compress(b"one")), ("b.txt", "one\n".encode("utf-16")), ("c.xlsx", b"PK\x03\x04rest"),
        ("d.txt", lzma.compress(b"one")), ("e.pdf", b"%PDF-1.7\n"), ("f.txt", "one two\n".encode("utf-16-le")),
        ("g.parquet", b"PAR1\x15\x04"), ("h.npy", b"\x93NUMPY\x01"), ("i.gz", gzip.compress("one".encode("utf-16"))),
    ]),
    Form(TAGGING, "columns with tabs or blanks, and an empty line between sentences; also packed", "read", 2, [
        ("a.tsv", "a\tX\n\nb\tY\n"), ("b.txt", "a NN X\r\n\r\nb NN Y"), ("c.xz", lzma.compress(b"a X\n\nb Y\n")),
        ("d.tsv.gz", gzip.compress(b"a\tX\n\nb\tY\n")), ("e.tsv", "[\tX\n\n{\tY\n"),
    ]),
    Form(TAGGING, "CSV, in a file that ends in `.csv`", "read", 2, [
        ("a.csv", 'Anna,X\n",",Y\n\nb,Y\n'), ("b.csv", "Anna;X\r\n;\r\nb;Y\r\n"),
        ("c.csv.gz", gzip.compress(b"a,X\n\nb,Y\n")),
    ]),
    Form(TAGGING, "CSV or columns with a header, sentences numbered or between empty rows", "read", 2, [
        ("a.csv", "Sentence #,Word,POS,Tag\nSentence: 1,Anna,N,B-PER\n,left,V,O\nSentence: 2,b,N,O\n"),
        ("b.tsv", "word\tner\nAnna\tB-PER\n\nb\tO\n"), ("c.csv", ",token,tag\n0,Anna,B-PER\n,,\n1,b,O\n"),
    ]),
    Form(TAGGING, "JSON lines with words and tags, or with a text and its entities, in a file that ends in `.jsonl`",
         "read", 2, [
        ("a.jsonl", '{"tokens": ["a", "b"], "ner_tags": ["B-X", "O"]}\n' * 2),
        ("b.json", '{"id": 1, "text": "a b", "label": [[0, 1, "X"]]}\n' * 2),
        ("c.jsonl.gz", gzip.compress(b'{"text": "a b", "spans": [{"start": 0, "end": 1, "label": "X"}]}\n' * 2)),
    ]),
    Form(TAGGING, "JSON lines that write tags as numbers, without their names", "refused", "label_names", [
        ("a.jsonl", '{"tokens": ["a", "b"], "ner_tags": [1, 0]}\n'),
    ]),
    Form(TAGGING, "JSON that is not an object a line; JSON lines under another name; XML", "refused",
         "this looks like .*; expected", [
        ("b.json", f"[{TOKENS}]\n"), ("c.json", json.dumps([1, {"a": "b"}], indent=1)),
        ("d.txt", '{"words": ["a"]}\n'), ("e.xml", '<?xml version="1.0"?>\n<a>b</a>\n'),
        ("f.json", json.dumps(json.loads(TOKENS), indent=2)),
    ]),
    Form(TAGGING, "commas between columns, under another name; a column of numbers in the place of words", "refused",
         "set separator to 'comma', or put a tab or a blank between the columns|column 0 numbers words or sentences", [
        ("a.txt", "Anna,B-PER\nsells,O\n"), ("b.conll", "1\tAnna\tNN\n2\tsells\tVB\n\n"),
        ("c.txt", "1 Anna PER\n2 left O\n"), ("d.txt", "a,b\n"),
    ]),
    Form(TAGGING, "a sentence a line, with a list of tags", "refused", "looks like a .*; expected columns", [
        ("a.tsv", "['Anna', 'left']\t['B', 'O']\n"), ("b.tsv", 'Anna left\t["B", "O"]\n'), ("c.tsv", "Anna\t['B']\n"),
        ("d.tsv", "Anna left\t[B, O]\n"),
    ]),
    Form(TAGGING, "a placeholder for each word, or the same word everywhere", "refused",
         "data without their words", [
        ("a.tsv", "_\tX\n_\tY\n_\tX\n"), ("b.tsv", "a\tX\n" * 8), ("c.tsv", "[WORD] X\n[WORD] Y\n\n[WORD] X\n"),
        ("d.tsv", "-\tX\n-\tY\n\n" * 4), ("e.tsv", "the\tX\n" + "_\tY\n" * 5),
    ]),
    Form(TAGGING, "the same tag everywhere", "read, with a warning", 2, [
        ("a.tsv", "a\tO\nb\tO\n\nc\tO\n"), ("b.tsv", "a NN\n\nb NN\n"), ("c.tsv", "a O\nb O\n\nc O\nd O\n"),
        ("d.tsv", "a\tX\n\nb\tX\n"),
    ], "all of its . words have the tag"),
    Form(TAGGING, "a tag with a character that nobody sees", "refused, with its line",
         r":2: the tag has a character that", [
        ("a.tsv", "a\tX\nb\tX\u00a0\n"), ("b.tsv", "a\tX\nb\tX\u200b\n"), ("c.tsv", "a\tX\nb\tB-\u00adX\n"),
        ("d.tsv", "a\tX\nb\t\ufeffX\n"), ("e.tsv", "a\tX\nb\tX\u202f\n"),
    ]),
    Form(SRL, "CoNLL-2012 columns; JSON lines in a file that ends in `.jsonl`; also packed", "read", 1, [
        ("a.gold_conll", conll("left", "she")), ("b.jsonl", json.dumps(RECORD)),
        ("c.conll.xz", lzma.compress(conll("a", "b").encode())),
        ("d.jsonl.bz2", bz2.compress(json.dumps(RECORD).encode())),
    ]),
    Form(SRL, "CoNLL-U with the roles of Universal PropBank 1.0 or 2.0", "read", 1, [
        ("a.conllu", UD.format("A0", "_")), ("b.conll", "# sent_id = 1\n" + UD.format("A0", "_")),
        ("c.conllup", NAMED + UD.format("_\t_", "A0:1\tA0:1-1")),
        ("d.conllu.gz", gzip.compress(UD.format("A0", "V").encode())),
        ("e.conllu", UD_1),
    ]),
    Form(SRL, "columns of CoNLL-2005 (words, roles, perhaps more between) and CoNLL-2009", "read", 1, [
        ("a.txt", "She - (A0*)\nleft leave (V*)\n"), ("b.conll", "She PRP (S* - (A0*)\nleft VBD *) leave (V*)\n"),
        ("c.conll", "1\tShe\tshe\tshe\tX\tX\t_\t_\t2\t2\tSBJ\tSBJ\t_\t_\tA0\n"
                    "2\tleft\tleave\tleave\tX\tX\t_\t_\t0\t0\tROOT\tROOT\tY\tleave.01\t_\n"),
    ]),
    Form(SRL, "JSON that is not an object a line; JSON lines under another name", "refused",
         "this looks like .*; expected", [
        ("a.jsonl", json.dumps([RECORD])), ("b.json", json.dumps([RECORD], indent=1)),
        ("c.json", json.dumps(RECORD, indent=2)),
        ("d.txt", json.dumps(RECORD)), ("e.conll", json.dumps([RECORD, RECORD])),
    ]),
    Form(SRL, "a skeleton of CoNLL-2012, without its words", "refused", "data without their words", [
        ("a.gold_skel.conll", conll("[WORD]", "[WORD]", "[WORD]")),
        ("b.conll", conll("[WORD]", "she") + conll("[WORD]", "[WORD]")),
        ("c.conll", conll(*"aaaaaaaa")), ("d.jsonl", json.dumps({**RECORD, "words": ["_", "_"]})),
    ]),
    Form(SRL, "a role with a character that nobody sees", "refused, with its line", "(role|tag) has a character that", [
        ("a.conll", conll("a", "b").replace("(V*)", "(V\u200b*)")),
        ("b.conll", conll("a", "b").replace("(V*)", "(V\u2060*)")),
        ("c.jsonl", json.dumps(RECORD).replace("ARG0", "ARG0\\u00a0")),
        ("d.jsonl", json.dumps(RECORD).replace("ARG0", "A\\u00adRG0")),
    ]),
    Form(TEXTS, "JSON lines; a text, a tab and labels with commas between", "read", 2, [
        ("a.tsv", "a b\tx,y\nc\t\n"), ("b.jsonl", '{"text": "a", "labels": ["x"]}\n{"tokens": ["a"], "labels": []}\n'),
        ("c.tsv.gz", gzip.compress(b"a\tx\r\nb\ry\tx\r\n")), ("d.tsv", "[laughs] he said\tx\n{a} b\t[x]\n"),
    ]),
    Form(TEXTS, "JSON lines of doccano, spaCy (`cats`), Prodigy (`accept`), or with one label or a key for each label",
         "read", 1, [
        ("a.jsonl", '{"text": "a", "label": "x"}\n'), ("b.jsonl", '{"id": 1, "text": "a", "label": ["x", "y"]}\n'),
        ("c.jsonl", '{"text": "a", "cats": {"x": 1.0, "y": 0.0}}\n'),
        ("d.jsonl", '{"text": "a", "accept": ["x"], "answer": "accept"}\n{"text": "b", "answer": "ignore"}\n'),
        ("e.jsonl", '{"comment": "a", "x": 1, "y": 0, "z": false}\n'),
    ]),
    Form(TEXTS, "CSV with the names of its columns, in a file that ends in `.csv`", "read", 2, [
        ("a.csv", 'text,labels\n"a, b\n""c""",x\nd,"x,y"\n'), ("b.csv", "id;labels;text\r\n1;x;a\r\n2;;b\r\n"),
        ("c.csv.gz", gzip.compress(b"label,text\nx,a\n\n,b\n")),
    ]),
    Form(TEXTS, "CSV with a column of 0 and 1 for each label", "read", 2, [
        ("a.csv", 'text,x,y\n"a, b",1,0\nd,0,0\n'), ("b.csv", ";comment;x;y\r\n1;a b;1;1\r\n2;b c;0;1\r\n"),
        ("c.csv", "id,text,x,y\n1,a,True,False\n2,b,False,False\n"),
    ]),
    Form(TEXTS, "labels written as a list of Python, NumPy or JSON", "read", 2, [
        ("a.tsv", "a\t['x', 'y']\nb\t[]\n"), ("b.tsv", 'a\t["x", "y"]\nb\t()\n'), ("c.tsv", "a\t{'x', 'y'}\nb\t\n"),
        ("d.csv", "text,labels\na,\"('x',)\"\nb,[]\n"), ("e.csv", ",text,labels\n0,a,['x' 'y']\n1,b,[]\n"),
    ]),
    Form(TEXTS, "labels written as an object, or as a list of something else than names", "refused",
         "no list of names; write it as in", [
        ("a.csv", 'text,labels\na,"{""choices"": [""x"", ""y""]}"\n'), ("b.tsv", 'a\t{"choices": ["x"]}\n'),
        ("c.csv", "text,labels\na,\"[('x', 1), ('y', 2)]\"\n"), ("d.tsv", "a\t[x, y]\n"),
    ]),
    Form(TEXTS, "labels with `|`, `;` or `#`, and no text with two", "read as one name each, with a warning", 3, [
        ("a.tsv", "a\tx|y\nb\tx|z\nc\t\n"), ("b.tsv", "a\tx;y\nb\tx; z\nc\tx\n"), ("c.tsv", "a\tx | y\nb\tx|z\nc\t\n"),
        ("d.tsv", "a\tx|y\t1\nb\ty\t2\nc\tx|z\t3\n"), ("e.csv", "text,labels\na,x|y\nb,x|z\nc,\n"),
        ("f.tsv", "a\tx#y\nb\tx #z\nc\t\n"), ("g.jsonl", '{"text": "a", "labels": ["x;y"]}\n' * 3),
    ], "if it stands between labels, write commas"),
    Form(TEXTS, "nearly every label once, as texts in the column of labels", "read, with a warning", 20, [
        ("a.tsv", "".join(f"x\tred kite {n}, sea\n" for n in range(20))),
        ("b.csv", "text,labels\n" + "".join(f"x,kite {n}\n" for n in range(20))),
    ], "if these are texts, the columns are the other way round"),
    Form(TEXTS, "JSON that is not an object a line; JSON under another name; CSV without names of columns", "refused",
         "this looks like|no column is called labels", [
        ("a.json", SPREAD), ("b.jsonl", '[{"text": "a", "labels": []}]'), ("c.tsv", '{"text": "a", "labels": []}\n'),
        ("d.csv", "a,x\nb,y\n"), ("e.txt", '[{"text": "a", "labels": ["x"]}]'),
        ("f.json", json.dumps({"text": "a"}, indent=1)),
    ]),
    Form(TEXTS, "texts of AAPD, token files of RCV1, the blurbs of BGC", "refused", "convert it first, by .*jsonl`", [
        ("text_a", "a\n"), ("a.dat", ".I 1\n.W\na\n"), ("b.txt", '<book xml:lang="en">\n'),
    ]),
    Form(TEXTS, "no label anywhere", "refused", "no text has a label", [
        ("a.tsv", "a\t\nb\t\n"), ("b.jsonl", '{"text": "a", "labels": []}\n'), ("c.tsv", "a\t\t1\n"),
        ("d.json", '{"token": ["a"], "label": []}\n' * 3),
    ]),
    Form(FEATURES, "ARFF, dense or sparse; also packed", "read", 2, [
        ("a.arff", f"{HEAD}@data\n1,1\n2,0\n"), ("b.arff", f"{HEAD}@DATA % rows\n{{0 1,1 1}}\n{{}}\n"),
        ("c.arff.xz", lzma.compress(f"{HEAD}@data\n1,1\n2,0\n".encode())),
        ("d.arff.gz", gzip.compress(f"{HEAD}@data\n1,1\n0,0".encode())),
    ]),
    Form(FEATURES, "CSV with the names of its columns, in a file that ends in `.csv`; `labels` names those of labels",
         "read", 2, [
        ("a.csv", "a,l\n1,1\n2.5,0\n"), ("b.csv", ",a,l\n0,1,True\n1,2,False\n"), ("c.csv", "a;l\r\n1;1\r\n2;0\r\n"),
        ("d.csv.gz", gzip.compress(b"a,l\n1,1\n2,0\n")),
    ]),
    Form(FEATURES, "a row in the line of `@data`; an attribute in the line of `@relation`", "refused",
         "a line of its own", [
        ("a.arff", f"{HEAD}@data 1.5,1\n2,0\n"), ("b.arff", f"{HEAD}@data\t{{0 1}}\n2,1\n"),
        ("c.arff", f"{HEAD}@DATA 1,1"),
        ("d.arff", HEAD.replace("r\n", "r ", 1) + "@data\n1,1\n"),
    ]),
    Form(FEATURES, "an instance weight", "refused", r":\d: .*('1}' is not in the list|has 3 values for 2)", [
        ("a.arff", f"{HEAD}@data\n{{0 1,1 1}}, {{5}}\n"), ("b.arff", f"{HEAD}@data\n1,1,{{5}}\n"),
        ("c.arff", f"{HEAD}@data\n1,1\n2,0, {{0.5}}\n"), ("d.arff", f"{HEAD}@data\n{{1 1}} , {{ 2 }}\n"),
    ]),
    Form(FEATURES, "a number that is none in single precision", "refused, with its line",
         r":\d+: '.*' is not a finite number", [
        ("a.arff", f"{HEAD}@data\nnan,1\n"), ("b.arff", f"{HEAD}@data\n1e39,1\n"),
        ("c.arff", f"{HEAD}@data\n{{0 -inf,1 1}}\n"),
        ("d.arff", f"{HEAD}@data\n{{0 1e400,1 1}}\n"), ("e.arff", f"{HEAD}@data\n1,1\nInfinity,0\n"),
    ]),
    Form(TREES, "Penn brackets, a tree a line or over several; also packed", "read", 2, [
        ("a.mrg", "( (S (NP (NN tea))\n   (VP (VBZ is))))\n( (NP (NN ale)) )\n"),
        ("b.trees", "(NP (NN tea)) (NP (NN ale))\r\n"), ("c.mrg.gz", gzip.compress(b"(NP (NN a))\n(NP (NN b))\n")),
    ]),
    Form(TREES, "a bracket that is not closed, or has several words alone; words outside of brackets; JSON; XML under "
         "another name", "refused", ":1: ", [
        ("a.mrg", "(NP (NN tea)\n"), ("b.mrg", "tea (NP (NN ale))\n"), ("e.mrg", "(NP (NN tea tea-1))\n"),
        ("c.mrg", '{"tree": "(NP (NN tea))"}\n'),
        ("d.mrg", '<?xml version="1.0"?>\n<a/>\n'),
    ]),
    Form(TREES, "NXT's XML (`.syntax.xml`)", "refused", "convert it first, by .* nxt", [
        ("a.syntax.xml", f'<a {NITE}>\n<parse></parse></a>'), ("b.syntax.xml.gz", gzip.compress(b"<a/>")),
    ]),
]  # fmt: skip
CASES = [
    pytest.param(form, name, content, id=f"{place}-{name}")
    for place, form in enumerate(FORMS)
    for name, content in form.examples
]


@pytest.mark.parametrize("form, name, content", CASES)
def test_a_file(form, name, content, tmp_path, caplog):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with caplog.at_level(logging.WARNING):
        if isinstance(form.told, int):
            assert len(READERS[form.reader](str(path))) == form.told
        else:
            with pytest.raises(ConfigurationError) as error:
                READERS[form.reader](str(path))
            assert re.search(form.told, error.value.message) and str(path) in error.value.message
            assert "\n" not in error.value.message
    warnings = [record.getMessage() for record in caplog.records if record.name.startswith("seal.")]
    if form.warned is not None:
        assert any(re.search(form.warned, warning) for warning in warnings)
    elif form.reader == PREDICT:
        assert not warnings


@pytest.mark.parametrize("form, name, content", [case for case in CASES if case.values[0].reader == PREDICT])
def test_standard_input_has_the_same_answers(form, name, content, tmp_path, monkeypatch):
    content = content if isinstance(content, bytes) else content.encode()
    for ending, unpack in ((".gz", gzip.decompress), (".bz2", bz2.decompress), (".xz", lzma.decompress)):
        if name.endswith(ending):
            content = unpack(content)
    (tmp_path / "input").write_bytes(content)
    with open(tmp_path / "input", "rb") as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file, encoding="utf-8"))
        if isinstance(form.told, int):
            assert len(predicted("-")) == form.told
        else:
            with pytest.raises(ConfigurationError, match="^standard input: this (is|looks like) "):
                predicted("-")


def test_a_label_that_is_written_in_two_ways_is_one(tmp_path):
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    write = {
        TAGGING: ("x.tsv", f"a\t{composed}\nb\t{decomposed}\n", lambda item: item["tags"].labels),
        TEXTS: ("y.tsv", f"a\t{composed}\nb\t{decomposed}\n", lambda item: item["labels"].labels),
    }
    for reader, (name, content, labels_of) in write.items():
        (tmp_path / name).write_text(content)
        found = [label for item in READERS[reader](str(tmp_path / name)) for label in labels_of(item)]
        assert found == [composed, composed]
    text = HEAD.replace(" l ", f" {decomposed} ") + "@data\n1,1\n"
    (tmp_path / "x.arff").write_text(text)
    for name in (composed, decomposed):
        data = MultilabelReader(labels=[name]).load(str(tmp_path / "x.arff"))
        assert data.label_names == [composed]
    text = text.replace("@data", f"@attribute {composed} real\n@data").replace("1,1", "1,1,1")
    (tmp_path / "y.arff").write_text(text)
    with pytest.raises(ConfigurationError, match="y.arff:4: the attribute .* looks like that of line 3, and differs"):
        MultilabelReader(labels=[composed]).load(str(tmp_path / "y.arff"))


NAMES = ["run#1/dev.tsv", "run#valid", "a*b.tsv", "~/x.tsv", "a,b.tsv", "12", "[x]#train/y.tsv"]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_exists_is_meant_by_its_own_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("Rose\tX\nsells\tY\n")
    assert split_off_part(name) == (name, None)
    assert expanded(name) == [name] and user_path(name) == name
    assert inputs_of(name) == [name]
    assert len(list(TaggingReader().read(name))) == 1
    path.write_text("Rose\tX\nsells\tY\n")
    assert len(list(TextMultilabelReader(format="tsv").read(name))) == 2


def test_signs_of_paths_that_do_not_exist(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "run[1]").mkdir()
    (tmp_path / "run[1]" / "a.tsv").write_text("Rose\tX\nsells\tY\n")
    assert expanded("~/run[1]/*.tsv") == [str(tmp_path / "run[1]" / "a.tsv")]
    assert split_off_part("~/run[1]/a.tsv#valid") == (str(tmp_path / "run[1]" / "a.tsv"), "valid")
    assert len(list(TaggingReader().read("~/run[1]/a.tsv#valid"))) == 1


def table() -> str:
    rows = ["| read by | a file that has | answer |", "|---|---|---|"]
    rows += [f"| {form.reader} | {form.form} | {form.answer} |" for form in FORMS]
    return "\n".join(rows)


def test_the_table_of_the_documents_is_made_from_these_forms():
    text = DOCS.read_text(encoding="utf-8")
    found = text.partition(START)[2].partition(END)[0].strip()
    assert found == table(), f"put the output of `python -m {__name__.removeprefix('__')}` into {os.path.relpath(DOCS)}"


if __name__ == "__main__":
    print(table())
