"""
What each reader refuses: a table for each, of a file that is wrong, the place that the message must begin with, and
what else it must name. tests/test_what_files_look_like.py has the forms of whole files.
"""

import gzip
import json

import pytest
from allennlp.common import Params
from allennlp.data import BatchSampler, DataLoader, DatasetReader

from seal.registry import ConfigurationError
from seal.tasks.base.sentence_reader import split_off_part
from seal.tasks.multilabel.arff import read_arff
from seal.tasks.multilabel.arff_labels import hierarchy_of, meka_columns, read_mulan_xml
from seal.tasks.multilabel.data_files import read_multilabel
from seal.tasks.parsing.reader import ParsingReader, parsed_trees
from seal.tasks.srl.reader import SrlReader
from seal.tasks.tagging.columns import TagColumns
from seal.tasks.tagging.reader import TaggingReader
from seal.tasks.text.label_scheme import LabelScheme, read_taxonomy_file
from seal.tasks.text.labelled_texts import TextOptions, read_labelled_texts
from seal.tasks.text.reader import TextMultilabelReader
from tests.one_sentence import message_of
from tests.tasks.srl.test_conllu import BEHIND, UP_1, as_version_2
from tests.tasks.tagging.test_columns import CONLL_U, NAMES

HEAD = "@relation r\n@attribute a numeric\n@attribute b {x,'y z',0}\n@attribute c {0,1}\n@data\n"
# The fast way of reading rows and the slow one must agree on what is wrong, so good rows of both stand before.
GOOD = HEAD + "1,x,0\n{0 1,2 1}\n\n"
# Without the time, which would make the names of tests differ between the processes that run them.
PACKED = gzip.compress((HEAD + "1,x,0\n" * 50).encode(), mtime=0)
#: Content, place, further names.
ARFF = [
    ("@attribute a real\n", ":1:", "@data"),
    ("", ":1:", "@data"),
    ("@data\n1", ":1:", "@attribute"),
    ("@attribute a real\n@data\n\n% none\n", ":2:", "@data"),
    ("@attribute a 'date' 'yyyy'\n", ":1:", "'a'", "yyyy", "numeric"),
    *((f"@attribute a {kind}\n", ":1:", "'a'") for kind in ("real [0,1", "real [a,b]", "real 1", "dates", "")),
    ("@attribute 'a real\n", ":1:", "'a real"),
    ("@attribute a {x,y\n", ":1:", "'a'", "'}'"),
    ("@attribute 'a\\r' real\n", ":1:", r"'a\r'"),
    ("@attribute a {x,'\\ny'}\n", ":1:", "'a'", r"'\ny'"),
    ("@attribute a {x,y,x}\n", ":1:", "'a'", "'x'"),
    ("@attribute a {x,,y}\n", ":1:"),
    ("@attribute a {x,'y}\n", ":1:", "'y"),
    ("@attribute a real\n@attribute a real\n@data\n1,2\n", ":2:", "'a'", "repeated_names"),
    ("@relation r\n1,2\n", ":2:", "@attribute", "'1,2'"),
    (HEAD.encode() + b"1,x,0\n1,\xe9,0\n", ":7:", "0xe9"),
    (HEAD.replace("\n", "\r") + "1,x,0\r", ":1:"),
    (GOOD + "1,x", ":9:", "2", "3"),
    (GOOD + "1,x,0,", ":9:", "4", "3"),
    (GOOD + "1,x,0,{0.5}", ":9:", "4", "3"),
    *((GOOD + row, ":9:", "'b'", value) for row, value in [("1,w,0", "'w'"), ("1,1,0", "'1'"), ("{1 1}", "'1'")]),
    *((GOOD + row, ":9:", "'c'", "{0,1}") for row in ("1,x,2", "1,x,0.5", "1,x,-1", "{2 0.5}", "{2 -1}", "{2 2}")),
    *((GOOD + f"{value},x,0", ":9:", "'a'", f"'{value}'") for value in "nan 1e39 1_0 \u0661 0x1".split()),
    *((GOOD + row, ":9:", "'a'") for row in ("{0 -inf}", "{0 1e39}", "{0 1}, {5}", "{0 1 2 1}", ",x,0")),
    (GOOD + "1,'x,0", ":9:", "'x"),
    (GOOD + "{0 1", ":9:", "'}'"),
    (GOOD + "{3 1}", ":9:", "3", "2"),
    (GOOD + "{9999999999 1}", ":9:", "9999999999"),
    *((GOOD + "{%s}" % row, ":9:", f"'{row}'") for row in ("-1 1", "1.0 1", "0")),
    (GOOD + "{0 1,0 2}", ":9:", "index 0"),
]
NODES = "@attribute x real\n@attribute class hierarchical 1,1/2\n@data\n1,1\n"
XML = [
    ("<labels>\n<label name='a'/>\n<label name='a'/></labels>", ":3:", "'a'"),
    ("<labels>\n<label/></labels>", ":2:", "<label>"),
    ("<labels>\n<label name='a'></labels>", ":2:", "mismatched tag"),
    ("", ":1:"),
    ("<labels/>", ":1:", "<label>"),
]
TAXONOMIES = [
    ("a\tb\nc\t\n", ":2:", "'c'"),
    ("Root\nc\nd\n", ":2:", "'c'"),
    ("\n \n", ":1:"),
    ("a\tb\nb\ta\n", ":2:", "'a' -> 'b' -> 'a'"),
    ("b\tc\n\nc\tx\tb\nb\tc\nc\td\n", ":3:", "'b' -> 'c' -> 'b'"),
    ("Root\ta\na\tRoot\n", ":2:", "'Root'", "'a'"),
    ("a\tb\tnone\n", ":1:", "'none'", "'a'"),
    ("None\tRoot\nRoot\ta\na\tRoot\n", ":3:", "'Root'"),
    ("parent: None child: Root child-description: Root\n", ":", "convert.py rcv1-topics"),
]
LABEL_LISTS = [("\n", ":"), ("dog\ncat\ndog\n", ":3:", "'dog'"), ("dog\n\ncat\x7f\n", ":3:", r"'cat\x7f'")]

