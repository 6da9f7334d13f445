import copy
import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Vocabulary
from allennlp.models import Model

from seal.common.tag_encodings import first_broken
from seal.tasks.base.scored_rows import NonFiniteOutput
from seal.tasks.tagging import TaggingScore
from seal.tasks.tagging.reader import TaggingReader

SENTENCES = [
    ("Rose sells old ginger in York".split(), "S-SEL O B-ITM E-ITM O S-LOC".split()),
    ("ginger , York".split(), "S-ITM O S-LOC".split()),
    ("old York sells".split(), "B-LOC E-LOC O".split()),
]
READER = TaggingReader(case=True)


def instances_of(rows=range(3), gold=True):
    instances = [READER.text_to_instance(SENTENCES[i][0], SENTENCES[i][1] if gold else None) for i in rows]
    for instance in instances:
        READER.apply_token_indexers(instance)
    return instances


VOCAB = Vocabulary.from_instances(instances_of())
LABELS = list(VOCAB.get_token_to_index_vocabulary("tags"))
ENCODER = {
    "type": "seq2seq",
    "embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 5}}},
    "encoder": {"type": "lstm", "input_size": 8, "hidden_size": 4, "bidirectional": True},
    "features": {"case": {"type": "embedding", "embedding_dim": 3, "vocab_namespace": "case_features"}},
}
LOSS_NET = {"encoder": ENCODER, "energies": [{"type": "local"}, {"type": "linear_chain"}]}
DESCENT = {"type": "gradient_based_inference", "start": "half", "num_steps": 5}
SPEN = {
    "task_net": None,
    "loss_net": LOSS_NET,
    "sampler": {**DESCENT, "objective": "cost_augmented"},
    "energy_loss": {"type": "margin"},
    "inference": {**DESCENT, "keep": "best"},
}
NCE = {"loss_net": LOSS_NET, "sampler": {"type": "discrete", "num_samples": 4}, "energy_loss": {"type": "nce_ranking"}}


def batch_of(rows=range(3), gold=True):
    batch = Batch(instances_of(rows, gold))
    batch.index_instances(VOCAB)
    return batch.as_tensor_dict()


def model_of(encoding="BIOES", output_space="tag_sequence", constrained=True, **more):
    torch.manual_seed(0)
    params = {
        "type": "seal_tagging",
        "output_space": {"type": output_space, "encoding": encoding},
        "task_net": {"encoder": ENCODER},
        **more,
    }
    params = copy.deepcopy({name: value for name, value in params.items() if value is not None})
    if not constrained:
        params["output_space"]["constrained"] = False
    return Model.from_params(Params(params), vocab=VOCAB)


def test_the_loss_by_hand():
    model = model_of().double()
    total = 0.0
    for i, (words, tags) in enumerate(SENTENCES):
        batch = batch_of([i])
        logits = model.task_net({"tokens": batch["tokens"], "case": batch["case"]}).logits[0].tolist()
        for scores, tag in zip(logits, tags):
            total += math.log(sum(map(math.exp, scores))) - scores[LABELS.index(tag)]
    assert model(**batch_of())["loss"].item() == pytest.approx(total / 3)
    # What trainers call is the same loss.
    assert model.task_net_loss(model.task_state(**batch_of())).item() == pytest.approx(total / 3)
    assert "tags" not in model(**batch_of()) and "loss" not in model.eval()(**batch_of(gold=False))


@pytest.mark.parametrize("more", [{}, NCE, SPEN, {"output_space": "crf_tag_sequence", "encoding": None}])
def test_prediction_is_legal_and_does_not_see_padding(more):
    model = model_of(**more).eval()
    model.with_energy = True
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)
    together = model.make_output_human_readable(model(**batch_of(gold=False)))
    for i, (words, _) in enumerate(SENTENCES):
        alone = model.make_output_human_readable(model(**batch_of([i], gold=False)))
        (tags,) = alone["tags"]
        assert len(tags) == len(words) and together["tags"][i] == tags
        assert model.output_space.encoding is None or first_broken(tags, "BIOES") is None
        assert alone["log_prob"].item() <= 0
        assert together["log_prob"][i].item() == pytest.approx(alone["log_prob"].item(), rel=1e-3, abs=1e-5)
        assert ("energy" in alone) == ("loss_net" in more)
        if "loss_net" in more:
            assert together["energy"][i].item() == pytest.approx(alone["energy"].item(), rel=1e-4, abs=1e-5)


