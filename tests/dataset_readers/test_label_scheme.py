import logging

import pytest
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.label_scheme import LabelScheme


def write(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    return str(tmp_path / name)


@pytest.fixture
def tree(tmp_path):
    return write(tmp_path, "tree.txt", "Root\tanimal\nanimal\tdog\nanimal\tcat\n")


def test_neither_list_nor_taxonomy():
    scheme = LabelScheme(None, None, ancestors=False)
    assert scheme.names() is None and scheme.taxonomy() is None
    assert scheme.complete(["dog"], "a.jsonl:1") == ["dog"]
    scheme.check_placed(["dog"], "a.jsonl")


def test_files_are_read_when_needed(tmp_path):
    scheme = LabelScheme(str(tmp_path / "none.txt"), str(tmp_path / "neither.txt"), ancestors=True)
    with pytest.raises(ConfigurationError, match="none.txt"):
        scheme.names()


def test_ancestors_are_added_once(tree):
    scheme = LabelScheme(None, tree, ancestors=True)
    assert scheme.complete(["cat", "dog"], "a.jsonl:1") == ["cat", "dog", "animal"]
    assert scheme.complete(["stone"], "a.jsonl:2") == ["stone"]


def test_the_list_comes_first_in_the_taxonomy(tree, tmp_path):
    scheme = LabelScheme(write(tmp_path, "labels.txt", "stone\n\ndog\n"), tree, ancestors=False)
    assert scheme.names() == ["stone", "dog"]
    assert scheme.taxonomy().labels[:2] == ["stone", "dog"]


def test_what_the_list_lacks(tree, tmp_path):
    labels = write(tmp_path, "labels.txt", "stone\ndog\n")
    with pytest.raises(ConfigurationError, match="a.jsonl:7: the label 'cat' is not in .*labels.txt"):
        LabelScheme(labels, tree, ancestors=False).complete(["cat"], "a.jsonl:7")
    with pytest.raises(ConfigurationError, match="the label 'animal', above 'dog', is not in .*labels.txt"):
        LabelScheme(labels, tree, ancestors=True).complete(["dog"], "a.jsonl:7")


def test_what_the_taxonomy_lacks(tree, caplog):
    scheme = LabelScheme(None, tree, ancestors=True)
    with pytest.raises(ConfigurationError, match="tree.txt: it has no label of a.jsonl, such as 'Dog'"):
        scheme.check_placed(["Dog", "Cat"], "a.jsonl")
    with caplog.at_level(logging.WARNING, logger="seal.dataset_readers.label_scheme"):
        scheme.check_placed(["dog", "Cat"], "a.jsonl")
    assert "lacks 1 of 2 labels, such as 'Cat'" in caplog.text


@pytest.mark.parametrize(
    "content, message",
    [("\n", "it lists no label"), ("dog\ncat\ndog\n", "labels.txt:3: the label 'dog' comes a second time")],
)
def test_malformed_lists(tmp_path, content, message):
    with pytest.raises(ConfigurationError, match=message):
        LabelScheme(write(tmp_path, "labels.txt", content), None, ancestors=False).names()


def test_ancestors_need_a_taxonomy():
    with pytest.raises(ConfigurationError, match="dataset_reader.ancestors"):
        LabelScheme(None, None, ancestors=True)