TEXT = '{"text": "a", "labels": []}\n'
JSON_LINES = [
    (TEXT + "{", ":2:", "character 2"),
    (TEXT + "[" * 100_000, ":2:"),
    (TEXT + '{"text": "a", "labels": ["x"], "labels": []}', ":2:", "'labels'"),
    *((TEXT + json.dumps({"text": "a", "labels": ["x", label]}), ":2:", repr(label)) for label in ("x\r", "", " x")),
    (TEXT + json.dumps({"text": "a", "labels": ["\udc80"]}), ":2:", r"'\udc80'"),
    (TEXT + "[1]", ":2:", "[1]"),
    (TEXT + '{"labels": []}', ":2:", "text_keys"),
    (TEXT + '{"text": 3, "labels": []}', ":2:", "'text'", "3"),
    (TEXT + '{"text": ["a", 1], "labels": []}', ":2:", "'text'"),
    (TEXT + '{"text": "a"}', ":2:", "'labels'"),
    (TEXT + '{"text": "a", "labels": "x, y"}', ":2:", "'labels'", "'x, y'", "list"),
    (TEXT + '{"text": "a", "labels": [1]}', ":2:", "numbers", "dataset_reader.labels"),
    (TEXT + '{"text": "a", "labels": [1, "x"]}', ":2:", "'labels'", "list"),
    (TEXT + '{"text": "a", "label": null}', ":2:", "'label'", "None"),
    (TEXT + '{"text": "a", "cats": {"x": 1, "y": 0.5}}', ":2:", "'y'", "'0.5'"),
    ('{"title": "a b", "body": "a b", "x": 1, "y": 0}\n', ":1:", "text_keys", "'title', 'body'"),
]
CSV = [
    ("text,kind\na,b\n", ":1:", "label_columns", "'kind'"),
    ("text,x,y,n,m\na,0,1,7,8\n", ":1:", "'text', 'n', 'm'"),
    ("text,x,y\n" + "a,0,1\n" * 100 + "a,0,2\n", ":102:", "'y'", "'2'"),
    ("text,x,y\n" + "a,0,1\n" * 100 + "a,,1\n", ":102:", "'x'", "''"),
    ("title,body,x,y\na b,c d,0,1\n", ":1:", "text_keys", "'title', 'body'"),
    ("words,labels\na,b\n", ":2:", "text_keys"),
    ('text,labels\na,"[x, y]"\n', ":2:", "[x, y]"),
    ("text,labels\na,\"['x', 'x']\"\n", ":2:", "'x'"),
    ('text,labels\na,"x,x"\n', ":2:", "'x'"),
]
TSV = [
    ("a\n", ":1:", "1 column"),
    ("a\tx\tb\tc\n", ":1:", "4 columns"),
    ("a\t1\tx\nb\t1\n", ":2:", "2 columns", "3"),
    ("Text\tlabels\tid\na\tx\t1\n", ":1:", "header"),
]
NAMES_OF_LABELS = [("a\tx\nb\tx,\n", ":2:", "'x,'"), ("a\tx\n\nb\ty, x,y\n", ":3:", "'y'"), ("a\tx,y\x7f\n", ":1:")]
NUMBERS_OF_LABELS = [
    ("a\t1\nb\t0,2\n", ":2:", "2", "0 to 1"),
    ("a\t" + "1" * 5000 + "\n", ":1:", "0 to 1"),
    ("a\tfear\n", ":1:", "'tsv'", "'fear'"),
    ("a\t-1\n", ":1:", "'-1'"),
]