def test_tags_that_no_encoding_constrains_still_have_entities():
    model = model_of().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)
    free = model_of(constrained=False).eval()
    free.load_state_dict(model.state_dict())
    batch = batch_of()
    found = free.make_output_human_readable(free(**batch))["tags"]
    best = free.task_state(**batch).logits.argmax(dim=-1).tolist()
    assert found == [[LABELS[tag] for tag in row[: len(words)]] for row, (words, _) in zip(best, SENTENCES)]
    assert found != model.make_output_human_readable(model(**batch))["tags"]
    score = TaggingScore()
    score(found, [tags for _, tags in SENTENCES])
    assert free.get_metrics()["f1"] == score.get_metric()["f1"]


def test_energy_alone_predicts_what_has_least_of_it():
    inference = {**DESCENT, "keep": "best", "num_steps": 300}
    model = model_of(encoding=None, **{**SPEN, "inference": inference}).eval()
    batch = batch_of(gold=False)
    with torch.no_grad():
        # Without pairs each token has the tag of the least energy of its own.
        model.loss_net.energies[1].transitions.zero_()
        model.loss_net.energies[0].label_embeddings.weight.mul_(50)
        inputs = {"tokens": batch["tokens"], "case": batch["case"]}
        scores = model.loss_net.energies[0].condition(model.loss_net.encoder(inputs))
    output = model.make_output_human_readable(model(**batch))
    for (words, _), tags, row in zip(SENTENCES, output["tags"], scores):
        assert tags == [LABELS[tag] for tag in row[: len(words)].argmin(dim=-1).tolist()]


def test_where_the_energys_optimum_is_illegal_the_energy_chooses_among_legal_sequences(monkeypatch):
    model = model_of(**SPEN).eval()
    with torch.no_grad():
        model.loss_net.energies[0].label_embeddings.weight.mul_(50)
    batch = batch_of(gold=False)
    # A `B-ITM` alone in each sentence, and otherwise what is legal.
    tags = torch.full((3, 6), LABELS.index("O"))
    tags[:, 1] = LABELS.index("B-ITM")
    monkeypatch.setattr(model, "infer", lambda state: model.output_space.one_hot(tags).float())
    state = model.task_state(tokens=batch["tokens"], case=batch["case"])
    output = model(**batch)
    for row, (words, _) in enumerate(SENTENCES):
        found = output["tags"][row, : len(words)].tolist()
        assert first_broken([LABELS[tag] for tag in found], "BIOES") is None
        near = [[*tags[row, :1].tolist(), tag, *tags[row, 2 : len(words)].tolist()] for tag in range(len(LABELS))]
        near += [[*tags[row, :2].tolist(), tag, *tags[row, 3 : len(words)].tolist()] for tag in range(len(LABELS))]
        legal = [path for path in near if first_broken([LABELS[tag] for tag in path], "BIOES") is None]
        padded = torch.tensor([path + [0] * (6 - len(path)) for path in [found, *legal]])
        energies = model.energy(state.of_rows(torch.tensor([row])), padded.unsqueeze(0))[0]
        # None that differs in one tag has less; they differ, and the first of them would be a bad choice.
        assert len(legal) > 2 and energies[0] <= energies.min() < energies[1] - 0.1


def test_a_loss_that_draws_draws_from_a_crf():
    model = model_of(output_space="crf_tag_sequence", task_loss={"type": "task_net_ranking"})
    loss = model.task_net_loss(model.task_state(**batch_of()))
    loss.backward()
    assert loss > 0 and model.output_space.crf.transitions.grad.abs().sum() > 0


@pytest.mark.parametrize("output_space", ["tag_sequence", "legal_tag_sequence", "crf_tag_sequence"])
def test_the_task_net_follows_the_energy_of_draws(output_space):
    """Many small steps lower the energy of what is drawn, with the loss-net as it is."""
    more = {"task_loss": {"type": "through_draws", "num_samples": 20, "cross_entropy_weight": 0}}
    model, batch = model_of(output_space=output_space, **NCE, **more).eval(), batch_of()
    with torch.no_grad():
        model.loss_net.energies[0].label_embeddings.weight.mul_(5)
    optimizer = torch.optim.Adam(model.task_net_parameters(), lr=0.01)
    first = model.task_state(**batch)

    def mean_energy():
        with torch.no_grad():
            state = model.task_state(**batch)
            return model.energy(first, model.output_space.sample(state.logits, 200, state.mask)).mean().item()

    before = mean_energy()
    for _ in range(30):
        state = model.task_state(**batch)
        optimizer.zero_grad()
        model.task_net_loss(state, model.frozen_features(state)).backward()
        optimizer.step()
    assert mean_energy() < before - 0.5
    assert not [name for name, parameter in model.loss_net.named_parameters() if parameter.grad is not None]


