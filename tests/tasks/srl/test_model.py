import math
import re

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.nets import TaskNetOutput
from seal.tasks.base.scored_rows import NonFiniteOutput
from tests.spine import FINDER_ROWS, FRAMES, SENTENCES, VOCAB, is_legal, seal_model, srl_batch, srl_model

LABELS = [VOCAB.get_token_from_index(i, "srl_tags") for i in range(VOCAB.get_vocab_size("srl_tags"))]


def loss_by_hand(model, rows):
    """Summed over words, averaged over the rows of each kind, in Python floats, a sentence at a time."""
    cross_entropy, found = [], []
    for row in rows:
        words, predicate, tags = SENTENCES[row]
        batch = srl_batch([row])
        logits, hidden, _ = model.task_net({"tokens": batch["tokens"], "predicate": batch["predicate"]})
        if predicate is None:
            odds = model.predicate_logits(hidden)[0].tolist()
            gold = [word in ("cut", "left", "boiled") for word in words]
            found.append(sum(math.log1p(math.exp(-z if is_one else z)) for z, is_one in zip(odds, gold)))
        else:
            total = 0.0
            for scores, tag in zip(logits[0].tolist(), tags):
                total += math.log(sum(map(math.exp, scores))) - scores[LABELS.index(tag)]
            cross_entropy.append(total)
    return sum(sum(values) / len(values) for values in (cross_entropy, found) if values)


@pytest.mark.parametrize("rows", [range(5), FRAMES, FINDER_ROWS, [0], [4]])
def test_the_loss_by_hand(rows):
    model = srl_model()
    expected = loss_by_hand(model, rows)
    assert model(**srl_batch(rows))["loss"].item() == pytest.approx(expected)
    assert model.eval()(**srl_batch(rows))["loss"].item() == pytest.approx(expected)
    # What trainers call is the same loss.
    assert model.task_net_loss(model.task_state(**srl_batch(rows))).item() == pytest.approx(expected)


def test_padding_changes_no_gradient():
    model = srl_model()
    model(**srl_batch(FRAMES))["loss"].backward()
    together = [parameter.grad for parameter in model.parameters()]
    model.zero_grad(set_to_none=True)
    sum(model(**srl_batch([row]))["loss"] for row in FRAMES).div(3).backward()
    for one, other in zip(together, model.parameters()):
        assert torch.allclose(one, other.grad)


@pytest.mark.parametrize("output_space", ["tag_sequence", "crf_tag_sequence"])
def test_prediction(output_space):
    model, batch = srl_model(output_space=output_space, seed=1).eval(), srl_batch()
    with torch.no_grad():
        # Logits far from legal: inside tags everywhere.
        model.task_net._head.weight.mul_(8)
        for i, label in enumerate(LABELS):
            if label[0] == "I":
                model.task_net._head.bias[i] = 3.0
    output = model(**batch)
    decoded = model.make_output_human_readable(dict(output))["tags"]
    inside = 0
    for row in FRAMES:
        n = len(SENTENCES[row][0])
        assert is_legal(decoded[row][:n])
        inside += sum(tag[0] == "I" for tag in decoded[row][:n])
        logits, *_ = model.task_net({name: srl_batch([row])[name] for name in ("tokens", "predicate")})
        single = model.output_space.log_prob(logits, output["tags"][row, None, None, :n])
        assert output["log_prob"][row].item() == pytest.approx(single.item())
    assert inside > 0
    # The predicate finder: a probability a word, 0 at padding.
    for row in FINDER_ROWS:
        n = len(SENTENCES[row][0])
        logits, hidden, _ = model.task_net({name: srl_batch([row])[name] for name in ("tokens", "predicate")})
        expected = [1 / (1 + math.exp(-z)) for z in model.predicate_logits(hidden)[0].tolist()]
        assert output["predicate_prob"][row, :n].tolist() == pytest.approx(expected)
        assert output["predicate_prob"][row, n:].abs().sum() == 0


def answer(model, tokens, tags):
    """What a task-net returns that is sure of `tags` (strings, a row each)."""
    logits = torch.zeros(len(tags), tokens, len(LABELS), dtype=torch.double)
    for b, row in enumerate(tags):
        for t, tag in enumerate(row):
            logits[b, t, LABELS.index(tag)] = 9.0
    return TaskNetOutput(logits, torch.zeros(len(tags), tokens, model.task_net.get_output_dim(), dtype=torch.double))


def test_metrics(monkeypatch):
    model, batch = srl_model().eval(), srl_batch()
    tags = [list(row[2]) for row in SENTENCES]
    tags[0] = "B-ARG1 I-ARG1 B-V B-ARG1".split()  # Of gold's two arguments one is right; ARG1 stands twice.
    tags[3] = ["B-ARG0", "I-ARG0", "B-V", "O", "O"]  # A row without a predicate counts nowhere.
    tokens = batch["predicate"].shape[1]
    monkeypatch.setattr(type(model.task_net), "forward", lambda self, inputs, mask: answer(model, tokens, tags))
    # Words 0 and 3 of the first row without a predicate, and nothing of the second: 1 right of 2, of 2 in gold.
    odds = torch.full((5, tokens), 9.0, dtype=torch.double)
    odds[3], odds[4] = -9.0, -9.0
    odds[3, 0] = odds[3, 3] = 9.0
    monkeypatch.setattr(model, "predicate_logits", lambda hidden: odds)
    output = model(**batch)
    for row, words in enumerate(SENTENCES[:3]):
        assert [LABELS[t] for t in output["tags"][row, : len(words[0])].tolist()] == tags[row]
    metrics = model.get_metrics(reset=True)
    # Gold has 2 + 1 + 2 arguments besides V, and as many are predicted, 4 of them right.
    for name in ("precision", "recall", "f1"):
        assert metrics[name] == pytest.approx(100 * 4 / 5)
    assert metrics["ucr"] == pytest.approx(100 / 3)
    assert metrics["predicate_f1"] == pytest.approx(100 * 2 * 1 / (2 + 2))
    assert "predicate_f1" not in model.get_metrics()


