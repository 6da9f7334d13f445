import pytest
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.taxonomy_files import read_taxonomy_file


def read(tmp_path, content, labels=()):
    (tmp_path / "taxonomy.txt").write_text(content)
    return read_taxonomy_file(str(tmp_path / "taxonomy.txt")).with_labels(labels)


@pytest.mark.parametrize(
    "content",
    [
        "Root\tanimal\nanimal\tbird\tfish\n\nbird\towl\n",
        "animal\tbird\nanimal\tfish\nbird\towl\n",
        "None\tRoot\nRoot\tanimal\nanimal\tbird\nanimal\tfish\nbird\towl\n",
    ],
)
def test_three_ways_to_write_it(tmp_path, content):
    taxonomy = read(tmp_path, content)
    assert sorted(taxonomy.labels) == ["animal", "bird", "fish", "owl"]
    assert taxonomy.ancestors("owl") == ["animal", "bird"] and taxonomy.ancestors("animal") == []


def test_labels_without_an_edge(tmp_path):
    taxonomy = read(tmp_path, "a\tb\n", ["c", "a"])
    assert taxonomy.labels == ["c", "a", "b"] and taxonomy.ancestors("c") == []
    # BGC's file has two such lines, `Humor` and `Poetry`.
    taxonomy = read(tmp_path, "Funny Verse\na\tb\nHumor\nb\tc\n")
    assert taxonomy.labels == ["Funny Verse", "a", "b", "Humor", "c"] and taxonomy.ancestors("Humor") == []
    assert taxonomy.ancestors("c") == ["a", "b"]


def test_wrong_files(tmp_path):
    for content in ("a\tb\nc\t\n", "Root\nc\nd\n"):
        with pytest.raises(ConfigurationError, match="taxonomy.txt:2: expected a parent .* tabs between, found 'c'"):
            read(tmp_path, content)
    with pytest.raises(ConfigurationError, match="taxonomy.txt:1: the taxonomy is empty; a line is a parent, a tab"):
        read(tmp_path, "\n \n")


@pytest.mark.parametrize(
    "content, line, circle",
    [
        ("a\tb\nb\ta\n", 2, "'a' -> 'b' -> 'a'."),
        ("b\tc\n\nc\tx\tb\nb\tc\nc\td\n", 3, "'b' -> 'c' -> 'b'."),
        ("a\ta\n", 1, "'a' -> 'a'."),
        ("Root\ta\na\tRoot\n", 2, "'Root' is above all labels, and cannot be below 'a'."),
        ("a\tb\tnone\n", 1, "'none' is above all labels, and cannot be below 'a'."),
        (
            "None\tRoot\nRoot\ta\na\tRoot\n",
            3,
            "'Root' is above all labels, and cannot be below 'a'.",
        ),
    ],
)
def test_circles(tmp_path, content, line, circle):
    with pytest.raises(ConfigurationError) as error:
        read(tmp_path, content)
    path = tmp_path / "taxonomy.txt"
    assert error.value.message == f"{path}:{line}: The taxonomy goes round in a circle: {circle}"


def test_rcv1s_file_is_refused_with_the_way_to_convert_it(tmp_path):
    with pytest.raises(ConfigurationError, match="taxonomy.txt: RCV1.* `python scripts/convert.py rcv1-topics .*.txt"):
        read(tmp_path, "parent: None child: Root child-description: Root\n")
