import pytest
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.arff import read_arff, read_header
from seal.dataset_readers.column_plan import ColumnPlan
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
