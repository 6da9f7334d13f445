import pytest
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.text_formats import TextOptions, format_of
from seal.dataset_readers.text_formats.comma_separated import read_csv


def read(tmp_path, content, options=TextOptions()):
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode())
    assert format_of(str(path)) == "csv"
    return [(text.text, text.labels, text.source.rpartition(":")[2]) for text in read_csv(str(path), options)]


def test_texts_with_labels(tmp_path):
    content = 'id,text,labels\r\n1,"wind,\r\nand ""rain""","storm, flood"\r\n2,sun,\r\n'
    expected = [('wind,\r\nand "rain"', ["storm", "flood"], "2"), ("sun", [], "4")]
    assert read(tmp_path, content) == expected


def test_texts_of_several_columns_are_joined(tmp_path):
    content = "title;body;label\nOh;no;a\n"
    assert read(tmp_path, content, TextOptions(text_keys=("title", "body"))) == [("Oh no", ["a"], "2")]


@pytest.mark.parametrize(
    "content, told",
    [
        ("text,kind\na,b\n", "a.csv:1: no column is called labels or label or doc_label; .* has 'text', 'kind'"),
        ("words,labels\na,b\n", "a.csv:2: the object has none of text, token"),
        ("text,labels\na,\"['x']\"\n", "a.csv:2: .* looks like a Python list"),
        ('text,labels\na,"x,x"\n', "a.csv:2: the label 'x' comes a second time"),
    ],
)
def test_mistakes_are_told_with_their_line(tmp_path, content, told):
    with pytest.raises(ConfigurationError, match=told):
        read(tmp_path, content)
