import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.output_spaces import Candidates
from tests import multilabel, segmentation, trees
from tests.spine import FINDER_ROWS, FRAMES, SENTENCES, loss_net_params, seal_model, srl_batch, srl_model
from tests.tasks.parsing.test_model import NCE as NCE_OF_TREES
from tests.tasks.tagging import test_model as tagging
from tests.tasks.text import test_model as texts

METHODS = {
    "nce": {},
    "ranking": {"energy_loss": {"type": "ranking"}},
    "margin": {"energy_loss": {"type": "margin"}, "sampler": {"type": "task_net_output"}},
    "gaussian": {"energy_loss": {"type": "ranking"}, "sampler": {"type": "gaussian_perturbation", "num_samples": 3}},
    "stack": {
        "energy_loss": {"type": "ranking"},
        "sampler": {"type": "stack", "samplers": [{"type": "discrete", "num_samples": 4}, {"type": "task_net_output"}]},
    },
}
by_method = pytest.mark.parametrize("method", METHODS)
by_encoder = pytest.mark.parametrize("shared", [False, True])


def losses(model, batch):
    state = model.state_of_all_nets(**batch)
    loss_net_loss = model.loss_net_loss(state, model.sample(state))
    # Without a task-net the energy has nobody else to train.
    return loss_net_loss, None if model.task_net is None else model.task_net_loss(state, model.frozen_features(state))


def is_moved(parameter):
    return parameter.grad is not None and parameter.grad.abs().max() > 0


def assert_each_moves_its_own(model, batch):
    theta = {id(parameter) for parameter in model.loss_net_parameters()}
    phi = {id(parameter) for parameter in model.task_net_parameters()}
    assert theta and not theta & phi and theta | phi == {id(p) for p in model.parameters()}
    assert bool(phi) == (model.task_net is not None)
    for turn, own in ((0, theta), (1, phi)) if phi else ((0, theta),):
        model.zero_grad(set_to_none=True)
        losses(model, batch)[turn].backward()
        for name, parameter in model.named_parameters():
            assert is_moved(parameter) == (id(parameter) in own), name


@by_method
@by_encoder
def test_each_loss_moves_its_own_player(method, shared):
    assert_each_moves_its_own(seal_model(shared, **METHODS[method]), srl_batch())


#: By the name of a task and its method: the model.
MODELS = {
    "tags": lambda: tagging.model_of(**tagging.NCE),
    "tags by energy alone": lambda: tagging.model_of(**tagging.SPEN),
    "trees": lambda: trees.model_of(**NCE_OF_TREES),
    "trees with a stacked net": lambda: trees.model_of(**trees.STACKED),
    "trees with a shared net": lambda: trees.model_of(**{**trees.STACKED, "cost_augmented_net": {"type": "shared"}}),
    "texts": lambda: texts.model(texts.batch()[0], **texts.SEPARATE),
    "texts with a shared encoder": lambda: texts.model(texts.batch()[0], **texts.SHARED),
    "features": lambda: multilabel.model(**multilabel.seal_parts()),
    "masks": lambda: segmentation.model(**segmentation.seal_parts()),
}
BATCHES = {
    "tags": tagging.batch_of,
    "trees": trees.batch_of,
    "texts": lambda: texts.batch()[1],
    "features": multilabel.batch,
    "masks": segmentation.batch,
}


@pytest.mark.parametrize("name", MODELS)
def test_each_loss_moves_its_own_player_in_every_task(name):
    assert_each_moves_its_own(MODELS[name](), BATCHES[name.split()[0]]())


@by_encoder
def test_the_energy_of_given_outputs(shared):
    """Against the loss-net itself, row by row, each without its padding."""
    model = seal_model(shared)
    state = model.task_state(**srl_batch())
    gold = state.gold.unsqueeze(1)
    tags = torch.cat([gold, (gold + 1) % state.logits.shape[-1]], dim=1)
    found = model.energy(state, tags)
    assert found.shape == tags.shape[:2] and not found.requires_grad and model.loss_net.training
    model.eval()
    for row, index in enumerate(FRAMES):
        single = model.task_state(**srl_batch([index]))
        n = single.mask.shape[1]
        features = model.loss_net.encode(single.inputs, single.hidden, single.mask)
        expected = model.loss_net(features, tags[row : row + 1, :, :n], single.mask)
        assert torch.allclose(found[row], expected[0])
    # Relaxed outputs may be descended.
    relaxed = model.output_space.relax(state.logits.detach(), state.mask).requires_grad_()
    model.energy(state, relaxed).sum().backward()
    assert relaxed.grad.abs().max() > 0 and all(p.grad is None for p in model.parameters())


