import numpy
import pytest
from allennlp.common.checks import ConfigurationError
from scipy import sparse

from seal.dataset_readers.arff import Attribute, read_arff, read_header
from seal.dataset_readers.column_plan import (
    ColumnPlan,
    fill_missing,
    hierarchy_of,
    is_binary,
    meka_columns,
    read_mulan_xml,
)
from seal.files import kept_arrays
from tests.attributes_of_all_kinds import HEADER, ROWS, write

XML = '<labels>\n<label name="red"/>\n<label name="big"/>\n</labels>\n'


def plan_of(path, label_xml=None, labels=None, drop_attributes=(), hierarchy="auto"):
    (table,) = read_arff(path)
    return ColumnPlan(table, label_xml, labels, drop_attributes, hierarchy), table


def message_of(call, *args, **options):
    with pytest.raises(ConfigurationError) as error:
        call(*args, **options)
    assert "\n" not in error.value.message and error.value.message.endswith(".")
    return error.value.message


def test_labels_stand_in_their_own_order_and_features_in_the_files(tmp_path):
    path = write(tmp_path, HEADER + ROWS)
    plan, table = plan_of(path, labels=["big", "red"], drop_attributes=["id"])
    assert plan.label_names == ["big", "red"] and plan.features == [1, 4, 5] and plan.taxonomy is None
    found = plan.labels_of(table)
    assert found.dtype == bool and found.has_sorted_indices
    assert found.toarray().astype(int).tolist() == [[0, 1], [1, 0], [1, 1]]
    lines = {"w": 3, "soft": 6, "shape=rod": 7, "red": 2, "big": 4}
    assert {name: plan.wheres()[name] for name in lines} == {name: f"{path}:{line}" for name, line in lines.items()}


def test_a_dropped_hierarchical_attribute_gives_no_label(tmp_path):
    head = "@relation 'x: -C 1'\n@attribute a {0,1}\n@attribute class hierarchical 1,1/2\n@attribute b real\n@data\n"
    path = write(tmp_path, head + "1,1/2,0.5\n")
    plan, table = plan_of(path)
    assert plan.label_names == ["1", "1/2"] and plan.features == [0, 2]
    assert plan.wheres()["1/2"] == f"{path}:3"
    assert plan.labels_of(table).toarray().tolist() == [[True, True]]
    plan, table = plan_of(path, drop_attributes=["class"])
    assert plan.label_names == ["a"] and plan.features == [2] and plan.labels_of(table).toarray().tolist() == [[True]]


def test_warns_of_what_may_be_an_identifier(tmp_path, caplog):
    def warned(number):
        caplog.clear()
        values = ",".join(f"p{i}" for i in range(number))
        path = write(tmp_path, f"@attribute p {{{values}}}\n@attribute l {{0,1}}\n@data\np7,1\n")
        assert plan_of(path, labels=["l"])[0].features == [0]
        return caplog.text

    assert "'p' becomes 101 features; if it is an identifier, name it in 'drop_attributes'." in warned(101)
    assert not warned(100)


def test_a_date_is_left_out_or_refused(tmp_path):
    head = '@attribute d date "yyyy-MM-dd"\n@attribute a real [0,1]\n@attribute l {0,1}\n@data\n'
    path = write(tmp_path, head + "2020-01-02,1,1\n")
    assert plan_of(path, labels=["l"], drop_attributes=["d"])[0].features == [1]
    assert message_of(plan_of, path, labels=["l"]) == (
        f"{path}:1: the date attribute 'd' cannot be a feature; name it in 'drop_attributes'."
    )


