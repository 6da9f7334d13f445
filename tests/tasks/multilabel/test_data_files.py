import glob
import os

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from seal.tasks.multilabel.data_files import read_multilabel
from tests.one_sentence import message_of

# An attribute of each kind, and three rows.
HEADER = (
    "@relation r\n@attribute red {0,1}\n@attribute w real\n@attribute big {YES,NO}\n@attribute id string\n"
    "@attribute soft {TRUE, FALSE}\n@attribute shape {disc,cube,rod}\n@data\n"
)
ROWS = "1,0.5,NO,'one',TRUE,cube\n0,?,YES,'two',?,disc\n1,2.5,YES,'three',FALSE,?\n"


def array(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def test_labels_by_xml_wherever_they_stand(write):
    path = write("train.arff", HEADER + ROWS)
    xml = write("l.xml", '<labels><label name="big"/><label name="red"/></labels>')
    data = read_multilabel(path, label_xml=xml, drop_attributes=["id"])
    assert data.label_names == ["big", "red"] and data.taxonomy is None
    assert data.labels.dtype == bool and data.labels.has_sorted_indices
    assert data.labels.toarray().astype(int).tolist() == [[0, 1], [1, 0], [1, 1]]
    assert data.feature_names == ["w", "soft", "shape=disc", "shape=cube", "shape=rod"]
    assert data.features.dtype == numpy.float32
    means = [1.5, 0.5, 0.5, 0.5, 0]
    assert data.features.tolist() == [[0.5, 1, 0, 1, 0], [1.5, 0.5, 1, 0, 0], [2.5, 0, 0.5, 0.5, 0]]
    assert data.means.tolist() == means and list(data.source) == [f"{path}:{n}" for n in (9, 10, 11)]
    lines = {"w": 3, "soft": 6, "shape=disc": 7, "shape=cube": 7, "shape=rod": 7, "red": 2, "big": 4}
    assert data.wheres == {name: f"{path}:{line}" for name, line in lines.items()}


def test_sparse_rows_mean_the_same_as_dense_ones(write):
    # What a sparse row leaves out is the first value of a list: YES, TRUE and disc here.
    rows = "{0 1,1 0.5,2 NO,3 one,5 cube}\n{1 ?,3 two,4 ?}\n{0 1,1 2.5,3 three,4 FALSE,5 ?}\n"
    options = dict(labels=["red", "big"], drop_attributes=["id"])
    dense = read_multilabel(write("train.arff", HEADER + ROWS), **options)
    thin = read_multilabel(write("thin.arff", HEADER + rows), **options)
    assert sparse.issparse(thin.features) and thin.features.dtype == numpy.float32
    numpy.testing.assert_array_equal(thin.features.toarray(), dense.features)
    numpy.testing.assert_array_equal(thin.labels.toarray(), dense.labels.toarray())
    numpy.testing.assert_array_equal(thin.means, dense.means)
    assert thin.feature_names == dense.feature_names
    both = read_multilabel([source.rpartition(":")[0] for source in (thin.source[0], dense.source[0])], **options)
    numpy.testing.assert_array_equal(array(both.features), numpy.concatenate([dense.features] * 2))
    assert list(both.source) == [*thin.source, *dense.source] and both.labels.shape == (6, 2)


def test_missing_values(write):
    text = "@attribute a real\n@attribute b real\n@attribute l {0,1}\n@data\n"
    train = write("train.arff", text + "1,?,0\n?,?,1\n4,?,1\n")
    test = write("test.arff", text + "?,7,0\n9,?,0\n")
    first = read_multilabel(train, labels=["l"])
    assert first.features.tolist() == [[1, 0], [2.5, 0], [4, 0]]
    assert read_multilabel(test, labels=["l"], statistics=first).features.tolist() == [[2.5, 7], [9, 0]]
    assert read_multilabel(test, labels=["l"]).features.tolist() == [[9, 7], [9, 7]]
    zero = read_multilabel(test, labels=["l"], missing="zero", statistics=first)
    assert zero.features.tolist() == [[0, 7], [9, 0]] and zero.means.tolist() == [2.5, 0]


def test_means_go_by_name(write):
    train = write(
        "train.arff", "@attribute a real\n@attribute b {x,y,z}\n@attribute l {0,1}\n@data\n1,x,0\n4,y,1\n4,y,1\n"
    )
    rows = "@attribute l {0,1}\n@attribute b {z,y,x}\n@attribute a real\n@data\n1,?,?\n"
    first = read_multilabel(train, labels=["l"])
    found = read_multilabel(write("test.arff", rows), labels=["l"], statistics=first)
    assert found.feature_names == ["b=z", "b=y", "b=x", "a"]
    assert found.features[0].tolist() == found.means.tolist() == pytest.approx([0, 2 / 3, 1 / 3, 3])
    for old, new, line, name in (
        ("z,y,x", "z,y,x,w", 2, "'b=w'"),
        ("z,y,x", "z,y", 1, "'b=x'"),
        (" a ", " c ", 3, "'c'"),
        (" l ", " l {0,1}\n@attribute k ", 2, "'k'"),
    ):
        path = write("test.arff", rows.replace(old, new).replace("?,?", "0,?,?" if "k" in name else "?,?"))
        labels = ["l", "k"] if "k" in name else ["l"]
        told = message_of(read_multilabel, path, labels=labels, statistics=first)
        assert told.startswith(f"{path}:{line}: ") and name in told and train in told


def test_labels_by_meka(write):
    body = "@attribute a numeric\n@attribute b numeric\n@attribute c numeric\n@data\n1,0,1\n0,1,1\n"
    first = read_multilabel(write("train.arff", "@relation 'x: -C 2'\n" + body))
    assert first.label_names == ["a", "b"] and first.feature_names == ["c"]
    assert first.labels.toarray().tolist() == [[True, False], [False, True]]
    last = read_multilabel(write("train.arff", "@relation 'x: -C -1'\n" + body))
    assert last.label_names == ["c"] and last.features.tolist() == [[1, 0], [0, 1]]


def test_hierarchical_labels_with_their_ancestors(write):
    head = "@attribute x real\n@attribute class hierarchical {}\n@data\n"
    data = read_multilabel(write("train.arff", head.format("1,1/2,1/2/3,4") + "1,1/2/3@4\n{1 4}\n0,1\n"))
    assert data.label_names == data.taxonomy.labels == ["1", "1/2", "1/2/3", "4"]
    assert data.labels.toarray().astype(int).tolist() == [[1, 1, 1, 1], [0, 0, 0, 1], [1, 0, 0, 0]]
    data = read_multilabel(write("train.arff", head.format("root/a,root/b,a/c,b/c") + "1,c\n1,a\n"))
    assert data.label_names == ["a", "b", "c"] and data.taxonomy.edges == [(0, 2), (1, 2)]
    assert data.labels.toarray().astype(int).tolist() == [[1, 1, 1], [1, 0, 0]]


def test_a_nested_xml_gives_a_taxonomy(write):
    xml = write("l.xml", '<labels><label name="red"><label name="big"/></label></labels>')
    data = read_multilabel(write("train.arff", HEADER + ROWS), label_xml=xml, drop_attributes=["id"])
    assert data.taxonomy.edges == [(0, 1)]
    # As the file has them: the second row is big, but not red.
    assert data.labels.toarray().astype(int).tolist() == [[1, 0], [0, 1], [1, 1]]


def test_a_dropped_hierarchical_attribute_gives_no_label(write):
    head = "@relation 'x: -C 1'\n@attribute a {0,1}\n@attribute class hierarchical 1,1/2\n@attribute b real\n@data\n"
    path = write("train.arff", head + "1,1/2,0.5\n")
    data = read_multilabel(path)
    assert data.label_names == ["1", "1/2"] and data.feature_names == ["a", "b"] and data.wheres["1/2"] == f"{path}:3"
    assert data.labels.toarray().tolist() == [[True, True]]
    data = read_multilabel(path, drop_attributes=["class"])
    assert data.label_names == ["a"] and data.feature_names == ["b"] and data.labels.toarray().tolist() == [[True]]


def test_files_of_a_split_must_agree(write):
    path, options = write("train.arff", HEADER + ROWS), dict(labels=["red", "big"], drop_attributes=["id"])
    # What is dropped need not agree.
    named = write("named.arff", HEADER.replace("id string", "key string") + ROWS)
    assert len(read_multilabel([path, named], **options).source) == 6
    other = write("other.arff", HEADER.replace("{YES,NO}", "{NO,YES}") + ROWS)
    short = write("short.arff", "@attribute red {0,1}\n@data\n1\n")
    for wrong, place in ((other, ":4: "), (short, ":1: ")):
        told = message_of(read_multilabel, [path, wrong], **options)
        assert told.startswith(wrong + place) and path in told


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_agrees_with_a_slow_obvious_reading(write, data):
    """Random tables, dense and sparse, against one value at a time."""
    lists = [["0", "1"], ["YES", "NO"], ["true", "false"], ["1"], ["a", "b", "1"], None]
    kinds = data.draw(st.lists(st.sampled_from(lists), min_size=1, max_size=5))
    value = {id(kind): st.just("?") | (st.sampled_from(kind) if kind else st.sampled_from(["0", "3", "-1"]))
             for kind in kinds}  # fmt: skip
    rows = [[data.draw(value[id(kind)]) for kind in kinds] for _ in range(data.draw(st.integers(1, 4)))]
    gold = [data.draw(st.sampled_from(["NO", "YES"])) for _ in rows]
    types = ["{" + ",".join(kind) + "}" if kind else "real" for kind in kinds]
    lines = [f"@attribute f{i} {word}" for i, word in enumerate(types)]
    lines += ["@attribute l {YES,NO}", "@data"]
    thin = data.draw(st.booleans())
    for row, label in zip(rows, gold):
        cells = [*row, label]
        firsts = [kind[0] if kind else "0" for kind in kinds] + ["YES"]
        kept = [f"{i} {cell}" for i, (cell, first) in enumerate(zip(cells, firsts)) if cell != first]
        lines.append("{" + ",".join(kept) + "}" if thin else ",".join(cells))
    columns = []
    for i, kind in enumerate(kinds):
        cells = [row[i] for row in rows]
        if kind is None:
            columns.append([None if cell == "?" else float(cell) for cell in cells])
        else:
            for one in kind if kind == ["a", "b", "1"] else [["1", "YES", "true"]]:
                columns.append([None if cell == "?" else float(cell in one) for cell in cells])
    for column in columns:
        known = [cell for cell in column if cell is not None]
        mean = float(numpy.float32(sum(known) / len(known))) if known else 0.0
        column[:] = [mean if cell is None else cell for cell in column]
    found = read_multilabel(write("train.arff", "\n".join(lines)), labels=["l"])
    assert array(found.features).T.tolist() == columns
    assert found.labels.toarray()[:, 0].tolist() == [label == "YES" for label in gold]


# Rows of train, valid and test; columns of features; labels; whether sparse; labels a row in train.
REAL = {
    "bibtex": ((4433, 1487, 1475), 1836, 159, True),
    "delicious": ((9663, 3215, 3213), 500, 983, True),
    # 1186 attributes, of which one is the identifier.
    "genbase": ((398, 132, 132), 1185, 27, False),
    "enron": ((1023, 344, 335), 1001, 53, True),
    "medical": ((587, 196, 195), 1449, 45, True),
    "yeast": ((1456, 476, 485), 103, 14, False),
    "corel5k": ((2988, 995, 1017), 499, 374, True),
    # 551 and 80 attributes, of which two and one become a column for each of five values.
    "expr_fun": ((1639, 849, 1291), 559, 499, False),
    "spo_fun": ((1600, 837, 1266), 84, 499, False),
}


@pytest.mark.parametrize("name", REAL)
def test_real_data(name):
    folder = os.path.join("data", name)
    if not os.path.isdir(folder):
        pytest.skip(f"{folder} is not there (public data that this repository does not carry)")
    rows, features, labels, thin = REAL[name]
    xml = (glob.glob(os.path.join(folder, "*.xml")) or [None])[0]
    options = dict(label_xml=xml, drop_attributes=["protein"] if name == "genbase" else [])
    train = None
    for part, number in zip(("train", "valid", "test"), rows):
        (path,) = glob.glob(os.path.join(folder, f"*{part}.arff"))
        names = "number" if name == "expr_fun" else "error"
        data = read_multilabel(path, statistics=train, repeated_names=names, **options)
        train = train or data
        assert data.features.shape == (number, features) and sparse.issparse(data.features) == thin
        assert data.labels.shape == (number, labels) and len(data.source) == number
        assert numpy.isfinite(data.features.data if thin else data.features).all()
        assert data.labels.sum(axis=1).mean() > 1
        if data.taxonomy is not None:
            assert len(data.taxonomy.edges) == 481
            assert (data.taxonomy.close(data.labels) != data.labels).nnz == 0
    assert (train.taxonomy is not None) == name.endswith("_fun")
