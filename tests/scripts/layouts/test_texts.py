import random
import re

import pytest
from allennlp.common.checks import ConfigurationError

from scripts.layouts import texts
from scripts.layouts.texts import read_aapd, read_bgc, read_rcv1, read_rcv1_topics

BOOK = """<book date="2018-08-18" xml:lang="en">
<title>Salt &amp; Sail</title>
<body>Two sisters & a boat.</body>
<copyright>(c) Nobody</copyright>
<metadata>
<topics>
<d0>Fiction</d0><d1>Children&#8217;s Books</d1><d1>Sea Stories</d1>
</topics>
<author>A. Author</author>
</metadata>
</book>
"""


def books(tmp_path, content):
    (tmp_path / "a.txt").write_text(content, encoding="utf-8")
    return list(read_bgc(str(tmp_path / "a.txt")))


def test_title_body_and_genres_of_all_levels(tmp_path):
    first, second = books(tmp_path, BOOK + "\n" + BOOK.replace("<title>Salt &amp; Sail</title>\n", ""))
    # Ampersands are escaped here and there alone.
    assert first.text == "Salt & Sail Two sisters & a boat." and second.text == "Two sisters & a boat."
    assert first.labels == second.labels == ["Fiction", "Children\u2019s Books", "Sea Stories"]
    assert (first.source, second.source) == (f"{tmp_path}/a.txt:1", f"{tmp_path}/a.txt:13")


def test_a_body_over_several_lines(tmp_path):
    (found,) = books(tmp_path, BOOK.replace("Two sisters", "Two\nsisters"))
    assert found.words == "Salt & Sail Two sisters & a boat.".split()


@pytest.mark.parametrize(
    "content, message",
    [
        ("hello\n", r"a.txt:1: .*<book>"),
        (BOOK.replace("<body>Two sisters & a boat.</body>", ""), r"a.txt:1: .*body"),
        (BOOK.replace("d0>", "x>").replace("d1>", "x>"), r"a.txt:1: .*topic"),
        (BOOK.replace("Fiction", " &nbsp;"), r"a.txt:1: .*label"),
        (BOOK.replace("</book>", ""), r"a.txt:1: .*</book>"),
        (BOOK.replace("</book>", "") + BOOK, r"a.txt:12: .*line 1"),
        (2 * BOOK.replace("\n", ""), r"a.txt:1: .*two"),
    ],
)
def test_wrong_books(tmp_path, content, message):
    with pytest.raises(ConfigurationError, match=message):
        books(tmp_path, content)


def test_parts_are_those_that_patterns_find():
    """The obvious patterns, which take a minute for the book of the next test."""
    field, topic = re.compile(r"<(title|body)>(.*?)</\1>", re.DOTALL), re.compile(r"<d\d+>(.*?)</d\d+>")
    pieces, generator = "<body> </body> <title> </title> <d0> </d0> <d1> </d1> x \n".split(" "), random.Random(0)
    for _ in range(5000):
        book = "".join(generator.choices(pieces, k=generator.randint(0, 14)))
        assert list(texts._fields(book)) == field.findall(book)
        assert list(texts._genres(book)) == topic.findall(book)


@pytest.mark.parametrize("tag", ["<body>", "<title>", "<d0>"])
def test_a_book_of_tags_without_an_end(tmp_path, tag):
    (book,) = books(tmp_path, BOOK.replace("</book>", tag * 50000 + "\n</book>"))
    assert book.text == "Salt & Sail Two sisters & a boat."


TOKENS = ".I 2286\n.W\nrecov recov excit\nbring market\n\n.I 2287\n.W\nmexic\n"
TOPICS = "E11 2286 1\nECAT 2286 1\nM11 9 1\nM13 2287 1\n"


def rcv1_file(tmp_path, tokens=TOKENS, topics=TOPICS):
    (tmp_path / "rcv1-v2.topics.qrels").write_text(topics)
    (tmp_path / "a.dat").write_text(tokens)
    return str(tmp_path / "a.dat")