DROP = dict(drop_attributes=["id"])


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(labels=["red"]),
         "{}:5: the string attribute 'id' cannot be a feature; name it in 'drop_attributes'."),
        (dict(labels=["blue"], **DROP), "dataset_reader.labels: {} has no attribute for the label 'blue'."),
        (dict(labels=["red", "red"], **DROP), "dataset_reader.labels must name one or more attributes, each once."),
        (dict(labels=[], **DROP), "dataset_reader.labels must name one or more attributes, each once."),
        (dict(labels=["id"]),
         "{}:5: the label 'id' must be numeric, {{0,1}}, {{NO,YES}} or {{FALSE,TRUE}}, found string {{}}."),
        (dict(labels=["shape"], **DROP), "{}:7: the label 'shape' must be numeric, {{0,1}}, {{NO,YES}} or "
         "{{FALSE,TRUE}}, found nominal {{disc,cube,rod}}."),
        (dict(labels=["red"], drop_attributes=["what"]), "{}:1: no attribute 'what' to drop."),
        (dict(labels=["red"], drop_attributes=["red"]), "{}:1: the label 'red' is in 'drop_attributes'."),
        (dict(labels=["red", "w", "big", "soft"], drop_attributes=["id", "shape"]),
         "{}:1: no attribute is left to be a feature."),
    ],
)  # fmt: skip
def test_columns_of_no_use(tmp_path, options, message):
    path = write(tmp_path, HEADER + ROWS)
    assert message_of(plan_of, path, **options) == message.format(path)


@pytest.mark.parametrize(
    "label, message",
    [
        ("w", "{}:9: the label 'w' must be 0 or 1, found 0.5."),
        ("soft", "{}:10: the label 'soft' must be 0 or 1, it is missing."),
    ],
)
def test_a_value_that_is_no_label(tmp_path, label, message):
    path = write(tmp_path, HEADER + ROWS)
    plan, table = plan_of(path, labels=[label], **DROP)
    assert message_of(plan.labels_of, table) == message.format(path)


def test_a_label_of_the_xml_that_the_file_lacks(tmp_path):
    path, xml = write(tmp_path, HEADER + ROWS), write(tmp_path, XML.replace("big", "BIG"), "l.xml")
    assert message_of(plan_of, path, label_xml=xml) == f"{xml}:3: {path} has no attribute for the label 'BIG'."


def test_a_label_has_a_name(tmp_path):
    path = write(tmp_path, "@relation 'x: -C 1'\n@attribute ' ' {0,1}\n@attribute '' real\n@data\n1,1\n")
    assert message_of(plan_of, path) == f"{path}:2: the label has no name."


def test_files_of_a_split_must_agree(tmp_path):
    path = write(tmp_path, HEADER + ROWS)
    plan, table = plan_of(path, labels=["red", "big"], **DROP)
    plan.check_same(table)
    other = write(tmp_path, HEADER.replace("{YES,NO}", "{NO,YES}") + ROWS, "other.arff")
    assert message_of(plan.check_same, read_header(other)) == (
        f"{other}:4: the attribute 'big' is not declared as its counterpart 'big' in {path}:4."
    )
    # What is dropped need not agree.
    named = write(tmp_path, HEADER.replace("id string", "key string") + ROWS, "named.arff")
    plan.check_same(read_header(named))
    short = write(tmp_path, "@attribute red {0,1}\n@data\n1\n", "short.arff")
    assert message_of(plan.check_same, read_header(short)) == f"{short}:1: the file has 1 attributes, {path} has 6."


def test_names_must_be_those_of_the_training_file(tmp_path):
    path = write(tmp_path, HEADER + ROWS)
    plan, _ = plan_of(path, labels=["red"], **DROP)
    plan.check_names("feature", ["w", "big"], ["big", "w"], "t.arff")
    for names, known, where, what in (
        (["w", "big"], ["w"], 4, "has a feature 'big' that is not in"),
        (["w"], ["w", "soft"], 6, "lacks the feature 'soft' of"),
        (["w"], ["w", "hard"], 1, "lacks the feature 'hard' of"),
    ):
        assert message_of(plan.check_names, "feature", names, known, "t.arff") == (
            f"{path}:{where}: the file {what} t.arff, the training file that dataset_reader.statistics_from names."
        )


