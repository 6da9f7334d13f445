import time

import networkx
import numpy
import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from seal.files import taxonomy as taxonomy_module
from seal.files.taxonomy import CircularTaxonomy, Taxonomy
from tests.one_sentence import message_of

DIAMOND = [("thing", "red"), ("thing", "round"), ("red", "apple"), ("round", "apple")]


def test_ancestors_of_a_forest_and_a_graph():
    taxonomy = Taxonomy(["apple", "thing", "red", "round", "alone"], DIAMOND + DIAMOND[:1])
    assert taxonomy.ancestors("apple") == ["thing", "red", "round"]
    assert taxonomy.ancestors("thing") == taxonomy.ancestors("alone") == []
    assert taxonomy.edges == [(1, 2), (1, 3), (2, 0), (3, 0)]


def test_further_labels_come_first_and_have_no_edge():
    taxonomy = Taxonomy(["apple", "thing", "red", "round"], DIAMOND).with_labels(["alone", "red"])
    assert taxonomy.labels == ["alone", "red", "apple", "thing", "round"]
    assert taxonomy.ancestors("apple") == ["red", "thing", "round"] and taxonomy.ancestors("alone") == []


def test_closes_rows():
    taxonomy = Taxonomy(["apple", "thing", "red", "round"], DIAMOND)
    rows = sparse.csr_array(numpy.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 1, 1, 0]], bool))
    closed = taxonomy.close(rows)
    assert closed.dtype == bool and closed.has_sorted_indices
    expected = [[1, 1, 1, 1], [0, 1, 1, 0], [0, 0, 0, 0], [0, 1, 1, 0]]
    numpy.testing.assert_array_equal(closed.toarray(), numpy.array(expected, bool))
    assert rows.nnz == 4


def test_a_long_circle_is_found_fast_and_told_in_short():
    names = [str(i) for i in range(20000)]
    start = time.process_time()
    with pytest.raises(CircularTaxonomy) as error:
        Taxonomy(names, zip(names, names[1:] + names[:1]))
    assert time.process_time() - start < 2 and len(error.value.edges) == 20000
    assert "(19995 more)" in error.value.message and len(error.value.message) < 200


def test_a_chain_with_too_many_ancestors(monkeypatch):
    monkeypatch.setattr(taxonomy_module, "MOST_PAIRS", 5050)
    names = [str(i) for i in range(101)]
    Taxonomy(names[:100], zip(names, names[1:100]))
    with pytest.raises(ConfigurationError, match="5,050.* 100"):
        Taxonomy(names, zip(names, names[1:]))


@pytest.mark.parametrize(
    "labels, edges, message",
    [
        (["a", "b", "a"], [], "'a'"),
        (["a"], [("a", "b")], "'b'"),
        (["a"], [("a", "a")], "'a' -> 'a'"),
        (
            ["t", "a", "b", "c"],
            [("t", "a"), ("a", "b"), ("b", "a"), ("b", "c")],
            "'a' -> 'b' -> 'a'",
        ),
    ],
)
def test_errors(labels, edges, message):
    assert message in message_of(Taxonomy, labels, edges)


@settings(max_examples=60, deadline=None)
@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14))
def test_agrees_with_networkx(pairs):
    graph = networkx.DiGraph()
    graph.add_nodes_from(map(str, range(8)))
    graph.add_edges_from((str(a), str(b)) for a, b in pairs)
    if not networkx.is_directed_acyclic_graph(graph):
        with pytest.raises(ConfigurationError, match="->") as error:
            Taxonomy(list(graph), graph.edges)
        edges = error.value.edges
        assert edges[0][0] == edges[-1][1] and all(graph.has_edge(*edge) for edge in edges)
        return
    taxonomy = Taxonomy(list(graph), graph.edges)
    for node in graph:
        assert taxonomy.ancestors(node) == sorted(networkx.ancestors(graph, node))
