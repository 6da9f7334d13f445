"""Few references with tags and others without: what each adds to the losses, in whatever batch it stands."""

import copy
from dataclasses import replace

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Vocabulary
from allennlp.models import Model

from seal.hypergradients import ConjugateGradient, hypergradient
from seal.samplers import with_gradient
from seal.tasks.tagging.reader import TaggingReader
from tests.citations import TAGS, reference

ENCODER = {
    "type": "seq2seq",
    "embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 5}}},
    "encoder": {"type": "lstm", "input_size": 5, "hidden_size": 3, "bidirectional": True},
}
PARAMS = {
    "type": "seal_partly_labelled_tagging",
    "output_space": {"type": "tag_sequence", "encoding": None},
    "task_net": {"encoder": ENCODER},
    "loss_net": {"encoder": ENCODER, "energies": [{"type": "local"}, {"type": "linear_chain"}]},
    "sampler": {"type": "discrete", "num_samples": 4},
    "reward": {"type": "citation"},
    "task_loss": {"energy_weight": 0.3},
}
READER = TaggingReader(labelled=2)


def instances_of(rows, labelled=2):
    """The first two references have tags."""
    instances = []
    for row in rows:
        words, tags = reference(row)
        instance = READER.text_to_instance(words, tags if row < labelled else None)
        READER.apply_token_indexers(instance)
        instances.append(instance)
    return instances


VOCAB = Vocabulary.from_instances(instances_of(range(4)), tokens_to_add={"tags": TAGS})


def batch_of(rows, labelled=2):
    batch = Batch(instances_of(rows, labelled))
    batch.index_instances(VOCAB)
    return batch.as_tensor_dict()


def model_of(**more):
    torch.manual_seed(0)
    params = {name: value for name, value in {**PARAMS, **more}.items() if value is not None}
    return Model.from_params(Params(copy.deepcopy(params)), vocab=VOCAB).double()


def rows_of(candidates, rows, length):
    """Some rows of candidates, in a batch of their own."""
    values = {name: None if value is None else value[rows] for name, value in vars(candidates).items()}
    values["outputs"], values["target"] = values["outputs"][..., :length], values["target"][:, :length]
    return replace(candidates, **values)


@pytest.mark.parametrize("parts", [[[0, 1], [2, 3]], [[0, 2], [3, 1]], [[3], [0], [2], [1]]])
def test_a_row_adds_the_same_in_every_batch(parts):
    model = model_of()
    whole = model.state_of_all_nets(**batch_of(range(4)))
    candidates = model.sample(whole)
    losses = [
        model.loss_net_loss(whole, candidates),
        model.task_net_loss(whole, model.frozen_features(whole)),
        model.joint_loss(batch_of(range(4))),
    ]
    sums = torch.zeros(3, dtype=torch.double)
    for rows in parts:
        batch = batch_of(rows)
        state = model.state_of_all_nets(**batch)
        mine = rows_of(candidates, torch.tensor(rows), state.mask.shape[1])
        found = (
            model.loss_net_loss(state, mine),
            model.task_net_loss(state, model.frozen_features(state)),
            model.joint_loss(batch),
        )
        sums += torch.stack(found).detach() * len(rows) / 4
    assert torch.allclose(sums, torch.stack(losses).detach())


def test_tags_that_are_not_known_are_not_looked_at():
    model, batch = model_of(), batch_of(range(4))
    other = {**batch, "tags": batch["tags"].clone()}
    other["tags"][2:] = torch.randint(len(TAGS), other["tags"][2:].shape)
    losses = []
    for given in (batch, other):
        torch.manual_seed(3)
        state = model.state_of_all_nets(**given)
        candidates = model.sample(state)
        losses += [model.loss_net_loss(state, candidates), model.joint_loss(given)]
        losses[-1].backward(inputs=model.task_net_parameters())
    assert losses[0] == losses[2] and losses[1] == losses[3]