def nominal(*values):
    return Attribute("a", "nominal", values, 1)


def test_is_binary():
    for values in (("YES", "NO"), ("no", "Yes"), ("0", "1"), ("1",), ("TRUE", "False")):
        assert is_binary(nominal(*values))
    for values in (("yes", "no", "maybe"), ("yes", "1"), ("no", "NO"), ("a", "b"), ("t", "f")):
        assert not is_binary(nominal(*values))
    assert not is_binary(Attribute("a", "numeric", (), 1))


def filled(values, thin, names, missing):
    """The filled values and the means."""
    matrix = sparse.csr_array(values) if thin else values.copy()
    held = matrix.data if thin else matrix

    def write(start, part):
        held[start : start + len(part)] = part

    means = fill_missing(matrix, names, [f"f:{row}" for row in range(1, len(values) + 1)], missing, None, write)
    return matrix.toarray() if thin else matrix, means


@pytest.mark.parametrize("piece", [2**20, 2])
@pytest.mark.parametrize("thin", [False, True])
def test_fills_with_means(thin, piece, monkeypatch):
    monkeypatch.setattr(kept_arrays, "PIECE", piece)
    nan = numpy.nan
    values = numpy.array([[1, nan, 0], [0, nan, nan], [nan, nan, 4]], numpy.float32)
    found, means = filled(values, thin, "abc", "mean")
    assert means.tolist() == [0.5, 0, 2] and means.dtype == numpy.float32
    assert found.tolist() == [[1, 0, 0], [0, 0, 2], [0.5, 0, 4]] and found.dtype == numpy.float32
    assert filled(values, thin, "abc", "zero")[0].tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 4]]
    with pytest.raises(ConfigurationError, match="^f:1: the value of 'b' is missing; set dataset_reader.missing to"):
        filled(values, thin, "abc", "error")
    with pytest.raises(ConfigurationError, match="^f:2: the value of 'c' is missing"):
        filled(values[:, [0, 2]], thin, "ac", "error")


@pytest.mark.parametrize("thin", [False, True])
def test_means_are_summed_in_double_precision(thin):
    # In float32 the ones would be lost.
    assert filled(numpy.array([[2**24], [1], [1], [-(2**24)]], numpy.float32), thin, "a", "mean")[1].tolist() == [0.5]


def labels_xml(tmp_path, text):
    path = tmp_path / "labels.xml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def message_of_xml(read, *args):
    with pytest.raises(ConfigurationError) as error:
        read(*args)
    assert "\n" not in error.value.message and error.value.message.endswith(".")
    return error.value.message


def test_reads_a_nested_xml(tmp_path):
    path = labels_xml(
        tmp_path,
        '<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">\n'
        '<label name="animal">\n  <label name="b&amp;b"><label name="owl"/></label>\n'
        '  <label name="cat"></label></label>\n<label name="größe"/></labels>\n',
    )
    labels, edges = read_mulan_xml(path)
    assert labels == {"animal": 3, "b&b": 4, "owl": 4, "cat": 5, "größe": 6}
    assert list(labels) == ["animal", "b&b", "owl", "cat", "größe"]
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
def test_xml_errors(tmp_path, text, message):
    path = labels_xml(tmp_path, text)
    assert message_of_xml(read_mulan_xml, path) == path + message


def test_meka_columns():
    assert meka_columns("f:1", "Music: -C 2", 5) == [0, 1]
    assert meka_columns("f:1", "'Music: -C -2 -split 30'", 5) == [3, 4]
    assert meka_columns("f:1", "x: -C 1-weka.filters.unsupervised.instance.Randomize-S42", 5) == [0]


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
)  # fmt: skip
def test_meka_errors(relation, message):
    assert message_of_xml(meka_columns, "f:1", relation, 5).startswith(message)


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
    assert message_of_xml(hierarchy_of, "f:1", nodes, kind) == message
