import logging
import re

import pytest
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.label_scheme import LabelScheme, read_taxonomy_file
from tests.one_sentence import message_of


@pytest.fixture
def tree(write):
    return write("tree.txt", "Root\tanimal\nanimal\tdog\nanimal\tcat\n")


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


def test_the_list_comes_first_in_the_taxonomy(tree, write):
    scheme = LabelScheme(write("labels.txt", "stone\n\ndog\n"), tree, ancestors=False)
    assert scheme.names() == ["stone", "dog"]
    assert scheme.taxonomy().labels[:2] == ["stone", "dog"]


def test_what_the_list_lacks(tree, write):
    labels = write("labels.txt", "stone\ndog\n")
    with pytest.raises(ConfigurationError, match="a.jsonl:7: the label 'cat' is not in .*labels.txt"):
        LabelScheme(labels, tree, ancestors=False).complete(["cat"], "a.jsonl:7")
    with pytest.raises(ConfigurationError, match="the label 'animal', above 'dog', is not in .*labels.txt"):
        LabelScheme(labels, tree, ancestors=True).complete(["dog"], "a.jsonl:7")


def test_what_the_taxonomy_lacks(tree, caplog):
    scheme = LabelScheme(None, tree, ancestors=True)
    many = [f"Dog {number}" for number in range(10)]
    with pytest.raises(ConfigurationError, match="tree.txt: it has no label of a.jsonl, such as 'Dog 0'"):
        scheme.check_placed(many, "a.jsonl")
    with caplog.at_level(logging.WARNING, logger="seal.dataset_readers.label_scheme"):
        # A few labels, as evaluation data may have, can all stand alone.
        for labels in (["dog", *many], many[1:]):
            scheme.check_placed(labels, "a.jsonl")
    lacks = f"a.jsonl: {tree} lacks %s labels, such as '%s', which have no ancestors"
    assert caplog.messages == [lacks % ("10 of 11", "Dog 0"), lacks % ("9 of 9", "Dog 1")]


def test_a_taxonomy_is_judged_by_the_list_where_there_is_one(tree, write):
    some, none = (write(f"{number}.txt", content) for number, content in enumerate(("dog\nx\n", "Dog\nx\n")))
    LabelScheme(some, tree, ancestors=True).check_placed([f"x{number}" for number in range(10)], "a.jsonl")
    with pytest.raises(ConfigurationError, match="tree.txt: it has no label of .*1.txt, such as 'x'; set"):
        LabelScheme(none, tree, ancestors=True).check_placed(["x"], "a.jsonl")


@pytest.mark.parametrize(
    "content, message",
    [
        ("\n", "it lists no label"),
        ("dog\ncat\ndog\n", "labels.txt:3: the label 'dog' comes a second time"),
        ("dog\n\ncat\x7f\n", "labels.txt:3: the label begins or ends with a control character"),
    ],
)
def test_malformed_lists(write, content, message):
    with pytest.raises(ConfigurationError, match=message):
        LabelScheme(write("labels.txt", content), None, ancestors=False).names()


def test_ancestors_need_a_taxonomy():
    with pytest.raises(ConfigurationError, match="dataset_reader.ancestors"):
        LabelScheme(None, None, ancestors=True)


@pytest.fixture
def read(write):
    return lambda content: read_taxonomy_file(write("taxonomy.txt", content))


@pytest.mark.parametrize(
    "content",
    [
        "Root\tanimal\nanimal\tbird\tfish\n\nbird\towl\n",
        "animal\tbird\nanimal\tfish\nbird\towl\n",
        "None\tRoot\nRoot\tanimal\nanimal\tbird\nanimal\tfish\nbird\towl\n",
    ],
)
def test_three_ways_to_write_it(read, content):
    taxonomy = read(content)
    assert sorted(taxonomy.labels) == ["animal", "bird", "fish", "owl"]
    assert taxonomy.ancestors("owl") == ["animal", "bird"] and taxonomy.ancestors("animal") == []


def test_labels_without_an_edge(read):
    """BGC's file has two such lines, `Humor` and `Poetry`."""
    taxonomy = read("Funny Verse\na\tb\nHumor\nb\tc\n")
    assert taxonomy.labels == ["Funny Verse", "a", "b", "Humor", "c"] and taxonomy.ancestors("Humor") == []
    assert taxonomy.ancestors("c") == ["a", "b"]


NO_EDGE = "2: expected a parent and its children with tabs between, found 'c'."
CIRCLE = "The taxonomy goes round in a circle:"


@pytest.mark.parametrize(
    "content, told",
    [
        ("a\tb\nc\t\n", NO_EDGE),
        ("Root\nc\nd\n", NO_EDGE),
        ("\n \n", "1: the taxonomy is empty; a line is a parent, a tab and its child."),
        ("a\tb\nb\ta\n", f"2: {CIRCLE} 'a' -> 'b' -> 'a'."),
        ("b\tc\n\nc\tx\tb\nb\tc\nc\td\n", f"3: {CIRCLE} 'b' -> 'c' -> 'b'."),
        ("a\ta\n", f"1: {CIRCLE} 'a' -> 'a'."),
        ("Root\ta\na\tRoot\n", f"2: {CIRCLE} 'Root' is above all labels, and cannot be below 'a'."),
        ("a\tb\tnone\n", f"1: {CIRCLE} 'none' is above all labels, and cannot be below 'a'."),
        ("None\tRoot\nRoot\ta\na\tRoot\n", f"3: {CIRCLE} 'Root' is above all labels, and cannot be below 'a'."),
    ],
)
def test_wrong_files(read, tmp_path, content, told):
    assert message_of(read, content) == f"{tmp_path}/taxonomy.txt:{told}"


def test_rcv1s_file_is_refused_with_the_way_to_convert_it(read):
    told = message_of(read, "parent: None child: Root child-description: Root\n")
    assert re.search("taxonomy.txt: RCV1.* `python scripts/convert.py rcv1-topics .*.txt", told)
