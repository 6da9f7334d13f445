import numpy
import pytest
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.multilabel import MultilabelReader
from seal.predictors import MultilabelPredictor
from seal.predictors.features import read_record
from tests.multilabel import write_data
from tests.predictors.multilabel_nets import by_hand, net, predictor
from tests.predictors.records import of_lines


def features_of(record_features, **more):
    """The row that a predictor makes of a record."""
    return predictor()._rows.row({"features": record_features, **more}).tolist()


@pytest.mark.parametrize(
    "features, row",
    [
        ([1, 2.5, -3], [1, 2.5, -3]),
        (numpy.array([1, 2.5, -3]), [1, 2.5, -3]),
        ({}, [0, 0, 0]),
        ([], [0, 0, 0]),
        ({"ripe": 2, "size": -1}, [-1, 0, 2]),
        ({"1": 4, "ripe": 2}, [0, 4, 2]),
        (["ripe", "0"], [1, 0, 1]),
    ],
)
def test_features_are_dense_sparse_or_names(features, row):
    assert features_of(features) == row


def test_a_name_that_is_a_number_wins_over_an_index():
    made = MultilabelPredictor(net(["1", "00", "x=1"]), MultilabelReader())
    for by, record, row in [
        (None, {"1": 5}, [5, 0, 0]),
        ("name", {"1": 5}, [5, 0, 0]),
        ("index", {"1": 5}, [0, 5, 0]),
        (None, {"0": 5, "00": 6}, [5, 6, 0]),
        (None, {"2": 5}, [0, 0, 5]),
        (None, {"x=1": 5}, [0, 0, 5]),
    ]:
        assert made._rows.row({"features": record, "by": by}).tolist() == row
    with pytest.raises(ConfigurationError, match="the attribute '1' is given twice"):
        made.predict({"0": 1, "1": 1})
    with pytest.raises(ConfigurationError, match="'00' is not an attribute index, 0 to 2 here"):
        made.predict_json({"features": {"00": 1}, "by": "index"})
    with pytest.raises(ConfigurationError, match="the model has no attribute '2'.$"):
        made.predict_json({"features": {"2": 1}, "by": "name"})
    with pytest.raises(ConfigurationError, match="no attribute 'x', .* by its value, such as 'x=1': 1"):
        made.predict({"x": 1})


WRONG = {
    '{"features": [1, 2, 3]': "the line is not JSON: Expecting ',' delimiter at character 23",
    "1, 2, 3": "the line is not JSON",
    "[1, 2, 3]": "expected an object with 'features', found [1, 2, 3]",
    '{"feature": [1, 2, 3]}': "the object needs 'features', found 'feature'",
    "{}": "found no key",
    '{"features": null}': "'features' must be a list of numbers, a list of attribute names or an object",
    '{"features": [1, 2]}': "'features' has 2 values, and the model has 3 attributes",
    '{"features": [1, 2, 3, 4]}': "'features' has 4 values",
    '{"features": {"colour": 1}}': "no attribute 'colour', and its indices are 0 to 2",
    '{"features": {"3": 1}}': "no attribute '3'",
    '{"features": {"-1": 1}}': "no attribute '-1'",
    '{"features": ["ripe", "colour"]}': "no attribute 'colour'",
    '{"features": {"ripe": 1, "ripe": 1}}': "'ripe' is given twice",
    '{"features": {"ripe": 1, "2": 1}}': "the attribute 'ripe' is given twice",
    '{"features": ["ripe", "size", "ripe"]}': "the attribute 'ripe' is given twice",
    '{"features": [1, NaN, 3]}': "the value of 'weight' is not finite in single precision: nan",
    '{"features": {"ripe": -Infinity}}': "the value of 'ripe' is not finite in single precision: -inf",
    '{"features": {"ripe": 1e39}}': "the value of 'ripe' is not finite in single precision: 1e+39",
    '{"features": [1, 2, 1' + "0" * 400 + "]}": "the value of 'ripe' is not finite",
    '{"features": [1, null, 1' + "0" * 400 + "]}": "the value of 'weight' is missing",
    '{"features": [1, 2, "3"]}': "the value of 'ripe' must be a number, found '3'",
    '{"features": {"size": true}}': "the value of 'size' must be a number, found True",
    '{"features": {"size": [1]}}': "the value of 'size' must be a number, found [1]",
    '{"features": {"size": null}}': "the value of 'size' is missing, and the training data's means are not known",
    '{"features": [1, 2, 3], "by": ["name"]}': "'by' must be 'index' or 'name', found ['name']",
    '{"features": [1, 2, 3], "id": NaN}': "'id' holds something that JSON cannot hold",
    '{"a":' * 200_000: "nested too deeply",
    '{"features": ["caf\udce9"]}': "the byte 0xe9 at character 19 is not UTF-8",
    '{"features": ["\\ud83d"]}': "no attribute '\\ud83d'",
}


