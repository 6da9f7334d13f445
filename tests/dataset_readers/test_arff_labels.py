import pytest

from seal.dataset_readers.arff_labels import hierarchy_of, meka_columns, read_mulan_xml
from tests.one_sentence import message_of


def test_reads_a_nested_xml(write):
    path = write(
        "labels.xml",
        '<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">\n'
        '<label name="animal">\n  <label name="b&amp;b"><label name="owl"/></label>\n'
        '  <label name="cat"></label></label>\n<label name="größe"/></labels>\n',
    )
    labels, edges = read_mulan_xml(path)
    assert list(labels.items()) == [("animal", 3), ("b&b", 4), ("owl", 4), ("cat", 5), ("größe", 6)]
    assert edges == [("animal", "b&b"), ("b&b", "owl"), ("animal", "cat")]


@pytest.mark.parametrize(
    "text, message",
    [
        ("<labels>\n<label name='a'/>\n<label name='a'/></labels>", ":3: the label 'a' comes a second time."),
        ("<labels>\n<label/></labels>", ":2: the <label> has no name."),
        ("<labels>\n<label name='a'></labels>", ":2: invalid XML (mismatched tag)."),
        ("", ":1: invalid XML (no element found)."),
        ("<labels/>", ":1: the XML names no <label>."),
        ("<!DOCTYPE x [\n<!ENTITY e 'ee'>]>\n<labels/>", ":2: the XML declares the entity 'e'."),
    ],
)
def test_xml_errors(write, text, message):
    path = write("labels.xml", text)
    assert message_of(read_mulan_xml, path) == path + message


@pytest.mark.parametrize(
    "relation, columns",
    [
        ("Music: -C 2", [0, 1]),
        ("'Music: -C -2 -split 30'", [3, 4]),
        ("x: -C 1-weka.filters.unsupervised.instance.Randomize-S42", [0]),
    ],
)
def test_meka_columns(relation, columns):
    assert meka_columns("f:1", relation, 5) == columns


@pytest.mark.parametrize(
    "relation, message",
    [
        ("r", "f:1: nothing says which attributes are labels"),
        ("r -c 3", "f:1: nothing says which attributes are labels"),
        ("r: -C 0", "f:1: the relation says '-C 0', but the file has 5 attributes."),
        ("r: -C -5", "f:1: the relation says '-C -5', but the file has 5 attributes."),
        ("M: -C 2-weka.filters.unsupervised.attribute.Remove-R1-2", "f:1: the relation says '-C 2', but its"),
        ("M: -C 2 -I 0_M: -C 2 -I 0", "f:1: the relation says '-C 2', but its name also tells"),
    ],
)
def test_meka_errors(relation, message):
    assert message_of(meka_columns, "f:1", relation, 5).startswith(message)


def test_a_tree_adds_what_it_does_not_list():
    taxonomy = hierarchy_of("f:1", ["01/02/03", "01/04", "05"])
    assert taxonomy.labels == ["01", "01/02", "01/02/03", "01/04", "05"]
    assert taxonomy.edges == [(0, 1), (0, 3), (1, 2)]


def test_a_graph_lists_edges():
    listed = ["root/a", "root/b", "a/c", "b/c"]
    taxonomy = hierarchy_of("f:1", listed)
    assert taxonomy.labels == ["a", "b", "c"] and taxonomy.edges == [(0, 2), (1, 2)]
    assert taxonomy.ancestors("c") == ["a", "b"]
    assert hierarchy_of("f:1", ["a/c", "b/c"]).labels == ["a", "a/c", "b", "b/c"]
    assert hierarchy_of("f:1", ["a/c", "b/c"], "graph").labels == ["a", "c", "b"]
    assert hierarchy_of("f:1", listed, "tree").labels[0] == "root"


@pytest.mark.parametrize(
    "nodes, kind, message",
    [
        (["a", "a//b"], "auto", "f:1: the hierarchy has the entry 'a//b' with an empty part."),
        # The names of its nodes would take gigabytes.
        (
            ["a", "/".join(["a"] * 100000)],
            "auto",
            "f:1: the hierarchy has an entry of 100,000 levels, and at most 100 are read; correct it.",
        ),
        (["a/b", "c"], "graph", "f:1: the hierarchy has the entry 'c', which is not 'parent/child'."),
        (["root/a", "a/b", "b/a"], "auto", "f:1: The taxonomy goes round in a circle: 'a' -> 'b' -> 'a'."),
        (["root/a", "a/root"], "auto", "f:1: the hierarchy puts 'root' below another node."),
    ],
)
def test_hierarchy_errors(nodes, kind, message):
    assert message_of(hierarchy_of, "f:1", nodes, kind) == message
