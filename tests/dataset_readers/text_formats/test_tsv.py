import time

import pytest
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.text_formats.labelled_text import labels_of
from seal.dataset_readers.text_formats.tsv import read_tsv


def read(tmp_path, content):
    path = tmp_path / "a.tsv"
    path.write_text(content, encoding="utf-8")
    return list(read_tsv(str(path)))


def test_texts_with_and_without_ids(tmp_path):
    for tail in ("", "\tid"):
        found = read(tmp_path, f'She said "oh" 😝\tjoy, great fear{tail}\r\n\nbad\t{tail}\n5\t5{tail}\n')
        texts = [('She said "oh" 😝', ["joy", "great fear"]), ("bad", []), ("5", ["5"])]
        assert [(text.text, text.labels) for text in found] == texts
    assert [text.source.rpartition(":")[2] for text in found] == ["1", "3", "4"]


@pytest.mark.parametrize(
    "content, message",
    [
        ("a\n", r"a.tsv:1: expected a text, its labels and perhaps an id, with tabs between, found 1 column\."),
        ("a\tx\tb\tc\n", r"a.tsv:1: expected a text, .* found 4 columns"),
        ("Text\tlabels\tid\na\tx\t1\n", r"a.tsv:1: this line is a header, .*; remove it\."),
        ("id\ttext\tlabels\n1\ta\tx\n", r"a.tsv:1: this line is a header"),
        ("a\tx\nb\n", r"a.tsv:2: found 1 column, and 2 in the first line"),
        ("a\tx\nb\tx,\n", r"a.tsv:2: a label is empty; names have one comma between, found 'x,'"),
        ("a\tx,,y\n", r"a.tsv:1: a label is empty"),
        ("a\tx\n\nb\ty, x,y\n", r"a.tsv:3: the label 'y' comes a second time"),
        ("a\tx,y\x7f\n", r"a.tsv:1: the label begins or ends with a control character"),
    ],
)
def test_wrong_lines(tmp_path, content, message):
    with pytest.raises(ConfigurationError, match=message):
        read(tmp_path, content)


def test_a_cell_of_many_labels():
    names = [str(number) for number in range(60000)]
    start = time.process_time()
    assert labels_of(",".join(names), "f:1") == names
    assert time.process_time() - start < 2
