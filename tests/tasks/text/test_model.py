import json

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Vocabulary
from allennlp.models import Model

from seal.tasks.text.reader import TextMultilabelReader

TEXTS = {"red kite": ["toy"], "a blue kite over the sea": ["toy", "water"], "sea": ["water"], "a red sea": ["water"]}
ENCODER = {
    "type": "seq2vec",
    "embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 4}}},
    "encoder": {"type": "boe", "embedding_dim": 4, "averaged": True},
}
ENERGIES = [{"type": "local"}, {"type": "label_interaction", "hidden_dim": 3}]
SEAL = {"sampler": {"type": "discrete", "num_samples": 5}, "energy_loss": {"type": "nce_ranking"}}
SEPARATE = {**SEAL, "task_net": {"encoder": ENCODER}, "loss_net": {"encoder": ENCODER, "energies": ENERGIES}}
SHARED = {**SEPARATE, "loss_net": {"energies": ENERGIES}}


def batch():
    reader = TextMultilabelReader()
    instances = [reader.text_to_instance(text, labels) for text, labels in TEXTS.items()]
    for instance in instances:
        reader.apply_token_indexers(instance)
    vocab = Vocabulary.from_instances(instances)
    data = Batch(instances)
    data.index_instances(vocab)
    return vocab, data.as_tensor_dict()


def model(vocab, **parts):
    torch.manual_seed(0)
    params = {"type": "seal_text_multilabel", "output_space": {"type": "label_set"}, **parts}
    return Model.from_params(Params(json.loads(json.dumps(params))), vocab=vocab)


def test_the_task_net_predicts_from_the_tokens():
    vocab, data = batch()
    net = model(vocab, task_net={"encoder": ENCODER}).eval()
    output = net(**data)
    table, ids = net.task_net.encoder._embedder.token_embedder_tokens.weight, data["tokens"]["tokens"]["tokens"]
    for row in range(len(TEXTS)):
        vector = table[ids[row][ids[row] > 0]].mean(dim=0)
        assert torch.allclose(output["probabilities"][row], net.task_net._head(vector).sigmoid(), atol=1e-6)
    probabilities, gold = output["probabilities"], data["labels"]
    expected = -(gold * probabilities.log() + (1 - gold) * (1 - probabilities).log()).sum(dim=1).mean()
    assert torch.allclose(output["loss"], expected)
    assert "loss" not in net(tokens=data["tokens"])
    names = net.make_output_human_readable(net(**data))["labels"]
    assert all(set(found) <= {"toy", "water"} for found in names)
    assert set(net.get_metrics(reset=True)) >= {"micro_f1", "macro_f1", "f1"}


def test_the_energy_alone_predicts_too():
    vocab, data = batch()
    descent = {"type": "gradient_based_inference", "num_steps": 5, "step_size": 0.1, "keep": "best"}
    parts = {**SEPARATE, "sampler": descent, "energy_loss": {"type": "margin"}, "inference": descent}
    del parts["task_net"]
    output = model(vocab, **parts).eval()(**data)
    assert output["probabilities"].shape == (4, 2) and "loss" not in output


def test_labels_that_training_never_had_are_missed(caplog):
    vocab, data = batch()
    net = model(vocab, task_net={"encoder": ENCODER}).eval()
    torch.nn.init.ones_(net.task_net._head.bias)
    output = net(**data)
    before = net.get_metrics(reset=True)
    data["metadata"][0].update(labels=["toy", "red"], source="test.jsonl:1")
    data["metadata"][2].update(labels=["water", "red"])
    loss = net(**data)["loss"]
    metrics = net.get_metrics(reset=True)
    predicted = output["predicted"]
    correct, total = (predicted & data["labels"].bool()).sum().item(), predicted.sum().item() + 5
    assert before["micro_f1"] == pytest.approx(200 * correct / total) and correct
    assert metrics["micro_f1"] == pytest.approx(200 * correct / (total + 2))
    assert "2 of 7 gold labels, in 2 instances" in caplog.text and "test.jsonl:1: 'red'" in caplog.text
    assert torch.equal(loss, output["loss"])
    with pytest.raises(ConfigurationError, match="test.jsonl:1.*'red'"):
        net.train().task_state(**data)