def test_a_wrong_line_has_its_error_in_its_place_and_the_others_go_on():
    made = predictor()
    lines = [line for wrong in WRONG for line in (wrong, '{"id": "x", "features": {"ripe": 1}}')]
    records = of_lines(made, [line + "\n" for line in lines])
    right = made.predict_json({"id": "x", "features": {"ripe": 1}})
    for number, (line, record) in enumerate(zip(lines, records), start=1):
        if line not in WRONG:
            assert record["id"] == "x" and record["labels"] == pytest.approx(right["labels"], abs=1e-6)
            continue
        assert list(record) == ["error"]
        where, _, sentence = record["error"].partition(": ")
        assert where == f"line {number}"
        assert WRONG[line] in sentence
        assert sentence.endswith(".") and sentence.isascii() and "\n" not in sentence
        assert len(sentence) < 300
    assert made.predict_batch_json([]) == []
    # A line with the key "error" is not taken for an error record.
    assert "needs 'features'" in made.predict_json(made.load_line('{"error": "mine"}'))["error"]


@pytest.mark.parametrize("line", list(WRONG)[2:-2], ids=range(len(WRONG) - 4))
def test_who_calls_from_python_gets_an_exception(line):
    with pytest.raises(ConfigurationError):
        predictor().predict_json(read_record(line))


def test_input_that_is_no_object():
    for wrong in (None, [1, 2, 3], "ripe"):
        with pytest.raises(ConfigurationError, match="expected an object with 'features'"):
            predictor().predict_json(wrong)


@pytest.mark.parametrize("standardize", [False, True])
def test_raw_features_become_what_the_reader_makes_of_the_file(tmp_path, standardize):
    data = write_data(tmp_path)
    reader = MultilabelReader(**data["reader"], standardize=standardize)
    made = predictor(reader, probabilities=True)
    # The first row of the file lacks its second value.
    raw = [[2.5, 1, None], [-1, 0.5, 3], [0, 2, 1], [4, -1, 2], [1, 3, 0]]
    found = made.predict_batch_json([{"features": row} for row in raw])
    weight, ripe, size = [1, 0.5, 2, -1, 3], [(3 + 1 + 2 + 0) / 4, 3, 1, 2, 0], [2.5, -1, 0, 4, 1]
    columns = numpy.array([size, weight, ripe]).T
    if standardize:
        columns = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    expected, labels = by_hand(made._model, columns.tolist())
    assert len({tuple(names) for names in labels}) > 1
    for record, row, names in zip(found, expected, labels):
        assert list(record["probabilities"].values()) == pytest.approx(row, abs=1e-5)
        assert list(record["labels"]) == names
    # `--use-dataset-reader` predicts the same from the file itself.
    of_file = made.predict_batch_instance(list(reader.read(data["path"])))
    assert [record.pop("id") for record in of_file] == [f"{data['path']}:{8 + i}" for i in range(1, 6)]
    for record, other in zip(of_file, found):
        assert record["probabilities"] == pytest.approx(other["probabilities"], abs=1e-6)
    first = made.predict_instance(next(iter(reader.read(data["path"]))))
    assert first.keys() == {"id", "labels", "probabilities"}


def test_what_a_missing_value_counts_as_is_the_readers(tmp_path):
    zero = predictor(MultilabelReader(missing="zero"))
    assert zero.predict([1, None, 2]) == zero.predict([1, 0, 2])
    with pytest.raises(ConfigurationError, match="'weight' is missing, which dataset_reader.missing makes an error"):
        predictor(MultilabelReader(missing="error")).predict([1, None, 2])
    gone = predictor(MultilabelReader(statistics_from=str(tmp_path / "gone.arff")))
    with pytest.raises(ConfigurationError, match="'weight' is missing, and .*gone.arff"):
        gone.predict([1, None, 2])
    # Without a missing value nothing needs the file.
    assert gone.predict([1, 0, 2]) == zero.predict([1, 0, 2])


def test_standardizing_without_the_training_data_is_refused(tmp_path):
    made = predictor(MultilabelReader(standardize=True, statistics_from=str(tmp_path / "gone.arff")))
    message = "standardized, and .*gone.arff"
    with pytest.raises(ConfigurationError, match=message):
        made.predict([1, 2, 3])
    with pytest.raises(ConfigurationError, match=message):
        # An error of the whole call, not of a line.
        of_lines(made, ['{"features": [1, 2, 3]}'])
    with pytest.raises(ConfigurationError, match=message):
        made.predict_batch_instance([])