def test_the_task_loss_of_an_unlabelled_row_is_its_energy():
    model = model_of()
    batch = batch_of([2, 3])
    state = model.state_of_all_nets(**batch)
    features = model.frozen_features(state)
    relaxed = model.output_space.relax(state.logits, state.mask)
    energy = model.loss_net(features, relaxed, state.mask).mean()
    assert torch.allclose(model.task_net_loss(state, features), 0.3 * energy)
    assert torch.allclose(model.joint_loss(batch), 0.3 * energy)
    # With tags there is cross-entropy as well.
    state = model.state_of_all_nets(**batch_of([0, 1]))
    entropy = model.output_space.cross_entropy(state.logits, state.gold, state.mask).mean()
    energy = model.loss_net(
        model.frozen_features(state), model.output_space.relax(state.logits, state.mask), state.mask
    ).mean()
    assert torch.allclose(model.task_net_loss(state, model.frozen_features(state)), entropy + 0.3 * energy)


def test_what_stands_in_the_place_of_gold():
    model = model_of(search={"rounds": 3, "flips": 4})
    state = model.state_of_all_nets(**batch_of(range(4)))
    candidates = model.sample(state)
    assert candidates.labelled.tolist() == [True, True, False, False]
    assert torch.equal(candidates.target[:2], state.gold[:2]) and not candidates.reward_gap[:2].any()
    labels = model.output_space.labels
    for row in (2, 3):
        mask = state.mask[row : row + 1]
        reward = model._reward.of([reference(row)[0]], labels)
        value = reward(candidates.target[row][None, None], mask)
        others = reward(candidates.outputs[row : row + 1], mask)
        decoded = reward(model.output_space.decode(state.logits[row : row + 1]).unsqueeze(1), mask)
        assert float(value) >= float(others.max()) and float(value) >= float(decoded)
        assert torch.allclose(candidates.reward_gap[row], (value - others).squeeze(0), atol=2e-6)
    metrics = model.get_metrics()
    assert 0 < metrics["reward_draws"] < metrics["reward_target"] < 1


def test_the_reward_of_the_draws_counts_each_of_them():
    model = model_of(sampler={"type": "discrete", "num_samples": 40})
    state = model.state_of_all_nets(**batch_of([2, 3]))
    state.logits = torch.nn.functional.one_hot(torch.zeros_like(state.gold), len(TAGS)).double() * 8
    candidates = model.sample(state)
    rewards = model._reward.of(state.words, model.output_space.labels)(candidates.outputs, state.mask)
    times = candidates.log_count.exp().round().long()
    each = rewards.flatten().repeat_interleave(times.flatten())
    assert len(each) == 2 * 40 and float(each.mean()) != pytest.approx(float(rewards.mean()))
    assert model.get_metrics()["reward_draws"] == pytest.approx(float(each.mean()))


def test_rows_whose_candidates_tie_are_left_out():
    # A confident task-net draws one output again and again, and no search finds a better.
    model = model_of(search={"rounds": 0})
    state = model.state_of_all_nets(**batch_of(range(4)))
    state.logits = torch.nn.functional.one_hot(torch.zeros_like(state.gold), len(TAGS)).double() * 100
    candidates = model.sample(state)
    assert not candidates.reward_gap.any()
    state = replace(state, gold=candidates.target)
    labelled = replace(candidates, labelled=torch.ones(4, dtype=torch.bool))
    # Only the two rows with gold count; were all gold, all would.
    with torch.no_grad():
        some, every = (model.loss_net_loss(state, kind) for kind in (candidates, labelled))
    assert 0 < some < every


def test_without_a_tag_the_energy_learns_what_is_rewarded():
    """On fresh draws; the task-net stays as it is."""
    model = model_of(sampler={"type": "discrete", "num_samples": 20})
    batch = batch_of(range(4), labelled=0)
    optimizer = torch.optim.Adam(model.loss_net_parameters(), lr=0.02)

    def correlation():
        torch.manual_seed(9)
        state = model.state_of_all_nets(**batch)
        outputs = model.output_space.sample(state.logits, 200, state.mask)
        rewards = model._reward.of(state.words, model.output_space.labels)(outputs, state.mask)
        with torch.no_grad():
            energies = model.loss_net(model.frozen_features(state), outputs, state.mask)
        return [float(torch.corrcoef(torch.stack(pair))[0, 1]) for pair in zip(rewards.double(), -energies)]

    before = correlation()
    for _ in range(60):
        state = model.state_of_all_nets(**batch)
        loss = model.loss_net_loss(state, model.sample(state))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert max(before) < 0.3 < min(correlation())