def test_documents_and_their_topics(tmp_path):
    path = rcv1_file(tmp_path)
    expected = [("recov recov excit bring market", ["E11", "ECAT"], f"{path}:1"), ("mexic", ["M13"], f"{path}:6")]
    assert list(read_rcv1(path)) == expected
    (tmp_path / "rcv1-v2.topics.qrels").rename(tmp_path / "elsewhere")
    assert list(read_rcv1(path, str(tmp_path / "elsewhere"))) == expected
    with pytest.raises(ConfigurationError, match="rcv1-v2.topics.qrels"):
        list(read_rcv1(path))


def test_a_folder_with_brackets_in_its_name(tmp_path):
    folder = tmp_path / "rcv1 [2004]"
    folder.mkdir()
    assert [text.labels for text in read_rcv1(rcv1_file(folder))] == [["E11", "ECAT"], ["M13"]]


def test_a_topic_that_was_judged_not_to_be_the_documents(tmp_path):
    first, second = read_rcv1(rcv1_file(tmp_path, topics="E11 2286 0\nECAT 2286 1\nM13 2287 1\nE11 2287 0\n"))
    assert first.labels == ["ECAT"] and second.labels == ["M13"]


@pytest.mark.parametrize(
    "tokens, topics, message",
    [
        (TOKENS, "E11\x7f 2286 1\n", r"a.dat:1: .*control character"),
        (".I 3\n.W\na\n", TOPICS, r"a.dat:1: .*3"),
        (".I 2286\nrecov\n", TOPICS, r"a.dat:2: .*'.W'"),
        (".I\n.W\n", TOPICS, r"a.dat:1: .*'.I'"),
        (TOKENS, "E11 2286\n", r"qrels:1: "),
        (TOKENS, "E11 2286 1\nE12 2286 -1\n", r"qrels:2: .*'E12 2286 -1'"),
        (TOKENS, "E11 2286 0\n", r"a.dat:1: .*2286"),
    ],
)
def test_wrong_lines_of_rcv1(tmp_path, tokens, topics, message):
    with pytest.raises(ConfigurationError, match=message):
        list(read_rcv1(rcv1_file(tmp_path, tokens, topics)))


def test_edges_of_rcv1s_topics(tmp_path):
    path = tmp_path / "rcv1.topics.hier.orig"
    path.write_text("parent: None   child: Root  child-description: Root\n\nparent: C15 child: C151 and more\n")
    assert list(read_rcv1_topics(str(path))) == ["None\tRoot", "C15\tC151"]
    path.write_text("parent: A child: B\nC\tD\n")
    with pytest.raises(ConfigurationError, match="orig:2: "):
        list(read_rcv1_topics(str(path)))


def aapd_files(tmp_path, texts, labels):
    (tmp_path / "text_val").write_text(texts)
    (tmp_path / "label_val").write_text(labels)
    return str(tmp_path / "text_val")


def test_lines_of_both_files_belong_together(tmp_path):
    path = aapd_files(tmp_path, "we study graphs \nwe prove it\n", "cs.it math.it cs.it\n\n")
    found = list(read_aapd(path))
    assert found == [("we study graphs", ["cs.it", "math.it"], f"{path}:1"), ("we prove it", [], f"{path}:2")]


def test_all_that_follows_in_a_name_is_that_of_the_labels(tmp_path):
    for name, content in (("text_train_a", "x\n"), ("label_train_a", "right\n"), ("label_a", "wrong\n")):
        (tmp_path / name).write_text(content)
    assert [text.labels for text in read_aapd(str(tmp_path / "text_train_a"))] == [["right"]]


@pytest.mark.parametrize(
    "texts, labels, message",
    [
        ("a\nb\n", "x\n", r"text_val:2: .*label_val"),
        ("a\n", "x\x7f\n", r"label_val:1: "),
        ("a\n", "x\ny\n", r"label_val:2: .*text_val"),
    ],
)
def test_wrong_lines_of_aapd(tmp_path, texts, labels, message):
    with pytest.raises(ConfigurationError, match=message):
        list(read_aapd(aapd_files(tmp_path, texts, labels)))


def test_other_names(tmp_path):
    with pytest.raises(ConfigurationError, match="'text_'"):
        list(read_aapd(str(tmp_path / "train")))
    (tmp_path / "text_train").write_text("a\n")
    with pytest.raises(ConfigurationError, match="label_train"):
        list(read_aapd(str(tmp_path / "text_train")))
