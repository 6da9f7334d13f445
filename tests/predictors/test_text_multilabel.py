import json

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.text_multilabel import TextMultilabelReader
from seal.predictors.text_multilabel import TextMultilabelPredictor
from tests.models.test_text_multilabel import ENCODER, SEPARATE, TEXTS, batch, model
from tests.multilabel import model as feature_model


def predictor_of(parts=None, **settings):
    """Of a model that knows kites and the sea by heart."""
    vocab, _ = batch()
    net = model(vocab, **(parts or {"task_net": {"encoder": ENCODER}}))
    with torch.no_grad():
        table = net.task_net.encoder._embedder.token_embedder_tokens.weight
        table.zero_()
        for word, place in (("kite", 0), ("sea", 1)):
            table[vocab.get_token_index(word), place] = 10
        net.task_net._head.weight.zero_()
        net.task_net._head.bias.fill_(-1)
        for label, place in (("toy", 0), ("water", 1)):
            net.task_net._head.weight[vocab.get_token_index(label, "labels"), place] = 1
    return TextMultilabelPredictor(net, TextMultilabelReader(), **settings)


def sigmoid(value):
    return float(torch.tensor(value).sigmoid())


def test_a_text():
    record = predictor_of(top_k=2, probabilities=True).predict("red kite")
    # The mean of two words, one of which is all zeros.
    assert record["labels"] == pytest.approx({"toy": sigmoid(4.0)})
    assert [item["label"] for item in record["top"]] == ["toy", "water"]
    assert record["top"][1]["probability"] == pytest.approx(sigmoid(-1.0))
    assert record["probabilities"] == pytest.approx({"toy": sigmoid(4.0), "water": sigmoid(-1.0)})
    assert "energy" not in record


def test_lines_as_text_and_as_json():
    predictor = predictor_of()
    lines = ["sea", '{"text": "kite over sea", "id": 7}', "{", '{"words": ["a"]}', '{"text": " "}', '{"text": 3}']
    lines += ['{"text": "sea", "text": "kite"}', '{"text": "\\udc80"}', '{"text":' + "[" * 100_000]
    records = predictor.predict_batch_json([predictor.load_line(line) for line in lines])
    assert [json.loads(predictor.dump_line(record)) for record in records] == records
    assert list(records[0]["labels"]) == ["water"]
    assert records[1]["id"] == 7 and set(records[1]["labels"]) == {"toy", "water"}
    messages = ("is not JSON", "needs 'text', found 'words'", "text is empty", "must be a string")
    messages += ("'text' is given twice", "the text holds half a surrogate pair", "nested too deeply")
    for record, message in zip(records[2:], messages):
        assert record.keys() == {"error"} and message in record["error"]
    assert records[2]["error"].startswith("line 3 ")
    with pytest.raises(ConfigurationError, match="the text is empty"):
        predictor.predict("")


def test_a_text_alone_is_as_in_a_batch():
    predictor = predictor_of(probabilities=True)
    texts = list(TEXTS)
    together = predictor.predict_batch_json([{"text": text} for text in texts])
    for text, record in zip(texts, together):
        assert predictor.predict(text)["probabilities"] == pytest.approx(record["probabilities"], abs=1e-6)


def test_instances_of_the_reader():
    predictor = predictor_of()
    reader = predictor._dataset_reader
    instance = reader.text_to_instance("red kite", ["toy"], "a:1")
    reader.apply_token_indexers(instance)
    (record,) = predictor.predict_batch_instance([instance])
    assert record["id"] == "a:1" and list(record["labels"]) == ["toy"]


def test_energy_is_that_of_the_predicted_labels():
    predictor = predictor_of(SEPARATE, energy=True)
    net = predictor._model
    _, data = batch()
    net.with_energy = True
    expected = net(tokens=data["tokens"])["energy"].tolist()
    found = [record["energy"] for record in predictor.predict_batch_json([{"text": text} for text in TEXTS])]
    assert found == pytest.approx(expected, abs=1e-5)


def test_wrong_arguments():
    with pytest.raises(ConfigurationError, match="predictor argument 'topk' is unknown"):
        predictor_of(topk=3)
    with pytest.raises(ConfigurationError, match="trained without a loss-net"):
        predictor_of(energy=True)
    with pytest.raises(ConfigurationError, match="is for 'seal_text_multilabel' models, not MultilabelModel"):
        TextMultilabelPredictor(feature_model(), TextMultilabelReader())
