import logging

import pytest
from allennlp.common.checks import ConfigurationError

from seal.tasks.text.label_scheme import LabelScheme, read_taxonomy_file


@pytest.fixture
def tree(write):
    return write("tree.txt", "Root\tanimal\nanimal\tdog\nanimal\tcat\n")


def test_what_the_list_lacks(tree, write):
    labels = write("labels.txt", "stone\ndog\n")
    with pytest.raises(ConfigurationError, match="a.jsonl:7: .*'cat'.*labels.txt"):
        LabelScheme(labels, tree, ancestors=False).complete(["cat"], "a.jsonl:7")
    with pytest.raises(ConfigurationError, match="'animal'.*'dog'"):
        LabelScheme(labels, tree, ancestors=True).complete(["dog"], "a.jsonl:7")


def test_what_the_taxonomy_lacks(tree, caplog):
    scheme = LabelScheme(None, tree, ancestors=True)
    many = [f"Dog {number}" for number in range(10)]
    with pytest.raises(ConfigurationError, match="tree.txt: .*a.jsonl.*'Dog 0'"):
        scheme.check_placed(many, "a.jsonl")
    with caplog.at_level(logging.WARNING, logger="seal.tasks.text.label_scheme"):
        # A few labels, as evaluation data may have, can all stand alone.
        for labels in (["dog", *many], many[1:]):
            scheme.check_placed(labels, "a.jsonl")
    assert ["10 of 11" in caplog.messages[0], "9 of 9" in caplog.messages[1]] == [True, True]


def test_a_taxonomy_is_judged_by_the_list_where_there_is_one(tree, write):
    some, none = (write(f"{number}.txt", content) for number, content in enumerate(("dog\nx\n", "Dog\nx\n")))
    LabelScheme(some, tree, ancestors=True).check_placed([f"x{number}" for number in range(10)], "a.jsonl")
    with pytest.raises(ConfigurationError, match="tree.txt: .*1.txt.*'x'"):
        LabelScheme(none, tree, ancestors=True).check_placed(["x"], "a.jsonl")


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
