from seal.tasks.multilabel.arff_labels import hierarchy_of


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
