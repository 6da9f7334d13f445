import pytest

from seal.tasks.multilabel.arff_labels import hierarchy_of, meka_columns, read_mulan_xml


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
    "relation, columns",
    [
        ("Music: -C 2", [0, 1]),
        ("'Music: -C -2 -split 30'", [3, 4]),
        ("x: -C 1-weka.filters.unsupervised.instance.Randomize-S42", [0]),
    ],
)
def test_meka_columns(relation, columns):
    assert meka_columns("f:1", relation, 5) == columns


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