def test_alignment_is_the_cosine_with_the_gradient_of_cross_entropy(monkeypatch):
    model, batch = model_of(**NCE, task_loss={"energy_weight": 0.1}).eval(), batch_of()
    state = model.task_state(**batch)
    space, _mask, gold = model.output_space, state.mask, state.gold

    def minus_cross_entropy(_, outputs, mask):
        logits = space.to_logits(outputs.squeeze(1).unsqueeze(1)).squeeze(1)
        return -space.cross_entropy(logits, gold, mask).unsqueeze(1)

    monkeypatch.setattr(model.loss_net, "forward", minus_cross_entropy)
    assert model.energy_alignment(state).item() == pytest.approx(-1, abs=1e-4)
    monkeypatch.setattr(model.loss_net, "forward", lambda _, outputs, mask: 0 * outputs.sum(dim=(2, 3)))
    assert model.energy_alignment(state).item() == 0


def test_metrics():
    model = model_of(by_label=True).eval()
    output = model.make_output_human_readable(model(**batch_of()))
    pairs = [(ours, theirs) for (_, gold), tags in zip(SENTENCES, output["tags"]) for ours, theirs in zip(tags, gold)]
    metrics = model.get_metrics(reset=True)
    assert metrics["accuracy"] == pytest.approx(100 * sum(a == b for a, b in pairs) / 12)
    assert {"precision", "recall", "f1", "f1-SEL"} <= set(metrics)
    assert model.get_metrics()["accuracy"] == 0
    # Tags that write no entities.
    plain = model_of(encoding=None).eval()
    output = plain.make_output_human_readable(plain(**batch_of()))
    assert "spans" not in output and set(plain.get_metrics()) == {"accuracy", "exact_match", "f1"}


@pytest.mark.parametrize("output_space", ["tag_sequence", "crf_tag_sequence"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_an_output_that_is_not_finite_is_not_scored(output_space, value):
    model, batch = model_of(output_space=output_space).eval(), batch_of()
    batch["metadata"][1]["source"] = "train.txt:8"

    def spoil(_, inputs, found):
        return found._replace(logits=found.logits.index_fill(0, torch.tensor(1), value))

    model.task_net.register_forward_hook(spoil)
    with torch.no_grad(), pytest.raises(NonFiniteOutput, match="train.txt:8"):
        model(**batch)


def test_mistakes_in_the_config():
    with pytest.raises(ConfigurationError, match="model.by_label"):
        model_of(encoding=None, by_label=True)
    with pytest.raises(ConfigurationError, match="model.task_net"):
        model_of(task_net=None)
    with pytest.raises(ConfigurationError, match="model.output_space.type"):
        params = {"type": "seal_tagging", "output_space": {"type": "label_set", "namespace": "tags"}}
        Model.from_params(Params({**params, "task_net": {"encoder": copy.deepcopy(ENCODER)}}), vocab=VOCAB)


@pytest.mark.parametrize("output_space", ["tag_sequence", "crf_tag_sequence"])
def test_tags_that_training_never_had_are_missed(output_space, caplog):
    model, batch = model_of(output_space=output_space).eval(), batch_of()
    output = model.make_output_human_readable(model(**batch))
    before = model.get_metrics(reset=True)
    batch["metadata"][1].update(tags=["S-PLANT", "O", "S-LOC"], source="test.txt:1", lines=[1, 2, 3])
    batch["tags"][1, 0] = 0
    loss = model(**batch)["loss"].item()
    metrics = model.get_metrics(reset=True)
    right = output["tags"][1][0] == "S-ITM"
    assert metrics["accuracy"] == pytest.approx(before["accuracy"] - 100 * right / 12)
    found = model.make_output_human_readable(dict(model(**batch)))["spans"]
    gold = [{("SEL", 0, 0), ("ITM", 2, 3), ("LOC", 5, 5)}, {("PLANT", 0, 0), ("LOC", 2, 2)}, {("LOC", 0, 1)}]
    correct = sum(len(set(ours) & theirs) for ours, theirs in zip(found, gold))
    assert metrics["recall"] == pytest.approx(100 * correct / 6)
    model.get_metrics(reset=True)
    assert "1 of 12 gold tags" in caplog.text and "test.txt:1: 'S-PLANT'" in caplog.text
    assert loss == pytest.approx(model(**batch_of([0, 2]))["loss"].item())
    with pytest.raises(ConfigurationError, match="test.txt:1.*'S-PLANT'"):
        model.train().task_state(**batch)
