import json

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.multilabel import MultilabelReader
from seal.predictors import MultilabelPredictor
from tests.multilabel import LABELS, seal_parts
from tests.predictors.multilabel_nets import ENERGY_ONLY, ROWS_IN_ORDER, by_hand, net, predictor, vocabulary
from tests.predictors.records import of_lines


@pytest.mark.parametrize("decision, thresholds", [(None, 0.5), ("tuned", 0.3), ("per_label", [0.1, 0.6, 0.9])])
def test_labels_are_those_of_the_task_net(decision, thresholds):
    made = predictor(decision=decision, probabilities=True, top_k=2)
    records = made.predict_batch_json([{"features": row, "id": i} for i, row in enumerate(ROWS_IN_ORDER)])
    probabilities, labels = by_hand(made._model, ROWS_IN_ORDER, thresholds)
    assert len({tuple(names) for names in labels}) > 1
    for i, (record, row, names) in enumerate(zip(records, probabilities, labels)):
        assert list(record) == ["id", "labels", "top", "probabilities"] and record["id"] == i
        assert list(record["labels"]) == names
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
        assert list(plain.predict(row)) == ["labels"] and not made._model.with_energy
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


def test_a_model_in_training_mode_still_predicts_and_numbers_that_are_not_finite_are_null():
    arguments = dict(frozen=False, top_k=9, probabilities=True, energy=True)
    made = MultilabelPredictor(net(), MultilabelReader(), **arguments)
    made._model.train()
    assert made.predict([1, 2, 3])["labels"] == predictor().predict([1, 2, 3])["labels"]
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
        ({"topk": 3}, "predictor argument 'topk' is unknown; choose from: top_k, energy"),
        ({"top_k": 0}, "top_k must be a whole number above 0, found 0"),
        ({"top_k": True}, "top_k must be"),
        ({"energy": "yes"}, "energy must be true or false, found 'yes'"),
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
    with pytest.raises(ConfigurationError, match="energy: this model was trained without a loss-net"):
        MultilabelPredictor(untuned, MultilabelReader(), energy=True)
    with pytest.raises(ConfigurationError, match="decision: 'tuned' needs thresholds that .* has tuned"):
        MultilabelPredictor(untuned, MultilabelReader(), decision="tuned")
    with pytest.raises(ConfigurationError, match="for 'seal_multilabel' models, not Linear"):
        MultilabelPredictor(torch.nn.Linear(1, 1), MultilabelReader())
    with pytest.raises(ConfigurationError, match="vocabulary names no attributes"):
        made = net()
        made.vocab = vocabulary([])
        MultilabelPredictor(made, MultilabelReader())