#: Options, content, place, further names.
COLUMNS = [
    ({"id_column": 0, "comment": "#"}, CONLL_U, ":3:", "token_column and tag_column"),
    ({"id_column": 2, "comment": "#", "token_column": 1}, CONLL_U, ":3:", "'_'", "id_column"),
    ({}, "a\tX\nb\n", ":2:", "1 column", "2", "tabs"),
    ({}, "a X\nb X Y\n", ":2:", "3 columns", "2", "blanks", "'comment'"),
    ({}, "one\ntwo\n", ":1:", "1 column", "tag_column"),
    ({"separator": "tab"}, "a  B\n\u00a0 \t G\n", ":1:", "1 column"),
    ({"tag_column": 3}, "a X\n", ":1:", "2 columns", "tag", "3"),
    ({"feature_columns": {"pos": 2}}, "a X\n", ":1:", "2 columns", "pos", "2"),
    ({"token_column": "Wort"}, "Token\tPOS\na\tX\n", ":1:", "token_column", "'Wort'", "'Token'"),
    ({"tag_column": "NER"}, "Token\tNER\na\n", ":2:", "1 column"),
    ({}, "Token\tPOS\n", ":1:"),
    ({"columns": NAMES}, "a X\n", ":1:", "2 columns", "4 columns"),
    ({}, "\tX\nb\tX\n", ":1:", "token"),
    ({}, "a\tX\nb\t@@UNKNOWN@@\n", ":2:", "@@UNKNOWN@@"),
    ({"feature_columns": {"pos": 1}}, "a\t\tX\n", ":1:", "pos"),
    ({}, b"a\tX\nb\xff\tX\n", ":2:", "0xff"),
    ({}, "", ":1:"),
    ({}, "-DOCSTART- -X- O\n\n", ":1:"),
    ({"comment": "#"}, "# a remark\n", ":1:"),
    ({}, "0\tEU\tX\n0\tcall\tO\n1\tand\tO\n", ":1:", "column 0", "sentence_column to 0"),
    ({"token_column": 1}, "0\tEU\tX\n0\tcall\tO\n1\tand\tO\n", ":1:", "column 0", "sentence_column"),
    ({}, "EU\t0\tX\ncall\t0\tO\nand\t3\tO\n", ":1:", "'0'", "sentence_column to 1"),
    ({"token_column": 1}, "Sentence: 1\tEU\tX\n\tcall\tO\nSentence: 2\tand\tO\n", ":1:", "'Sentence: 1'"),
    ({"token_column": 1, "sentence_column": 0}, "\tEU\tX\n", ":1:", "sentence"),
    ({"sentence_column": 2}, "EU\tX\n", ":1:", "2 columns", "sentence"),
]
TAGS = [
    ({"encoding": "BIO"}, "w O\nw I-X\n", ":2:", "'I-X'", "'O'", "BIO", "repair"),
    ({"encoding": "BIO"}, "w I-X\nw O\n", ":1:", "'I-X'"),
    ({"encoding": "IOB1"}, "w I-X\nw X\n", ":2:", "'X'", "'I-X'", "IOB1"),
    ({"encoding": "BIOES"}, "w O\nw B-X\nw I-X\n", ":3:", "'I-X'", "BIOES"),
    ({"encoding": "BIO", "repair": True}, "w I-X\nw X\n", ":1:", "'I-X'"),
    ({}, "a\tB-A\nb\tI-A\n\nc\tb-A\n", ":4:", "'b-A'"),
    ({}, "a\tB-A\nb\tI-A\n\nc\tO\nd\tI-A\n", ":5:", "'I-A'"),
    ({}, "a\tX\n\nb\t\n", ":3:", "empty"),
    ({"encoding": None}, "a\tX\n\nb\t\n", ":3:", "empty"),
    ({"encoding": "BIO"}, "a\tB-X\nb\t\n", ":2:", "empty"),
    ({"encoding": "BIO"}, "a\tB_X\n", ":1:", "'B_X'"),
    ({"max_words": 1}, "a X\nb X\n\nc X\nd X\n", ":", "2", "max_words"),
]
WORDS = {"tokens": ["a", "b"], "tags": ["X", "O"]}
BESIDE = {"text": "He met Ana", "spans": []}
#: Options, what differs from an object with words or with a text, further names.
TAG_RECORDS = [
    ({}, {**WORDS, "tags": ["X"]}, "'tags'", "2"),
    ({}, {**WORDS, "tags": "X O"}, "'tags'"),
    ({}, {**WORDS, "tags": [0, 1]}, "numbers", "label_names"),
    ({"label_names": ["O"]}, {**WORDS, "tags": [0, 1]}, "'tags'", "1"),
    ({"label_names": ["O", "X"]}, {**WORDS, "tags": [0, True]}, "'tags'", "True"),
    ({}, {**WORDS, "tags": ["X", "@@UNKNOWN@@"]}, "@@UNKNOWN@@"),
    ({}, {**WORDS, "ner_tags": ["X", "O"]}, "tags and ner_tags", "tag_column"),
    ({"tag_column": "ner"}, WORDS, "ner", "'tags'"),
    ({}, {"tokens": ["a"]}, "tags", "'tokens'", "tag_column"),
    ({}, {"tokens": ["a", " "], "tags": ["X", "O"]}, "'tokens'", "words"),
    ({}, {"tokens": "a b", "tags": ["X", "O"]}, "'tokens'", "words"),
    ({}, {"form": ["a"], "tags": ["X"]}, "'form'", "token_column"),
    ({"feature_columns": {"pos": "upos"}}, {**WORDS, "upos": ["N"]}, "'upos'", "2"),
    ({"feature_columns": {"pos": "upos"}}, WORDS, "'upos'"),
    ({}, {"text": "He"}, "entities", "'text'", "tag_column"),
    ({}, {**BESIDE, "label": []}, "spans and label", "tag_column"),
    ({}, {**BESIDE, "spans": {}}, "'spans'", "list"),
    ({}, {**BESIDE, "spans": [[7, 10]]}, "'spans'", "[7, 10]"),
    ({}, {**BESIDE, "spans": [{"start": 7, "end": 10}]}, "'spans'", "label"),
    ({}, {**BESIDE, "spans": [{"start": 7, "end": 10, "labels": ["A", "B"]}]}, "'spans'", "label"),
    ({}, {**BESIDE, "spans": [[7.0, 10, "PER"]]}, "'spans'", "7.0"),
    ({}, {**BESIDE, "spans": [[7, 10, " "]]}, "'spans'", "label"),
    *(({}, {**BESIDE, "spans": [[start, end, "PER"]]}, str(start), str(end), "10 characters")
      for start, end in ((7, 11), (-3, 2), (7, 7), (9, 8), (2, 3))),
    ({}, {**BESIDE, "spans": [[0, 6, "X"], [3, 10, "PER"]]}, "'met Ana'", "overlaps"),
    ({}, [], "object"),
]  # fmt: skip