def test_outputs_of_another_shape_or_kind_are_told():
    model = seal_model()
    state = model.task_state(**srl_batch())
    one = state.gold.unsqueeze(1)
    for wrong in (state.gold, one[:-1], one[..., :-1], state.gold[:, :1], one + 6):
        with pytest.raises(ConfigurationError, match="outputs: "):
            model.energy(state, wrong)


def test_the_energy_of_no_rows():
    model = seal_model()
    state = model.task_state(**srl_batch(FINDER_ROWS))
    assert model.energy(state, state.gold.unsqueeze(1)).shape == (0, 1)


@by_method
def test_candidates_are_constants(method):
    model = seal_model(**METHODS[method])
    state = model.task_state(**srl_batch())
    candidates = model.sample(state)
    for value in vars(candidates).values():
        assert not isinstance(value, torch.Tensor) or not value.requires_grad
    assert all(not value.requires_grad for value in model.frozen_features(state) if value is not None)
    # And the task-net is as it was, ready for its turn.
    assert state.logits.requires_grad and model.training and model.loss_net.training
    assert all(parameter.requires_grad for parameter in model.parameters())


@by_encoder
def test_the_energy_in_the_task_loss_sees_no_dropout(shared):
    model, batch = seal_model(shared), srl_batch(FRAMES)
    model.loss_net._dropout.p = 0.5
    model.loss_net.energies[2].dropout = 0.5
    model.train()
    values = [losses(model, batch)[1].item() for _ in range(3)]
    assert values[0] == values[1] == values[2]
    candidates = model.sample(model.task_state(**batch))
    # While the loss-net trains with its dropout.
    assert len({model.loss_net_loss(model.task_state(**batch), candidates).item() for _ in range(3)}) == 3


@by_encoder
def test_the_joint_loss_sees_no_dropout_of_the_loss_net(shared):
    """Though its gradient reaches the loss-net: second derivatives are of one function."""
    model, batch = seal_model(shared), srl_batch(FRAMES)
    model.loss_net._dropout.p = 0.5
    model.loss_net.energies[2].dropout = 0.5
    first, second = (model.joint_loss(batch) for _ in range(2))
    assert first.item() == second.item() == model.eval().joint_loss(batch).item()
    first.backward()
    assert is_moved(model.loss_net.energies[0].label_embeddings.weight)


def test_inference_from_the_energy_does_not_see_padding():
    """Each row descends the energy of its own words, as alone."""
    sampler = {"type": "gradient_based_inference", "start": "task_net", "num_steps": 4, "step_size": 0.5}
    model = seal_model(sampler=sampler, energy_loss={"type": "ranking"}).eval()
    state = model.task_state(**srl_batch(FRAMES))
    together = model.sample(state).outputs
    moved = (together - model.output_space.relax(state.logits, state.mask)).abs().flatten(1).amax(dim=1)
    assert (moved > 1e-3).all()
    for row in FRAMES:
        n = len(SENTENCES[row][0])
        alone = model.sample(model.task_state(**srl_batch([row]))).outputs
        assert torch.allclose(together[row, :, :n], alone[0]) and not together[row, :, n:].any()


@by_method
def test_rows_without_a_predicate_do_not_reach_the_loss_net(method):
    model = seal_model(**METHODS[method])
    seen = []
    model.loss_net.encoder.register_forward_hook(lambda module, args, output: seen.append(len(output)))
    found = []
    for change in (False, True):
        batch = srl_batch()
        if change:
            words = batch["tokens"]["tokens"]["tokens"]
            for row in FINDER_ROWS:
                n = len(SENTENCES[row][0])
                words[row, :n] = words[row, :n].flip(0)
            batch["tags"][FINDER_ROWS] = 1
        torch.manual_seed(7)
        found.append(losses(model, batch))
    assert found[0][0].item() == found[1][0].item() and found[0][1].item() != found[1][1].item()
    assert set(seen) == {3}
    # They are not there at all: without them the loss is the same.
    state = model.task_state(**srl_batch())
    candidates = model.sample(state)
    alone = model.loss_net_loss(model.task_state(**srl_batch(FRAMES)), candidates)
    assert alone.item() == pytest.approx(model.loss_net_loss(state, candidates).item())


