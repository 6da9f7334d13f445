import json

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch
from allennlp.data.token_indexers import PretrainedTransformerIndexer
from allennlp.data.tokenizers import PretrainedTransformerTokenizer

from seal.tasks.text.predictor import TextMultilabelPredictor
from seal.tasks.text.reader import TextMultilabelReader
from tests.tasks.records_of_lines import of_lines
from tests.tasks.text.test_model import ENCODER, SEPARATE, TEXTS, batch, model
from tests.tiny_bert import save_tiny_bert


def predictor_of(parts=None, text_keys=None, max_tokens=None, **settings):
    """A predictor whose model has fixed weights for kites and the sea."""
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
    return TextMultilabelPredictor(net, TextMultilabelReader(text_keys=text_keys, max_tokens=max_tokens), **settings)


def sigmoid(value):
    return float(torch.tensor(value).sigmoid())


def test_a_text():
    record = predictor_of(top_k=2, probabilities=True).predict("red kite")
    # The text's vector is the mean of two words' vectors, one of which is all zeros.
    assert record["labels"] == pytest.approx({"toy": sigmoid(4.0)})
    assert [item["label"] for item in record["top"]] == ["toy", "water"]
    assert record["top"][1]["probability"] == pytest.approx(sigmoid(-1.0))
    assert record["probabilities"] == pytest.approx({"toy": sigmoid(4.0), "water": sigmoid(-1.0)})
    assert "energy" not in record


def test_lines_as_text_and_as_json():
    predictor = predictor_of()
    lines = ["sea", '{"text": "kite over sea", "id": 7}']
    records = of_lines(predictor, lines)
    assert [json.loads(predictor.dump_line(record)) for record in records] == records
    assert list(records[0]["labels"]) == ["water"]
    assert records[1]["id"] == 7 and set(records[1]["labels"]) == {"toy", "water"}


def test_a_text_is_joined_of_the_readers_keys():
    predictor = predictor_of(text_keys=["title", "text"])
    lines = ['{"title": "kite", "text": ["sea"], "id": 7}', '{"title": "kite", "text": ""}', "sea"]
    records = of_lines(predictor, lines)
    assert [set(record["labels"]) for record in records[:3]] == [{"toy", "water"}, {"toy"}, {"water"}]
    assert records[0]["id"] == 7 and list(predictor.predict("sea")["labels"]) == ["water"]


def test_a_text_too_long_for_the_transformer_has_an_error_and_the_others_go_on(tmp_path):
    torch.manual_seed(0)
    folder = str(save_tiny_bert(tmp_path / "bert", ["kite", "sea"]))
    reader = TextMultilabelReader(
        tokenizer=PretrainedTransformerTokenizer(folder, add_special_tokens=False),
        token_indexers={"tokens": PretrainedTransformerIndexer(folder)},
    )
    vocab, _ = batch()
    net = model(vocab, task_net={"encoder": {"type": "text_transformer", "model_name": folder}})
    predictor = TextMultilabelPredictor(net, reader, probabilities=True)
    # With the two special tokens these are 512 and 513 pieces.
    texts = ["kite", "sea " * 511, "sea " * 510]
    records = of_lines(predictor, texts)
    assert records[1].keys() == {"error"} and "max_tokens" in records[1]["error"]
    assert records[0]["probabilities"] == pytest.approx(predictor.predict("kite")["probabilities"], abs=1e-6)
    assert records[2]["probabilities"].keys() == {"toy", "water"}
    instances = [reader.text_to_instance(text, [], f"a:{number}") for number, text in enumerate(texts, start=1)]
    for instance in instances:
        reader.apply_token_indexers(instance)
    records = predictor.predict_batch_instance(instances)
    assert records[1].keys() == {"id", "error"} and records[1]["error"].startswith("a:2: ")
    assert [records[0]["id"], records[2]["id"]] == ["a:1", "a:3"]
    data = Batch(instances)
    data.index_instances(vocab)
    with pytest.raises(ConfigurationError, match="^a:2: .*513"):
        net(**data.as_tensor_dict())


def test_energy_is_that_of_the_predicted_labels():
    predictor = predictor_of(SEPARATE, energy=True)
    net = predictor._model
    _, data = batch()
    net.with_energy = True
    expected = net(tokens=data["tokens"])["energy"].tolist()
    found = [record["energy"] for record in predictor.predict_batch_json([{"text": text} for text in TEXTS])]
    assert found == pytest.approx(expected, abs=1e-5)