ROW = "doc 0 0 go X * go 01 - - * (V*) -\n"
WITHOUT = ROW.replace("(V*)", "*")
BEFORE = "doc 0 0 hm X * - - - - * -\n\n"
ROLES = [
    (ROW + ROW[:-1] + " -", ":2:", "14", "13"),
    ("go - (A0*)\nthere - *\n", ":1:", "3 columns", "CoNLL-2005"),
    ("go go (V*)\nthere - *\n\nso - *)\n", ":4:", "CoNLL-2005"),
    ("go go (V*)\nthere -\n", ":2:", "2", "3"),
    ("go go (V*\nthere - *\n", ":1:", "V", "2"),
    ("go V", ":1:", "2", "12", ".jsonl"),
    (ROW.replace("(V*)", "(V*") + WITHOUT, ":1:", "V", "11"),
    (ROW + ROW.replace("(V*)", "*)"), ":2:", "'*)'", "11"),
    (ROW.replace("(V*)", "(V*") + ROW.replace("(V*)", "(ARG0*)"), ":2:", "'(ARG0*)'", "line 1"),
    *((ROW + ROW.replace("(V*)", cell), ":2:", f"'{cell}'") for cell in ("(ARG0(ARG1*))", "(*)", "B-ARG0")),
    ("#begin document\n" + WITHOUT.replace("01", "-"), ":2:", "11"),
    ("", ":1:"),
    ("#begin document\n#end document\n", ":1:"),
    (BEFORE + "short", ":3:", "1"),
]
FRAME = {"pred": 1, "tags": ["B-ARG0", "B-V"]}
SENTENCE = {"words": ["we", "go"], "frames": [FRAME]}
FRAMES = [
    ("{", "character 2"),
    ('{"words": ["a"], "frames": [], "words": ["b"]}', "'words'"),
    ({"words": ["a", "b\r"], "frames": []}, "word 1"),
    ({"words": ["a\ud800"], "frames": []}, "word 0"),
    ("[1, 2]", "[1, 2]"),
    ({"words": ["a"]}, "'frames'", "['words']"),
    *(({"words": words, "frames": []}, "'words'") for words in ([], ["a", 1], ["a", ""], "a b")),
    ({"words": ["a"], "frames": {}}, "'frames'"),
    ({"words": ["a"], "frames": [3]}, "3"),
    ({"words": ["a"], "frames": [{"tags": ["O"]}]}, "'pred'"),
    *(({**SENTENCE, "frames": [{**FRAME, "pred": pred}]}, "'pred'", str(pred)) for pred in (2, -1, True, None)),
    *(({**SENTENCE, "frames": [{**FRAME, "tags": tags}]}, "tags", "predicate 1") for tags in (["O"], ["O", 1], "OO")),
    ({**SENTENCE, "frames": [{**FRAME, "tags": ["B-ARG0\r", "B-V"]}]}, r"'B-ARG0\r'"),
    ({**SENTENCE, "frames": [{**FRAME, "pred": 0}]}, "predicate 0", "word 1"),
    ({**SENTENCE, "frames": [{**FRAME, "tags": ["B-ARG0", "I-ARG1"]}]}, "tag 1", "'I-ARG1'", "repair"),
    ({**SENTENCE, "frames": [{**FRAME, "tags": ["ARG0", "O"]}]}, "tag 0", "'ARG0'"),
    ({**SENTENCE, "frames": [{**FRAME, "lemma": 3}]}, "'lemma'", "3"),
]
CONLLU = [
    (BEHIND.replace("\t_\n2", "\n2"), ":4:", "13", "12"),
    (BEHIND.replace("\n4\tleft", "\n5\tleft"), ":6:", "'5'", "4"),
    (BEHIND.replace("leave.01", "_"), ":3:", "column 10", "2 columns"),
    (BEHIND.replace("\t5\tnsubj", "\t9\tnsubj"), ":4:", "'9'", "role_spans"),
    (BEHIND.replace("\t5\tnsubj", "\t4\tnsubj"), ":3:", "circle"),
    (BEHIND.replace("\t_\t_\t_\t_\t_\n2", "\n2"), ":3:", "8 columns", "10"),
    (BEHIND.replace("\tR-A0", "\tR-A0\u200b"), ":5:", "U+200B"),
    (BEHIND.replace("\twho\twho", "\t\twho"), ":5:", "word"),
    (UP_1.replace("xcomp\tY", "xcomp\t_"), ":4:", "column 8"),
    (UP_1.replace("\tY\t", "\t_\t"), ":4:", "12 columns", "global.columns"),
    (as_version_2(BEHIND).replace("A0:2|A1:7", "A0:2|A1:8"), ":6:", "8", "7"),
    (as_version_2(BEHIND).replace("A0:2|A1:7", "A0"), ":6:", "'A0'"),
    (as_version_2(BEHIND).replace("FORM", "TOKEN"), ":", "FORM"),
    (as_version_2(BEHIND).replace("UP:ARGSPANS", "UP:ARGSPANS X"), ":2:", "13", "14"),
]
TREES = [
    ("(S (NN a)\n(S (NN b))", ":1:", "line 2"),
    ("(S (NN a))\n(S (NN b)\n  (NN c", ":2:", "2"),
    ("(S (NN a)))", ":1:"),
    ("\n(S (NN a)) b\n", ":2:", "'b'"),
    ("(S (NN a))\n()", ":2:", "'()'"),
    ("(S (NP\n ) (NN a))", ":2:", "'(NP)'"),
    ("(S (NN a)\n (NP (NN cook cook-1)))", ":2:", "'(NN cook cook-1)'", "XX"),
    ("(S (NN a))\n" + "(" * 100_000, ":2:", "200"),
    (")" * 100_000, ":1:"),
]


