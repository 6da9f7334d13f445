import json

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.tasks.multilabel import MultilabelPredictor
from seal.tasks.multilabel.reader import MultilabelReader
from tests.multilabel import LABELS, write_data
from tests.tasks.multilabel.nets import ENERGY_ONLY, ROWS_IN_ORDER, by_hand, net, predictor
from tests.tasks.records_of_lines import of_lines


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


def test_a_row_of_a_table_has_its_attributes_in_columns():
    made = MultilabelPredictor(net(["ripe", "0", "1"]), MultilabelReader(missing="zero"))
    cells = {"id": "a", "1": " 2.5 ", "ripe": "Yes", "0": "NaN", "round": "1"}
    assert made._rows.row(cells).tolist() == [1, 0, 2.5]
    given = {"ripe": 1, "1": 2.5}
    assert made.predict_json(cells)["labels"] == made.predict_json({"features": given})["labels"]
    for cells, told in (
        ({"ripe": "1", "0": "0"}, "'1'"),
        ({"ripe": "x", "0": "", "1": ""}, "'x'"),
        ({"a": "1"}, "'a'"),
    ):
        with pytest.raises(ConfigurationError, match=told):
            made.predict_json(cells)


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
    for by, record in ((None, {"0": 1, "1": 1}), ("index", {"00": 1}), ("name", {"2": 1}), (None, {"x": 1})):
        with pytest.raises(ConfigurationError):
            made.predict_json({"features": record, "by": by})


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
    gone = predictor(MultilabelReader(statistics_from=str(tmp_path / "gone.arff")))
    with pytest.raises(ConfigurationError, match="'weight'.*gone.arff"):
        gone.predict([1, None, 2])
    # Without a missing value nothing needs the file.
    assert gone.predict([1, 0, 2]) == zero.predict([1, 0, 2])


def test_standardizing_without_the_training_data_is_refused(tmp_path):
    made = predictor(MultilabelReader(standardize=True, statistics_from=str(tmp_path / "gone.arff")))
    # An error of the whole call, not of a line.
    for call in (lambda: of_lines(made, ['{"features": [1, 2, 3]}']), lambda: made.predict_batch_instance([])):
        with pytest.raises(ConfigurationError, match="gone.arff"):
            call()
