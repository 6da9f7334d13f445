import os
import re
import tempfile

import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import given, settings
from hypothesis import strategies as st

from seal.dataset_readers.tag_columns import TagColumns
from tests.one_sentence import message_of

CONLL2003 = """-DOCSTART- -X- -X- O

Anna NNP I-NP I-PER
Meyer NNP I-NP I-PER
sails VBZ I-VP O

-DOCSTART- -X- -X- O
Bergen NNP I-NP I-LOC
Oslo NNP I-NP B-LOC
. . O O
"""
NAMES = ["word", "pos", "chunk", "ner"]


def told_of(path, **options):
    return message_of(TagColumns(**options).read, path)


def test_two_columns(write):
    # A tab, carriage returns, an empty line that holds a tab, no empty line at the end.
    path = write("x.tsv", "\n\nhi\t!\r\n#you\t#\r\n\t\r\n\nRT\t~\n@a\t@")
    first, second = TagColumns().read(path)
    assert first.words == ["hi", "#you"] and first.tags == ["!", "#"] and first.features == {}
    assert first.lines == [3, 4] and first.source == f"{path}:3"
    assert second.words == ["RT", "@a"] and second.lines == [7, 8]


def test_conll2003(write):
    path = write("eng.train", CONLL2003)
    columns = TagColumns("word", "ner", {"pos": "pos", "phrase": "chunk"}, NAMES)
    first, second = columns.read(path)
    assert first.words == ["Anna", "Meyer", "sails"] and first.tags == ["I-PER", "I-PER", "O"]
    assert first.features == {"pos": ["NNP", "NNP", "VBZ"], "phrase": ["I-NP", "I-NP", "I-VP"]}
    assert second.tags == ["I-LOC", "B-LOC", "O"] and second.source == f"{path}:8"
    by_place = TagColumns(0, 3, {"pos": 1, "phrase": -2}).read(path)
    assert list(by_place) == [first, second]


def test_conll_u_style(write):
    text = "# sent_id = 1\n# text = Is it\nIs\tAUX\tVBZ\n#\tSYM\tNN\n# a remark\nit\tPRON\tPRP\n"
    text += "\n# sent_id = 2\nNo\tINTJ\tUH\n"
    path = write("x.tsv", text)
    first, second = TagColumns(tag_column=1, comment="# ").read(path)
    assert first.words == ["Is", "#", "it"] and first.tags == ["AUX", "SYM", "PRON"]
    assert first.lines == [3, 4, 6] and second.words == ["No"]
    # Without `comment` the first row sets another count of columns, and says so at the next.
    message = told_of(path)
    assert message.startswith(f"{path}:2: found 5 columns where the file's first row has 4 (separated by blanks; ")
    assert "'comment'" in message


CONLL_U = """#sent_id=1
# text = Don't you go?
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVBP\t_\t4\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
3\tyou\tyou\tPRON\tPRP\t_\t4\tnsubj\t_\t_
3.1\twant\twant\tVERB\tVB\t_\t_\t_\t0:root\t_
4\t#\t#\tSYM\tNN\t_\t0\troot\t_\t_

# sent_id = 2
1\tNo\tno\tINTJ\tUH\t_\t0\troot\t_\t_
"""
CONLL_U_NAMES = ["id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"]


@pytest.mark.parametrize(
    "name, options",
    [
        ("en-ud-dev.conllu", {"token_column": 1, "tag_column": 3}),
        ("en-ud-dev.conllu.gz", {"token_column": 1, "tag_column": 3}),
        ("dev.txt", {"token_column": "form", "tag_column": "upos", "columns": CONLL_U_NAMES}),
        ("dev.txt", {"token_column": 1, "tag_column": 3, "id_column": 0, "separator": "tab"}),
    ],
)
def test_conll_u_as_it_is_published(write, name, options):
    path = write(name, CONLL_U)
    first, second = TagColumns(**options).read(path)
    assert first.words == ["Do", "n't", "you", "#"] and first.tags == ["AUX", "PART", "PRON", "SYM"]
    assert first.lines == [4, 5, 6, 8] and second.words == ["No"] and second.lines == [11]


@pytest.mark.parametrize(
    "name, content, options, words",
    [
        ("x", "#you 1 N\nsing 2 V\n", {"tag_column": 2, "id_column": 1}, ["#you", "sing"]),
        ("slim.conllu", "# a remark\n4.1\tNUM\n", {"columns": ["form", "upos"], "comment": "# "}, ["4.1"]),
    ],
    ids=["ids are not first, so lines may begin with a number sign", "named columns without ids"],
)
def test_what_is_no_id(write, name, content, options, words):
    (sentence,) = TagColumns(**options).read(write(name, content))
    assert sentence.words == words


