import pytest
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.text_formats import TextOptions
from seal.dataset_readers.text_formats.lyrl import read_lyrl

TOKENS = ".I 2286\n.W\nrecov recov excit\nbring market\n\n.I 2287\n.W\nmexic\n"
TOPICS = "E11 2286 1\nECAT 2286 1\nM11 9 1\nM13 2287 1\n"


def write(tmp_path, tokens=TOKENS, topics=TOPICS):
    (tmp_path / "rcv1-v2.topics.qrels").write_text(topics)
    (tmp_path / "a.dat").write_text(tokens)
    return str(tmp_path / "a.dat")


def test_documents_and_their_topics(tmp_path):
    path = write(tmp_path)
    expected = [("recov recov excit bring market", ["E11", "ECAT"], f"{path}:1"), ("mexic", ["M13"], f"{path}:6")]
    assert list(read_lyrl(path)) == expected
    (tmp_path / "rcv1-v2.topics.qrels").rename(tmp_path / "elsewhere")
    assert list(read_lyrl(path, TextOptions(topics=str(tmp_path / "elsewhere")))) == expected
    with pytest.raises(ConfigurationError, match="there is no rcv1-v2.topics.qrels beside it"):
        list(read_lyrl(path))


def test_a_folder_with_brackets_in_its_name(tmp_path):
    folder = tmp_path / "rcv1 [2004]"
    folder.mkdir()
    assert [text.labels for text in read_lyrl(write(folder))] == [["E11", "ECAT"], ["M13"]]


def test_a_topic_that_was_judged_not_to_be_the_documents(tmp_path):
    first, second = read_lyrl(write(tmp_path, topics="E11 2286 0\nECAT 2286 1\nM13 2287 1\nE11 2287 0\n"))
    assert first.labels == ["ECAT"] and second.labels == ["M13"]


@pytest.mark.parametrize(
    "tokens, topics, message",
    [
        (TOKENS, "E11\x7f 2286 1\n", r"a.dat:1: the label begins or ends with a control character"),
        (".I 3\n.W\na\n", TOPICS, r"a.dat:1: the document 3 has no topic"),
        ("recov\n", TOPICS, r"a.dat:1: expected '.I' or '.W' before words"),
        (".I 2286\nrecov\n", TOPICS, r"a.dat:2: expected '.I' or '.W' before words"),
        (".I\n.W\n", TOPICS, r"a.dat:1: expected '.I' and a document's number"),
        (TOKENS, "E11 2286\n", r"qrels:1: expected a topic, a document and 1"),
        (TOKENS, "E11 2286 1\nE12 2286 -1\n", r"qrels:2: expected a topic, .* found 'E12 2286 -1'"),
        (TOKENS, "E11 2286 0\n", r"a.dat:1: the document 2286 has no topic"),
    ],
)
def test_wrong_lines(tmp_path, tokens, topics, message):
    with pytest.raises(ConfigurationError, match=message):
        list(read_lyrl(write(tmp_path, tokens, topics)))