def texts(path, **options):
    return read_labelled_texts(path, options=TextOptions(**options))


def in_columns(options):
    return TagColumns(**options).read


def tagged(options):
    return TaggingReader(**options).read


def roles(path):
    return SrlReader(role_spans="subtree").read(path)


def listed(path):
    return LabelScheme(path, None, ancestors=False).names()


def with_numbers(path):
    return texts(path, label_names=["joy", "fear"])


FEATURES_OF_CSV = [
    ("x,y\n", ":1:", "no row"),
    ("id,y\na,0\n", ":1:", "'id'", "drop_attributes"),
    ("x,y\n1,0\n1e99,1\n", ":3:", "'x'", "'1e99'"),
    ("x,y\n1,maybe\n", ":1:", "'y'"),
    ("x,y\n1,0\n1\n", ":3:"),
    ("x,x,y\n1,0,1\n", ":1:", "'x'"),
]


BAD_FILES = [
    *(("a.arff", read_arff, *row) for row in ARFF),
    ("a.arff.gz", read_arff, PACKED[:-12], ":"),
    ("plain.arff.gz", read_arff, HEAD.encode(), ":1:"),
    *(("a.csv", lambda path: read_multilabel(path, labels=["y"]), *row) for row in FEATURES_OF_CSV),
    ("a.csv", read_multilabel, "x,y\n1,0\n2,1\n", ":1:", "dataset_reader.labels", "alone: 'y'"),
    ("a.csv", read_multilabel, "x\n2\n", ":1:", "dataset_reader.labels", "None has"),
    ("a.arff", read_multilabel, NODES + "1,1@7\n", ":5:", "'7'"),
    *(("a.arff", read_multilabel, NODES + row, ":5:") for row in ("1,?", "{0 1}", "1,1@")),
    *(("labels.xml", read_mulan_xml, *row) for row in XML),
    *(("taxonomy.txt", read_taxonomy_file, *row) for row in TAXONOMIES),
    *(("labels.txt", listed, *row) for row in LABEL_LISTS),
    *(("a.jsonl", texts, *row) for row in JSON_LINES),
    *(("a.csv", texts, *row) for row in CSV),
    *(("a.tsv", texts, *row) for row in TSV + NAMES_OF_LABELS),
    *(("a.tsv", with_numbers, *row) for row in TSV + NUMBERS_OF_LABELS),
    ("notes.txt", texts, "a text\n", ":", "dataset_reader.format"),
    ("a.jsonl", lambda path: texts(path, label_columns=("x",)), TEXT, ":1:", "label_columns", "'x'"),
    ("a.jsonl", lambda path: texts(path, label_columns=("x", "y")),
     '{"text": "a", "x": 1, "y": 0}\n{"text": "a", "x": 1}', ":2:", "'y'", "''"),
    ("a.jsonl", with_numbers, '{"text": "a", "labels": [7]}', ":1:", "'7'", "0 to 1"),
    ("a.tsv", lambda path: texts(path, label_columns=("x",)), "a\tx\n", ":", "label_columns", "JSON"),
    ("a.jsonl", lambda path: texts(path, text_keys=("title",)), TEXT, ":1:", "'title'", "text_keys"),
    ("a.csv", lambda path: texts(path, label_columns=("x", "z")), "text,x\na,1\n", ":1:", "'z'", "label_columns"),
    ("a.tsv", lambda path: read_labelled_texts(path, "indexed_tsv"), "", ":", "dataset_reader.labels"),
    *(("a.jsonl", TextMultilabelReader().read, json.dumps({"text": text, "labels": ["x"]}), ":1:", "the text")
      for text in ("", "  \t", "a \udc80")),
    ("a.jsonl", TextMultilabelReader().read, "\n", ":1:"),
    *(("a.tsv", in_columns(options), *row) for options, *row in COLUMNS),
    *(("a.tsv", tagged(options), *row) for options, *row in TAGS),
    *(("a.jsonl", tagged(options), f'\n{{"answer": "ignore"}}\n{json.dumps(record)}\n', ":3:", *named)
      for options, record, *named in TAG_RECORDS),
    ("a.json", tagged({}), json.dumps([WORDS]), ":", "jq"),
    ("a.jsonl", tagged({}), '{"answer": "reject"}\n', ":1:"),
    *(("a.conll", roles, *row) for row in ROLES),
    *(("a.jsonl", roles, f"{json.dumps(SENTENCE)}\n\n{line if isinstance(line, str) else json.dumps(line)}", ":3:",
       *named) for line, *named in FRAMES),
    *(("a.conllu", roles, *row) for row in CONLLU),
    *(("a.mrg", ParsingReader().read, *row) for row in TREES),
    ("a.mrg", ParsingReader().read, "( (S (-NONE- *)))\n", ":"),
    ("a.mrg", ParsingReader().read, "(NP (NN _) (NN _))\n" * 5, ":"),
]  # fmt: skip


