import pytest
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.text_formats import TextOptions
from seal.dataset_readers.text_formats.indexed_tsv import read_indexed_tsv

NAMES = ["joy", "fear"]


def read(tmp_path, content, names=NAMES):
    path = tmp_path / "a.tsv"
    path.write_text(content, encoding="utf-8")
    return list(read_indexed_tsv(str(path), TextOptions(label_names=names)))


def test_texts_with_and_without_ids(tmp_path):
    for tail in ("", "\tid"):
        found = read(tmp_path, f'She said "oh" 😝\t1,0{tail}\r\n\nbad\t{tail}\n')
        assert [(text.text, text.labels) for text in found] == [('She said "oh" 😝', ["fear", "joy"]), ("bad", [])]


@pytest.mark.parametrize(
    "content, message",
    [
        ("a\n", r"a.tsv:1: expected a text, .* found 1 column\."),
        ("a\t1\tb\tc\n", r"a.tsv:1: expected a text, .* found 4 columns"),
        ("a\t1\tx\nb\t1\n", r"a.tsv:2: found 2 columns, and 3 in the first line"),
        ("a\t1\nb\t0,2\n", r"a.tsv:2: there is no label 2; dataset_reader.labels lists 2, 0 to 1"),
        ("a\t" + "1" * 5000 + "\n", r"a.tsv:1: there is no label 1{40}; dataset_reader.labels lists 2, 0 to 1"),
        ("a\tfear\n", r"a.tsv:1: the labels must be numbers from 0, .* set dataset_reader.format to 'tsv'"),
        ("a\t-1\n", r"a.tsv:1: the labels must be numbers from 0"),
    ],
)
def test_wrong_lines(tmp_path, content, message):
    with pytest.raises(ConfigurationError, match=message):
        read(tmp_path, content)


def test_numbers_need_names(tmp_path):
    with pytest.raises(ConfigurationError, match="its labels are numbers; name the file"):
        read(tmp_path, "a\t1\n", None)
