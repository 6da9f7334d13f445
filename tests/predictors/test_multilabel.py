import json

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.tasks.multilabel import MultilabelPredictor
from seal.tasks.multilabel.reader import MultilabelReader
from tests.multilabel import LABELS, seal_parts, write_data
from tests.predictors.multilabel_nets import ENERGY_ONLY, ROWS_IN_ORDER, by_hand, net, predictor, vocabulary
from tests.predictors.records import of_lines


@pytest.mark.parametrize("decision, thresholds", [(None, 0.5), ("tuned", 0.3), ("per_label", [0.1, 0.6, 0.9])])
def test_labels_are_those_of_the_task_net(decision, thresholds):
    made = predictor(decision=decision, probabilities=True, top_k=2)
    records = made.predict_batch_json([{"features": row, "id": i} for i, row in enumerate(ROWS_IN_ORDER)])
    probabilities, labels = by_hand(made._model, ROWS_IN_ORDER, thresholds)
    assert len({tuple(names) for names in labels}) > 1
    for i, (record, row, names) in enumerate(zip(records, probabilities, labels)):
        assert list(record) == ["id", "labels", "probability", "top", "probabilities"] and record["id"] == i
        assert list(record["labels"]) == names
        of_set = numpy.prod([p if name in names else 1 - p for p, name in zip(row, LABELS)])
        assert record["probability"] == pytest.approx(of_set, abs=1e-6)
        for name, value in record["labels"].items():
            assert value == pytest.approx(row[LABELS.index(name)], abs=1e-6)
        assert list(record["probabilities"]) == LABELS
        assert list(record["probabilities"].values()) == pytest.approx(row, abs=1e-6)
        best = sorted(zip(row, LABELS), reverse=True)[:2]
        assert [entry["label"] for entry in record["top"]] == [name for _, name in best]
        assert [entry["probability"] for entry in record["top"]] == pytest.approx([p for p, _ in best], abs=1e-6)


def test_labels_of_equal_probability_are_in_the_order_of_the_vocabulary():
    made = predictor(top_k=3)
    equal = torch.full((1, 3), 0.75)
    made._model.forward = lambda features: {"probabilities": equal, "predicted": equal > 0.5}
    record = made.predict([1, 2, 3])
    assert list(record["labels"]) == [entry["label"] for entry in record["top"]] == LABELS


def test_energies_are_those_of_the_predicted_labels():
    made = predictor(energy=True, decision="tuned")
    plain = MultilabelPredictor(made._model, MultilabelReader())
    for row in ROWS_IN_ORDER:
        record = made.predict(row)
        labels = torch.tensor([[[float(name in record["labels"]) for name in LABELS]]])
        inputs = {"features": torch.tensor([row], dtype=torch.float)}
        with torch.no_grad():
            loss_net = made._model.loss_net
            energy = loss_net(loss_net.encode(inputs, made._model.task_net(inputs)[1], None), labels).item()
        assert record["energy"] == pytest.approx(energy, abs=1e-5)
        # Two predictors of one model do not affect each other.
        assert list(plain.predict(row)) == ["labels", "probability"] and not made._model.with_energy
        assert list(plain.predict(row)["labels"]) == by_hand(made._model, [row])[1][0]


def test_where_the_energy_predicts_the_labels_are_what_inference_finds():
    made = MultilabelPredictor(net(**ENERGY_ONLY), MultilabelReader(), energy=True, probabilities=True)
    records = made.predict_batch_json([{"features": row} for row in ROWS_IN_ORDER])
    state = made._model.task_state(torch.tensor(ROWS_IN_ORDER))
    relaxed = made._model.infer(state).tolist()
    for record, row in zip(records, relaxed):
        assert list(record["probabilities"].values()) == pytest.approx(row, abs=1e-5)
        assert set(record["labels"]) == {name for name, value in zip(LABELS, row) if value >= 0.5}
        assert isinstance(record["energy"], float)
    assert any(record["labels"] for record in records)


def test_where_no_energy_is_finite_the_record_is_an_error():
    made = MultilabelPredictor(net(**ENERGY_ONLY), MultilabelReader(), energy=True, probabilities=True, top_k=1)
    large = json.dumps({"id": 7, "features": [3e38, 3e38, -3e38]})
    wrong, right = of_lines(made, [large, '{"features": [1, 2, 3]}'])
    told = "the energy is not finite wherever the search for a prediction has looked"
    assert wrong.keys() == {"id", "error"} and wrong["id"] == 7
    assert wrong["error"].startswith(f"line 1: {told}")
    assert right["labels"].keys() == made.predict([1, 2, 3])["labels"].keys()
    with pytest.raises(ConfigurationError, match=f"^{told}"):
        made.predict([3e38, 3e38, -3e38])


def test_a_batch_is_one_pass_of_the_model(monkeypatch):
    made = predictor()
    sizes = []
    run = made._model.forward
    monkeypatch.setattr(made._model, "forward", lambda features: (sizes.append(len(features)), run(features))[1])
    of_lines(made, ['{"features": {}}'] * 50 + ["{"])
    assert sizes == [50]


def test_numbers_that_are_not_finite_are_null():
    made = predictor(top_k=9, probabilities=True, energy=True)
    run = made._model.forward

    def forward(features):
        output = run(features)
        nothing = output["probabilities"] * float("nan")
        return {"probabilities": nothing, "predicted": nothing >= 0.5, "energy": output["energy"] / 0}

    made._model.forward = forward
    record = json.loads(made.dump_line(made.predict([1, 2, 3])), parse_constant=pytest.fail)
    assert record["labels"] == {} and record["energy"] is None
    assert record["probabilities"] == dict.fromkeys(LABELS)
    assert [entry["probability"] for entry in record["top"]] == [None] * 3


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"top_k": 0}, "top_k must be a whole number above 0, found 0"),
        ({"top_k": True}, "top_k must be"),
        ({"probabilities": 1}, "probabilities must be true or false, found 1"),
        ({"decision": "best"}, "decision must be 'half', 'tuned', 'per_label' or null, found 'best'"),
        ({"decision": ["half"]}, "decision must be 'half'"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        predictor(**arguments)


def test_what_a_model_cannot_give_is_refused():
    untuned = net(tuned=False, task_net=seal_parts()["task_net"])
    with pytest.raises(ConfigurationError, match="decision: 'tuned' needs thresholds that .* has tuned"):
        MultilabelPredictor(untuned, MultilabelReader(), decision="tuned")
    with pytest.raises(ConfigurationError, match="vocabulary names no attributes"):
        made = net()
        made.vocab = vocabulary([])
        MultilabelPredictor(made, MultilabelReader())


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
    '{"features": [1, 2, 3]': 'the line is not JSON, such as {"features": [0, 1]}: Expecting',
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
    made = predictor()
    with pytest.raises(ConfigurationError):
        made.predict_json(made.read(line))


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
    assert first.keys() == {"id", "labels", "probability", "probabilities"}


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
