import os
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seal.tasks.tagging.columns import TagColumns

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


def test_without_tags(write):
    path = write("x", "one\ntwo\n\nthree\n")
    first, second = TagColumns(tag_column=None).read(path)
    assert first.words == ["one", "two"] and first.tags is None and second.tags is None


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
    "name, content, options",
    [
        ("a.csv", "Sentence #,Word,POS,Tag\nSentence: 1,Ana,N,B-PER\n,sails,V,O\nSentence: 2,So,X,O\n", {}),
        ("a.csv", ",sentence_id,word,ner\n0,7,Ana,B-PER\n1,7,sails,O\n2,8,So,O\n", {}),
        ("a.tsv", "token\ttag\nAna\tB-PER\nsails\tO\n\nSo\tO\n", {}),
        ("a.tsv", "token\tner\tpos\nAna\tB-PER\tN\nsails\tO\tV\n\nSo\tO\tX\n", {"tag_column": 1}),
        ("a.txt", "pos Wort Art\nN Ana B-PER\nV sails O\n\nX So O\n", {"token_column": "Wort", "tag_column": "Art"}),
        ("a.txt", "word ner\nAna B-PER\nsails O\n\nSo O\n", {"columns": ["word", "ner"]}),
    ],
    ids=["numbered sentences", "pandas", "tabs", "by place", "by name", "names that are given, too"],
)
def test_a_header_names_the_columns(write, caplog, name, content, options):
    columns = TagColumns(**options)
    path = write(name, content)
    with caplog.at_level("INFO"):
        first, second = columns.read(path)
        list(columns.read(path))
    assert (first.words, first.tags) == (["Ana", "sails"], ["B-PER", "O"])
    assert (second.words, second.tags) == (["So"], ["O"])
    # Told once, also where a file is read twice.
    (told,) = (record.getMessage() for record in caplog.records)
    assert told.startswith(f"{path}: its first row names the columns: words in ")


@pytest.mark.parametrize("content", ["word\tNN\nsails\tV\n", "pos\tword\nsails\tword\n", "tag\ttag\n"])
def test_a_first_row_of_words_is_no_header(write, content):
    (sentence,) = TagColumns().read(write("a.tsv", content))
    assert len(sentence.words) == content.count("\n")


def test_conll_u_without_settings(write):
    first, second = TagColumns().read(write("a.conllu", CONLL_U))
    assert first.words == ["Do", "n't", "you", "#"] and first.tags == ["AUX", "PART", "PRON", "SYM"]
    (first, _) = TagColumns(tag_column=4).read(write("b.conllu", CONLL_U))
    assert first.tags == ["VBP", "RB", "PRP", "NN"]