def test_a_token_may_hold_blanks_where_tabs_separate(write):
    path = write("x", "New York\tB\n\u00a0\tG\n\u00a0a b \tN\n")
    (sentence,) = TagColumns().read(path)
    # A no-break space is a letter of a word, as in the tweets.
    assert sentence.words == ["New York", "\u00a0", "\u00a0a b"]
    path = write("y", "a  B\n\u00a0 \t G\n")
    (sentence,) = TagColumns(separator="blanks").read(path)
    assert sentence.words == ["a", "\u00a0"] and sentence.tags == ["B", "G"]
    assert "found 1 column where" in told_of(path, separator="tab")


def test_without_tags(write):
    path = write("x", "one\ntwo\n\nthree\n")
    first, second = TagColumns(tag_column=None).read(path)
    assert first.words == ["one", "two"] and first.tags is None and second.tags is None
    assert "found 1 column where column 0 would be both token and tag; set" in told_of(path)


def test_streams_up_to_a_fault(write):
    path = write("x", "a\tX\n\nb\n")
    sentences = TagColumns().read(path)
    assert next(sentences).words == ["a"]
    assert message_of(next, sentences).startswith(f"{path}:3: found 1 column where the file's first row has 2")


BOTH = "3: found 10 columns where column 0 would be both token and id; set token_column and tag_column (1 and 3"
NO_ID = "3: '_' is not an id of CoNLL-U, such as 2, 2-3 or 4.1; set id_column"


@pytest.mark.parametrize(
    "text, options, message",
    [
        (CONLL_U, {"id_column": 0, "comment": "#"}, BOTH),
        (CONLL_U, {"id_column": 2, "comment": "#", "token_column": 1}, NO_ID),
        ("a\tX\nb\n", {}, "2: found 1 column where the file's first row has 2 (separated by tabs"),
        ("a X\nb X Y\n", {}, "2: found 3 columns where the file's first row has 2 (separated by blanks"),
        ("a X\n", {"tag_column": 3}, "1: found 2 columns where the tag is in column 3 (counted from 0)"),
        ("a X\n", {"feature_columns": {"pos": 2}}, "1: found 2 columns where the pos is in column 2"),
        ("Token\tPOS\na\tX\n", {}, "1: this line is a header, which would be read as a word like any other; remove it"),
        ("a X\n", {"columns": NAMES}, "1: found 2 columns where 4 columns are named"),
        ("\tX\nb\tX\n", {}, "1: the token is empty"),
        ("a\tX\nb\t@@UNKNOWN@@\n", {}, "2: the tag is @@UNKNOWN@@, which AllenNLP's vocabulary keeps for itself"),
        ("a\tX\n\t  X\n", {}, "2: the token is empty"),
        ("a\t\tX\n", {"feature_columns": {"pos": 1}}, "1: the pos is empty"),
        (b"a\tX\nb\xff\tX\n", {}, "2: byte 0xff is not UTF-8"),
        ("", {}, "1: the file holds no sentence"),
        ("-DOCSTART- -X- O\n\n", {}, "1: the file holds no sentence"),
        ("# a remark\n", {"comment": "#"}, "1: the file holds no sentence"),
    ],
)
def test_faults_name_the_line(write, text, options, message):
    path = write("x", text)
    assert told_of(path, **options).startswith(f"{path}:{message}")


