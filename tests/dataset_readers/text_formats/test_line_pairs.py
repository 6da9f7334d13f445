import pytest
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.text_formats.line_pairs import read_line_pairs


def write(tmp_path, texts, labels):
    (tmp_path / "text_val").write_text(texts)
    (tmp_path / "label_val").write_text(labels)
    return str(tmp_path / "text_val")


def test_lines_of_both_files_belong_together(tmp_path):
    path = write(tmp_path, "we study graphs \nwe prove it\n", "cs.it math.it cs.it\n\n")
    found = list(read_line_pairs(path))
    assert found == [("we study graphs", ["cs.it", "math.it"], f"{path}:1"), ("we prove it", [], f"{path}:2")]


def test_all_that_follows_in_a_name_is_that_of_the_labels(tmp_path):
    for name, content in (("text_train_a", "x\n"), ("label_train_a", "right\n"), ("label_a", "wrong\n")):
        (tmp_path / name).write_text(content)
    assert [text.labels for text in read_line_pairs(str(tmp_path / "text_train_a"))] == [["right"]]


@pytest.mark.parametrize(
    "texts, labels, message",
    [
        ("a\nb\n", "x\n", r"text_val:2: .*label_val has no such line"),
        ("a\n", "x\x7f\n", r"label_val:1: the label begins or ends with a control character"),
        ("a\n", "x\ny\n", r"label_val:2: .*text_val has no such line"),
    ],
)
def test_wrong_lines(tmp_path, texts, labels, message):
    with pytest.raises(ConfigurationError, match=message):
        list(read_line_pairs(write(tmp_path, texts, labels)))


def test_other_names(tmp_path):
    with pytest.raises(ConfigurationError, match="starts with 'text_', that of its labels with 'label_'"):
        list(read_line_pairs(str(tmp_path / "train")))
    (tmp_path / "text_train").write_text("a\n")
    with pytest.raises(ConfigurationError, match="label_train: there is no such file"):
        list(read_line_pairs(str(tmp_path / "text_train")))