def test_draws_come_from_torch_alone():
    model = model_of()
    state = model.state_of_all_nets(**batch_of(range(4)))
    found = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        found.append(model.sample(state))
    assert torch.equal(found[0].target, found[1].target) and torch.equal(found[0].reward_gap, found[1].reward_gap)
    assert found[2].outputs.shape != found[0].outputs.shape or not torch.equal(found[2].outputs, found[0].outputs)


def test_the_implicit_gradient_passes_through_draws_of_both_kinds():
    """Against the gradient's definition: the explicit part, and an implicit one that is 0 where the path is closed."""
    model = model_of().eval()
    batch = batch_of(range(4))
    candidates = model.sample(model.state_of_all_nets(**batch))
    theta = {n: p for n, p in model.named_parameters() if n.startswith("task_net")}
    psi = {n: p for n, p in model.named_parameters() if n.startswith("loss_net")}

    def primary(through):
        state = model.state_of_all_nets(**batch)
        return model.loss_net_loss(
            state, with_gradient(candidates, state.logits, model.output_space, state.mask, through)
        )

    explicit = torch.autograd.grad(primary("none"), list(psi.values()))
    solver = ConjugateGradient(max_steps=3, damping=50.0)
    found = hypergradient(lambda: model.joint_loss(batch), lambda: primary("straight_through"), theta, psi, solver)
    closed = hypergradient(lambda: model.joint_loss(batch), lambda: primary("none"), theta, psi, solver)
    assert found.report.implicit_norm > 0 and closed.report.implicit_norm == 0
    for name, expected in zip(psi, explicit):
        assert torch.allclose(closed.gradient[name], expected)
    # Rows without gold have a part in it; a row that says nothing has none.
    candidates.reward_gap[3] = 0
    state = model.state_of_all_nets(**batch)
    attached = with_gradient(candidates, state.logits, model.output_space, state.mask)
    (gradient,) = torch.autograd.grad(model.loss_net_loss(state, attached), state.logits)
    assert gradient.flatten(1).any(dim=1).tolist() == [True, True, True, False]


@pytest.mark.parametrize("path", ["relaxed", "soft"])
def test_a_new_candidate_has_no_reward(path):
    model = model_of()
    state = model.state_of_all_nets(**batch_of(range(4)))
    attached = with_gradient(model.sample(state), state.logits, model.output_space, state.mask, path)
    with pytest.raises(ConfigurationError, match="trainer.through"):
        model.loss_net_loss(state, attached)


def test_predictions_need_no_flags():
    model = model_of().eval()
    batch = batch_of(range(4))
    told = model(**batch)
    assert "loss" not in told and told["tags"].shape == batch["tags"].shape
    batch = batch_of(range(2))
    told, plain = model(**batch), {name: value for name, value in batch.items() if name != "labelled"}
    assert told["loss"] == model(**plain)["loss"]
    assert model.get_metrics(reset=True)["accuracy"] >= 0


def test_mistakes():
    for name, part in (
        ("sampler", {"type": "task_net_output"}),
        ("energy_loss", {"type": "contrastive_divergence"}),
        ("task_loss", {"type": "inference_network"}),
    ):
        with pytest.raises(ConfigurationError, match=f"model.{name}.type"):
            model_of(**{name: part})
    plain = {name: PARAMS[name] for name in ("output_space", "task_net")}
    model = Model.from_params(Params(copy.deepcopy({"type": "seal_tagging", **plain})), vocab=VOCAB)
    with pytest.raises(ConfigurationError, match="dataset_reader.labelled"):
        model(**batch_of(range(4)))


def test_a_tie_in_another_order_of_summing_is_a_tie(monkeypatch):
    """All outputs have one reward, whose terms are added up from one end for the search and from the other after it."""
    model = model_of(search={"rounds": 0})
    sums = [(0.7 + torch.tensor(0.3)) + 0.2 + 0.1, (0.1 + torch.tensor(0.2)) + 0.3 + 0.7]
    assert 0 < sums[0] - sums[1] < 1e-6
    values = iter(sums)
    monkeypatch.setattr(
        model._reward, "of", lambda *given: lambda outputs, mask: next(values).expand(outputs.shape[:2])
    )
    state = model.state_of_all_nets(**batch_of(range(4), labelled=0))
    candidates = model.sample(state)
    assert not list(values) and not candidates.reward_gap.any()
    assert model.loss_net_loss(state, candidates).item() == 0