@pytest.mark.parametrize("name, read, content, place, named", [(*row[:4], row[4:]) for row in BAD_FILES])
def test_a_bad_file_is_named_with_its_line(write, name, read, content, place, named):
    path = write(name, content)
    told = message_of(read, path)
    assert told.startswith(path + place) and all(word in told.removeprefix(path) for word in named), told


#: Attributes of each kind, and rows; the labels are named in options.
KINDS = (
    "@relation r\n@attribute red {0,1}\n@attribute w real\n@attribute big {YES,NO}\n@attribute id string\n"
    "@attribute soft {TRUE, FALSE}\n@attribute shape {disc,cube,rod}\n@data\n"
    "1,0.5,NO,'one',TRUE,cube\n0,?,YES,'two',?,disc\n1,2.5,YES,'three',FALSE,?\n"
)
DROP = {"drop_attributes": ["id"]}
TABLES = [
    ({"labels": ["red"]}, "a.arff:5", "'id'", "drop_attributes"),
    ({"labels": ["w"], **DROP}, "a.arff:9", "'w'", "0.5"),
    ({"labels": ["soft"], **DROP}, "a.arff:10", "'soft'"),
    ({"labels": ["blue"], **DROP}, "a.arff", "'blue'", "dataset_reader.labels"),
    ({"labels": ["red", "red"], **DROP}, "dataset_reader.labels"),
    ({"labels": [], **DROP}, "dataset_reader.labels"),
    ({"labels": ["shape"], **DROP}, "a.arff:7", "'shape'", "disc,cube,rod"),
    ({"labels": ["red"], "drop_attributes": ["what"]}, "a.arff:1", "'what'"),
    ({"labels": ["red", "w", "big", "soft"], "drop_attributes": ["id", "shape"]}, "a.arff:1"),
    ({"labels": ["red"], "label_xml": "x.xml"}, "'label_xml'", "'labels'"),
    ({"hierarchy": "forest"}, "dataset_reader.hierarchy", "'forest'"),
    ({"missing": "median"}, "dataset_reader.missing", "'median'"),
    ({"labels": ["red"], "missing": "error", **DROP}, "a.arff:10", "'w'", "statistics_from"),
    ({"label_xml": "none.xml"}, "none.xml"),
    ({}, "a.arff:7", "label_xml", "labels"),
]


