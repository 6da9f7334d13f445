import random
import re

import pytest
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.text_formats import blurbs
from seal.dataset_readers.text_formats.blurbs import read_blurbs

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


def read(tmp_path, content):
    (tmp_path / "a.txt").write_text(content, encoding="utf-8")
    return list(read_blurbs(str(tmp_path / "a.txt")))


def test_title_body_and_genres_of_all_levels(tmp_path):
    first, second = read(tmp_path, BOOK + "\n" + BOOK.replace("<title>Salt &amp; Sail</title>\n", ""))
    # Ampersands are escaped here and there alone.
    assert first.text == "Salt & Sail Two sisters & a boat." and second.text == "Two sisters & a boat."
    assert first.labels == second.labels == ["Fiction", "Children\u2019s Books", "Sea Stories"]
    assert (first.source, second.source) == (f"{tmp_path}/a.txt:1", f"{tmp_path}/a.txt:13")


def test_a_body_over_several_lines(tmp_path):
    (found,) = read(tmp_path, BOOK.replace("Two sisters", "Two\nsisters"))
    assert found.words == "Salt & Sail Two sisters & a boat.".split()


@pytest.mark.parametrize(
    "content, message",
    [
        ("hello\n", r"a.txt:1: expected <book>"),
        (BOOK.replace("<body>Two sisters & a boat.</body>", ""), r"a.txt:1: the <book> has no body"),
        (BOOK.replace("d0>", "x>").replace("d1>", "x>"), r"a.txt:1: the <book> has no topic"),
        (BOOK.replace("Fiction", " &nbsp;"), r"a.txt:1: the label is blank"),
        (BOOK.replace("</book>", ""), r"a.txt:1: the <book> has no </book>"),
        (BOOK.replace("</book>", "") + BOOK, r"a.txt:12: a <book> begins before that of line 1 ends"),
        (2 * BOOK.replace("\n", ""), r"a.txt:1: a line has two <book>s"),
    ],
)
def test_wrong_books(tmp_path, content, message):
    with pytest.raises(ConfigurationError, match=message):
        read(tmp_path, content)


def test_parts_are_those_that_patterns_find():
    """The obvious patterns, which take a minute for the book of the next test."""
    field, topic = re.compile(r"<(title|body)>(.*?)</\1>", re.DOTALL), re.compile(r"<d\d+>(.*?)</d\d+>")
    pieces, generator = "<body> </body> <title> </title> <d0> </d0> <d1> </d1> x \n".split(" "), random.Random(0)
    for _ in range(5000):
        book = "".join(generator.choices(pieces, k=generator.randint(0, 14)))
        assert list(blurbs._fields(book)) == field.findall(book)
        assert list(blurbs._topics(book)) == topic.findall(book)


@pytest.mark.parametrize("tag", ["<body>", "<title>", "<d0>"])
def test_a_book_of_tags_without_an_end(tmp_path, tag):
    (book,) = read(tmp_path, BOOK.replace("</book>", tag * 50000 + "\n</book>"))
    assert book.text == "Salt & Sail Two sisters & a boat."