@pytest.mark.parametrize(
    "options, message",
    [
        ({"token_column": "word"}, "dataset_reader.token_column: there is no column 'word'; 'columns' names none"),
        ({"tag_column": "tag", "columns": NAMES}, "dataset_reader.tag_column: there is no column 'tag'"),
        ({"feature_columns": {"pos": "xpos"}, "columns": NAMES}, "feature_columns.pos: there is no column 'xpos'"),
        ({"tag_column": 4, "columns": NAMES}, "dataset_reader.tag_column: 4 is not a place among 4 columns"),
        ({"separator": ","}, "dataset_reader.separator must be 'tab', 'blanks', 'comma' or null, found ','"),
        ({"columns": ["w", "w", "t"]}, "dataset_reader.columns: 'w' comes a second time"),
        ({"tag_column": True}, "dataset_reader.tag_column: the place of a column or its name, not True"),
        ({"feature_columns": {"pos": 1.0}}, "feature_columns.pos: the place of a column or its name, not 1.0"),
        ({"id_column": "id"}, "dataset_reader.id_column: there is no column 'id'"),
        ({"comment": ""}, "dataset_reader.comment: every line begins with the empty string"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ConfigurationError, match=message):
        TagColumns(**options)


UD = {"comment": "# ", "columns": ["form", "upos", "xpos"], "token_column": "form", "tag_column": "upos"}


@pytest.mark.parametrize(
    "name, options, sentences, tokens, tags",
    [
        ("twitter_pos/oct27.train", {}, 1000, 14619, 25),
        ("twitter_pos/oct27.dev", {}, 327, 4823, 23),
        ("twitter_pos/oct27.test", {}, 500, 7152, 23),
        ("wnut17/wnut17train.conll", {}, 3394, 62730, 13),
        ("wnut17/emerging.dev.conll", {}, 1009, 15733, 13),
        ("wnut17/emerging.test.annotated", {}, 1287, 23394, 13),
        ("ud_ewt_pos/train.tsv", UD, 12544, 204577, 17),
        ("ud_ewt_pos/dev.tsv", UD, 2001, 25147, 17),
        ("cora_citation/ref.train", {}, 300, 9696, 13),
        ("cora_citation/ref.test", {}, 200, 6270, 13),
    ],
)
def test_real_data(name, options, sentences, tokens, tags):
    path = os.path.join("data", name)
    if not os.path.exists(path):
        pytest.skip(f"the data is not in {path}")
    found = list(TagColumns(**options).read(path))
    assert len(found) == sentences and sum(len(s.words) for s in found) == tokens
    assert len({tag for s in found for tag in s.tags}) == tags


SENTENCES = st.lists(
    st.lists(st.tuples(st.sampled_from("EU rejects German call 7 ,".split()), st.sampled_from("OXY")), min_size=1),
    min_size=1,
    max_size=4,
)


@settings(max_examples=30, deadline=None)
@given(
    SENTENCES,
    st.sampled_from([(".csv", ","), (".csv", ";"), (".tsv", "\t")]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["Sentence: {}", "{}"]),
)
def test_a_column_of_sentences_and_empty_rows_say_the_same(sentences, kind, end, each, also_empty, name):
    ending, separator = kind
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/a{ending}"
        with open(path, "w", newline="", encoding="utf-8-sig") as file:
            for number, rows in enumerate(sentences, start=7):
                for place, (word, tag) in enumerate(rows):
                    # Quotes are CSV's alone.
                    word = f'"{word}"' if ending == ".csv" else word
                    file.write(separator.join([name.format(number) if each or not place else "", word, tag]) + end)
                file.write(end * also_empty)
        found = [list(zip(item.words, item.tags)) for item in TagColumns(1, 2, sentence_column=0).read(path)]
    assert found == sentences


@pytest.mark.parametrize(
    "text, options, told",
    [
        ("0\tEU\tX\n0\tcall\tO\n1\tand\tO\n", {}, "column 0 numbers words or sentences; .* and sentence_column to 0"),
        ("4\tEU\tX\n4\tcall\tO\n4\tand\tO\n\n5\tI\tO\n", {}, "column 0 numbers words or sentences"),
        ("0\tEU\tX\n0\tcall\tO\n1\tand\tO\n", {"token_column": 1}, "column 0 numbers them, .*set sentence_column"),
        ("EU\t0\tX\ncall\t0\tO\nand\t3\tO\n", {}, "column 1 numbers them, '0' first; set sentence_column to 1"),
        ("Sentence: 1\tEU\tX\n\tcall\tO\nSentence: 2\tand\tO\n", {"token_column": 1}, "'Sentence: 1' first; set sen"),
        ("sentence_id\twords\tlabels\n0\tEU\tX\n", {}, "this line is a header"),
        ("\tEU\tX\n", {"token_column": 1, "sentence_column": 0}, "a.tsv:1: the sentence of the first row is empty"),
        ("EU\tX\n", {"sentence_column": 2}, "found 2 columns where the sentence is in column 2"),
    ],
)
def test_a_table_that_numbers_its_sentences_is_not_one_sentence(write, text, options, told):
    assert re.search(told, told_of(write("a.tsv", text), **options))


def test_columns_of_numbers_beside_sentences_are_not_read(write):
    path = write("a.tsv", "EU\t0\t1\tX\ncall\t0\t2\tO\n\nand\t1\t1\tO\n")
    assert len(list(TagColumns().read(path))) == 2