@pytest.mark.parametrize("options, named", [(row[0], row[1:]) for row in TABLES])
def test_columns_that_cannot_be_labels_or_features(write, options, named):
    told = message_of(read_multilabel, write("a.arff", KINDS), **options)
    assert all(word in told for word in named), told


HIERARCHIES = [
    ((["a", "a//b"], "auto"), "'a//b'"),
    ((["a", "/".join(["a"] * 100_000)], "auto"), "100", "100000"),
    ((["a/b", "c"], "graph"), "'c'"),
    ((["root/a", "a/b", "b/a"], "auto"), "'a' -> 'b' -> 'a'"),
    ((["root/a", "a/root"], "auto"), "'root'"),
]
RELATIONS = [
    (("r -c 3", 5), "'label_xml'", "'labels'"),
    (("r: -C 0", 5), "'-C 0'", "5"),
    (("r: -C -5", 5), "'-C -5'", "5"),
    (("M: -C 2-weka.filters.unsupervised.attribute.Remove-R1-2", 5), "'-C 2'"),
    (("M: -C 2 -I 0_M: -C 2 -I 0", 5), "'-C 2'"),
]
PLACED = [(hierarchy_of, *row) for row in HIERARCHIES] + [(meka_columns, *row) for row in RELATIONS]


@pytest.mark.parametrize("read, given, named", [(*row[:2], row[2:]) for row in PLACED])
def test_what_an_attribute_or_a_relation_says_of_labels(read, given, named):
    told = message_of(read, "f:1", *given)
    assert told.startswith("f:1: ") and all(word in told for word in named), told


#: The kind, a registered name and settings, and what the message names.
SETTINGS = [
    ("seal_multilabel", {"standardize": True}, "dataset_reader.statistics_from"),
    ("seal_multilabel", {"root": ""}, "dataset_reader.root"),
    ("seal_multilabel", {"root": " a"}, "dataset_reader.root", "' a'"),
    ("seal_text_multilabel", {"format": "xml"}, "dataset_reader.format", "'xml'", "'json_lines'"),
    ("seal_text_multilabel", {"ancestors": True}, "dataset_reader.ancestors", "'taxonomy'"),
    ("seal_text_multilabel", {"valid_every": 1}, "valid_every", "1"),
    ("seal_text_multilabel", {"max_tokens": 0}, "max_tokens"),
    ("seal_tagging", {"max_words": 0}, "dataset_reader.max_words", "0"),
    ("seal_tagging", {"encoding": "IOB2"}, "dataset_reader.encoding", "'IOB2'", "'IOB1'"),
    ("seal_tagging", {"encoding": None, "target_encoding": "BIOES"}, "dataset_reader.target_encoding"),
    ("seal_tagging", {"encoding": "BIO", "target_encoding": "IOB1"}, "dataset_reader.target_encoding", "'IOB1'"),
    ("seal_tagging", {"feature_columns": {"tags": 1}}, "feature_columns", "'tags'"),
    ("seal_tagging", {"unlabelled": "x"}, "dataset_reader.unlabelled", "'labelled'"),
    ("seal_tagging", {"labelled": -1}, "dataset_reader.labelled"),
    ("seal_tagging", {"token_column": "Wort", "columns": NAMES}, "dataset_reader.token_column", "'Wort'"),
    ("seal_tagging", {"tag_column": 4, "columns": NAMES}, "dataset_reader.tag_column", "4"),
    ("seal_tagging", {"feature_columns": {"pos": "xpos"}, "columns": NAMES}, "feature_columns.pos", "'xpos'"),
    ("seal_tagging", {"separator": ","}, "dataset_reader.separator", "','"),
    ("seal_srl", {"fractoin": 1}, "fractoin"),
    *(("seal_srl", {"fraction": share}, "dataset_reader.fraction") for share in (0, 1.01, float("nan"))),
    ("seal_srl", {"role_spans": "tree"}, "dataset_reader.role_spans", "'tree'", "'subtree'"),
    ("seal_segmentation", {"crop": 0}, "dataset_reader.crop"),
    ("seal_segmentation", {"crop": [1, 2, 3]}, "dataset_reader.crop"),
    ("seal_segmentation", {"resize": [3]}, "dataset_reader.resize"),
]