@pytest.mark.parametrize("rows", [FRAMES, FINDER_ROWS])
def test_metrics_of_one_kind_of_row(rows):
    model = srl_model().eval()
    model(**srl_batch(rows))
    metrics = model.get_metrics(reset=True)
    assert all(math.isfinite(value) for value in metrics.values())
    assert ("predicate_f1" in metrics) == (rows == FINDER_ROWS)


@pytest.mark.parametrize("part", ["task_net", "_predicate_head"])
def test_an_output_that_is_not_finite_is_not_scored(part):
    model, batch = srl_model().eval(), srl_batch()
    with torch.no_grad():
        for parameter in getattr(model, part).parameters():
            parameter.fill_(1e308)
    with pytest.raises(NonFiniteOutput):
        model(**batch)


def test_energy_of_the_decoded_frame():
    model, batch = seal_model().eval(), srl_batch()
    assert "energy" not in model(**batch)
    model.with_energy = True
    output = model(**batch)
    for row in FRAMES:
        single = srl_batch([row])
        state = model.task_state(**single)
        n = state.logits.shape[1]
        energy = model.loss_net(model.frozen_features(state), output["tags"][row, None, None, :n])
        assert output["energy"][row].item() == pytest.approx(energy.item())


def test_without_gold():
    model, batch = srl_model().eval(), srl_batch()
    output = model(batch["tokens"], batch["predicate"])
    assert "loss" not in output and torch.equal(output["tags"], model(**batch)["tags"])


def test_training_does_not_decode():
    assert set(srl_model()(**srl_batch())) == {"loss", "predicate_prob"}


def test_the_crf_trains():
    model = srl_model(output_space="crf_tag_sequence")
    batch = srl_batch()
    transitions = model.output_space.crf.transitions
    assert any(parameter is transitions for parameter in model.task_net_parameters())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    values = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = model.task_net_loss(model.task_state(**batch))
        loss.backward()
        assert transitions.grad.abs().max() > 0
        optimizer.step()
        values.append(loss.item())
    assert values[-1] < 0.6 * values[0]


def test_training_fits_the_data():
    """The two players in turn, by hand: the task-net learns the five rows by heart."""
    model, batch = seal_model(task_loss={"energy_weight": 0.05}), srl_batch()
    players = [
        torch.optim.Adam(model.loss_net_parameters(), lr=0.01),
        torch.optim.Adam(model.task_net_parameters(), lr=0.05),
    ]
    for _ in range(40):
        state = model.task_state(**batch)
        loss = model.loss_net_loss(state, model.sample(state))
        players[0].zero_grad()
        loss.backward()
        players[0].step()
        loss = model.task_net_loss(state, model.frozen_features(state))
        players[1].zero_grad()
        loss.backward()
        players[1].step()
    model.eval()(**batch)
    metrics = model.get_metrics(reset=True)
    assert metrics["f1"] == pytest.approx(100) and metrics["predicate_f1"] == pytest.approx(100)


def test_roles_that_training_never_had_are_missed(caplog):
    """As srl-eval.pl, which compares arguments and knows no vocabulary."""
    model = srl_model(seed=3, by_role=True).eval()
    batch = srl_batch(FRAMES)
    known = model(**batch)["loss"]
    model.get_metrics(reset=True)
    gold = [list(item["tags"]) for item in batch["metadata"]]
    # "it boiled the old cook": its ARG1 becomes a role that the vocabulary lacks, and of unknown tags the field makes
    # 0.
    gold[2][2:5] = ["B-ARG7", "I-ARG7", "I-ARG7"]
    batch["metadata"][2].update(tags=gold[2], source="test.conll:9")
    batch["tags"][2, 2:5] = 0
    output = model.make_output_human_readable(model(**batch))
    correct = predicted = wanted = 0
    for tags, gold_tags in zip(output["tags"], gold):
        found, right = (
            {span for span in arguments(words) if span[0] != "V"} for words in (tags[: len(gold_tags)], gold_tags)
        )
        correct, predicted, wanted = correct + len(found & right), predicted + len(found), wanted + len(right)
    metrics = model.get_metrics(reset=True)
    assert metrics["recall"] == pytest.approx(100 * correct / wanted) and wanted == 5
    assert metrics["precision"] == pytest.approx(100 * correct / predicted)
    assert metrics["f1-ARG7"] == 0.0
    assert "3 of 13 gold tags, in 1 instance," in caplog.text and "test.conll:9: 'B-ARG7'" in caplog.text
    # The row has no loss.
    assert output["loss"].item() == pytest.approx(model(**srl_batch(FRAMES[:2]))["loss"].item())
    assert output["loss"].item() != pytest.approx(known.item())
    with pytest.raises(ConfigurationError, match="test.conll:9.*'B-ARG7'"):
        model.train()(**batch)
    with pytest.raises(ConfigurationError, match="test.conll:9"):
        model.task_state(**batch)


def arguments(tags):
    """The spans of BIO tags, by a regular expression."""
    text = " ".join(tags) + " "
    for match in re.finditer(r"(?<!\S)B-(\S+) (?:I-\1 )*", text):
        first = text[: match.start()].count(" ")
        yield match[1], first, first + match[0].count(" ") - 1