@by_method
@by_encoder
def test_a_batch_without_frames(method, shared):
    model, batch = seal_model(shared, **METHODS[method]), srl_batch(FINDER_ROWS)
    loss_net_loss, task_net_loss = losses(model, batch)
    assert loss_net_loss.item() == 0 < task_net_loss.item()
    loss_net_loss.backward()
    assert all(parameter.grad is None for parameter in model.parameters())
    model.zero_grad(set_to_none=True)
    task_net_loss.backward()
    assert is_moved(model._predicate_head.weight) and is_moved(model.task_net.encoder._predicate.weight)
    assert all(parameter.grad is None for parameter in model.loss_net_parameters())
    # No frame, no cross-entropy: the head of tags stays.
    assert not is_moved(model.task_net._head.weight)


@by_method
@by_encoder
def test_batch_losses_are_means_of_instances_alone(method, shared):
    """Padding changes no loss: each instance alone, with its own part of the same draws."""
    model = seal_model(shared, task_loss={"energy_weight": 0.3}, **METHODS[method]).eval()
    state = model.task_state(**srl_batch(FRAMES))
    together = model.sample(state)
    loss_net_loss = model.loss_net_loss(state, together).item()
    task_net_loss = model.task_net_loss(state, model.frozen_features(state)).item()
    alone = []
    for row in FRAMES:
        n = len(SENTENCES[row][0])
        parts = {name: None if value is None else value[row : row + 1] for name, value in vars(together).items()}
        parts["outputs"] = parts["outputs"][:, :, :n]
        single = model.task_state(**srl_batch([row]))
        assert single.logits.shape[1] == n
        alone.append(
            (
                model.loss_net_loss(single, Candidates(**parts)).item(),
                model.task_net_loss(single, model.frozen_features(single)).item(),
            )
        )
    assert loss_net_loss == pytest.approx(sum(value for value, _ in alone) / 3)
    assert task_net_loss == pytest.approx(sum(value for _, value in alone) / 3)


def test_loss_net_loss_by_hand():
    """NCE with energies evaluated one output at a time, in Python floats."""
    model = seal_model().eval()
    state = model.task_state(**srl_batch(FRAMES))
    candidates = model.sample(state)
    features = model.frozen_features(state)
    total = 0.0
    for b in range(3):
        ranks = []
        outputs = torch.cat([state.gold.unsqueeze(1), candidates.outputs], dim=1)
        for k in range(outputs.shape[1]):
            output = outputs[:, k : k + 1]
            energy = model.loss_net(features, output, state.mask)[b, 0]
            token_log_probs = state.logits[b].log_softmax(-1)
            noise = sum(token_log_probs[t, output[b, 0, t]] for t in range(len(SENTENCES[b][0])))
            count = 1.0 if k == 0 else candidates.log_count[b, k - 1].exp().item()
            ranks.append(count * torch.exp(-energy - noise).item())
        total += -torch.tensor(ranks[0] / sum(ranks)).log().item()
    assert model.loss_net_loss(state, candidates).item() == pytest.approx(total / 3, rel=1e-5)


def test_without_energy_the_task_net_trains_as_without_a_loss_net():
    batch = srl_batch()
    plain, full = srl_model(seed=3), seal_model(seed=3, task_loss={"energy_weight": 0.0})
    found = []
    for model in (plain, full):
        state = model.task_state(**batch)
        features = model.frozen_features(state) if model.loss_net is not None else None
        loss = model.task_net_loss(state, features)
        loss.backward()
        found.append((loss, [parameter.grad for parameter in model.task_net_parameters()]))
    assert found[0][0].item() == found[1][0].item() == plain(**batch)["loss"].item()
    assert len(found[0][1]) == len(found[1][1]) > 0
    assert all(torch.equal(one, other) for one, other in zip(found[0][1], found[1][1]))