@pytest.mark.parametrize("kind, settings, named", [(*row[:2], row[2:]) for row in SETTINGS])
def test_settings_of_readers(kind, settings, named):
    with pytest.raises(ConfigurationError) as error:
        DatasetReader.from_params(Params({"type": kind, **settings}))
    told = error.value.message
    assert all(word in told for word in named), told


LOADERS = [
    (BatchSampler, {"type": "by_length", "batch_size": 0}, "batch_size"),
    *((BatchSampler, {"type": "frames", "batch_size": 4, "sentence_share": share}, "batch_sampler.sentence_share")
      for share in (0, 1.1)),
    (BatchSampler, {"type": "partly_labelled", "num_labelled": 0}, "batch_sampler.num_labelled"),
    (BatchSampler, {"type": "partly_labelled", "num_unlabelled": 0}, "batch_sampler.num_unlabelled"),
]  # fmt: skip


@pytest.mark.parametrize("kind, settings, named", LOADERS)
def test_settings_of_batches(kind, settings, named):
    assert named in message_of(kind.from_params, Params(settings))


def test_loaders_and_samplers_of_another_reader():
    instances = [TaggingReader().text_to_instance(["a"], ["X"])]
    frames = BatchSampler.from_params(Params({"type": "frames", "batch_size": 4}))
    partly = BatchSampler.from_params(Params({"type": "partly_labelled"}))
    assert "'by_size'" in message_of(lambda: iter(frames.get_batch_indices(instances)))
    assert "dataset_reader.labelled" in message_of(lambda: iter(partly.get_batch_indices(instances)))
    told = message_of(DataLoader.from_params, Params({"type": "tensors"}), reader=SrlReader(), data_path="f")
    assert "data_loader.type" in told and "SrlReader" in told


#: A reader, what one sentence of a program is given as, and what the message names.
SENTENCES = [
    (TaggingReader(), dict(words=[]), "one word"),
    (TaggingReader(), dict(words=["a"], tags=["X", "Y"]), "2", "1"),
    (TaggingReader(feature_columns={"pos": 1}), dict(words=["a"], tags=["X"]), "'pos'"),
    (TaggingReader(feature_columns={"pos": 1}), dict(words=["a"], features={"pos": ["P", "Q"]}), "'pos'", "2"),
    (SrlReader(), dict(words=["a"], predicate=1), "predicate 1"),
    (SrlReader(), dict(words=["a"], predicates=[-1]), "predicate -1"),
    (ParsingReader(), dict(words=["old", "tea"], symbols=["(NP", "XX", ")"]), "1", "2"),
]


@pytest.mark.parametrize("reader, given, named", [(*row[:2], row[2:]) for row in SENTENCES])
def test_a_sentence_that_is_none(reader, given, named):
    told = message_of(reader.text_to_instance, source="here:7", **given)
    assert told.startswith("here:7: ") and all(word in told for word in named), told


#: Paths that name nothing.
PATHS = [
    (read_arff, "none.arff", "none.arff"),
    (SrlReader().read, "none", "none"),
    (ParsingReader().read, "none", "none"),
    (TaggingReader().read, "none*", "none*"),
    (split_off_part, "data/a.txt#test", "train, valid", "'test'"),
]


@pytest.mark.parametrize("read, path, named", [(*row[:2], row[2:]) for row in PATHS])
def test_a_path_that_names_nothing(read, path, named):
    told = message_of(read, path)
    assert all(word in told for word in named), told


def test_what_is_right_before_a_mistake_is_read():
    trees = parsed_trees("a", iter([(1, "(S (NN a))\n"), (2, "wrong\n")]))
    assert next(trees)[0] == 1
    assert message_of(next, trees).startswith("a:2: 'wrong'")