def test_the_start_of_the_task_net_is_the_same_with_a_loss_net():
    plain, full = srl_model(seed=4), seal_model(seed=4)
    assert len(plain.task_net_parameters()) == len(full.task_net_parameters()) == len(list(plain.parameters()))
    for one, other in zip(plain.task_net_parameters(), full.task_net_parameters()):
        assert torch.equal(one, other)


def test_the_loss_net_leaves_the_random_stream_alone():
    after = []
    for build in (srl_model, seal_model):
        build(seed=4)
        after.append(torch.rand(3))
    assert torch.equal(*after)


def test_the_energies_that_are_logged():
    """One output at a time."""
    model = seal_model().eval()
    state = model.task_state(**srl_batch(FRAMES))
    losses(model, srl_batch(FRAMES))
    features, metrics = model.frozen_features(state), model.get_metrics(reset=True)
    relaxed = model.output_space.relax(state.logits, state.mask)
    for name, output in (("energy_gold", state.gold.unsqueeze(1)), ("energy_prediction", relaxed)):
        assert metrics[name] == pytest.approx(model.loss_net(features, output, state.mask).mean().item())
    # Of candidates that stand for several draws: a mean over these; a filler stands for none.
    outputs = torch.stack([state.gold, state.logits.argmax(dim=-1), state.gold], dim=1)
    log_count = torch.tensor([3.0, 1.0, 0.0]).log().expand(len(outputs), 3)
    noise = {"noise_log_prob": torch.zeros(len(outputs), 3), "gold_noise_log_prob": torch.zeros(len(outputs))}
    model.loss_net_loss(state, Candidates(outputs, log_count=log_count, **noise))
    energy = model.loss_net(features, outputs, state.mask)
    wanted = (3 * energy[:, 0] + energy[:, 1]).mean().item() / 4
    assert model.get_metrics(reset=True)["energy_candidates"] == pytest.approx(wanted)
    assert metrics["energy_gold"] != pytest.approx(metrics["energy_prediction"])


@pytest.mark.parametrize(
    "sampler",
    [
        {"type": "task_net_output"},
        {"type": "gaussian_perturbation"},
        {"type": "gold"},
        {"type": "stack", "samplers": [{"type": "discrete"}]},
    ],
)
def test_nce_needs_the_noise(sampler):
    with pytest.raises(ConfigurationError, match="model.energy_loss: NceRankingLoss"):
        srl_model(loss_net_params(), sampler, {"type": "nce_ranking"})
    srl_model(loss_net_params(), sampler, {"type": "ranking"})


@pytest.mark.parametrize(
    "sampler, loss, named",
    [
        (None, {"type": "ranking"}, "model.sampler"),
        ({"type": "discrete"}, None, "model.energy_loss"),
        ({"type": "discrete"}, {"type": "rewarded_contrastive_divergence"}, "'seal_partly_labelled_tagging'"),
    ],
)
def test_parts_that_are_missing_are_named(sampler, loss, named):
    with pytest.raises(ConfigurationError, match=named):
        srl_model(loss_net_params(), sampler, loss)


def test_without_gold_only_the_energy_can_be_followed():
    model, batch = seal_model(), srl_batch(FRAMES)
    del batch["tags"]
    state = model.task_state(**batch)
    for learn in (model.sample, model.task_net_loss):
        with pytest.raises(ConfigurationError, match="train_data_path"):
            learn(state)
    assert model.task_net_loss(state, model.frozen_features(state), supervised=False).requires_grad


def test_straight_through_takes_the_energy_at_the_argmax():
    model = seal_model(task_loss={"energy_weight": 0.7, "straight_through": True}).eval()
    state = model.task_state(**srl_batch(FRAMES))
    features = model.frozen_features(state)
    nearest = state.logits.argmax(-1).unsqueeze(1) * state.mask.unsqueeze(1)
    energy = model.loss_net(features, nearest, state.mask).mean()
    cross_entropy = model.output_space.cross_entropy(state.logits, state.gold, state.mask).mean()
    assert model.task_net_loss(state, features).item() == pytest.approx((0.7 * energy + cross_entropy).item())
