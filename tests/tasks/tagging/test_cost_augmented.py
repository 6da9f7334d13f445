"""Models with a cost-augmented network beside the task-net (Tu, Pang & Gimpel 2020)."""

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from tests.tasks.tagging.test_model import ENCODER, LABELS, LOSS_NET, NCE, batch_of, model_of

NETS = {
    "separated": {"type": "separated", "encoder": ENCODER},
    "shared": {"type": "shared"},
    "stacked": {"type": "stacked"},
}


def compound(kind="stacked", weight=0.5, **task_loss):
    return {
        "loss_net": LOSS_NET,
        "cost_augmented_net": NETS[kind],
        "sampler": {"type": "stack", "samplers": ["cost_augmented_output", "task_net_output"]},
        "energy_loss": {"type": "compound", "separate": True, "perceptron_weight": weight},
        "task_loss": {"type": "inference_network", "perceptron_weight": weight, **task_loss},
    }


def gradients(loss, module):
    parameters = dict(module.named_parameters())
    found = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True, retain_graph=True)
    return dict(zip(parameters, found))


def parts_of(model):
    """Of one batch, from the nets themselves: energies of F^c, A and gold, the cost of F^c, and cross-entropies."""
    batch, space = batch_of(), model.output_space
    state = model.state_of_all_nets(**batch)
    mask, gold = state.mask, state.gold
    features = model.loss_net.encode(state.inputs, state.hidden, mask)
    soft = [z.softmax(dim=-1) * mask.unsqueeze(-1) for z in (state.cost_augmented, state.logits)]
    energies = [model.loss_net(features, output.unsqueeze(1), mask)[:, 0] for output in soft]
    one_hot = torch.nn.functional.one_hot(gold, space.num_labels) * mask.unsqueeze(-1)
    energies.append(model.loss_net(features, one_hot.to(soft[0]).unsqueeze(1), mask)[:, 0])
    cost = (soft[0] - one_hot).abs().sum(dim=(1, 2))
    entropies = [-(z.log_softmax(dim=-1) * one_hot).sum(dim=(1, 2)) for z in (state.cost_augmented, state.logits)]
    return state, energies, cost, entropies


@pytest.mark.parametrize("kind", list(NETS))
def test_both_losses_are_the_papers(kind):
    """Equation 6 and its split into an energy's and the networks' steps, written out once more."""
    model = model_of(**compound(kind)).double()
    state, (augmented, test_time, gold), cost, entropies = parts_of(model)
    wanted = -cost + augmented + 0.5 * test_time + sum(entropies)
    found = model.task_net_loss(state, model.frozen_features(state))
    assert found.item() == pytest.approx(wanted.mean().item())
    assert model.joint_loss(batch_of()).item() == pytest.approx(wanted.mean().item())
    wanted = torch.relu(cost - augmented + gold) + 0.5 * torch.relu(gold - test_time)
    assert model.loss_net_loss(state, model.sample(state)).item() == pytest.approx(wanted.mean().item())


def test_truncation_negates_the_energys_hinges():
    model = model_of(**compound(zero_truncation=True, cross_entropy_weight=0.0)).double()
    state, *_ = parts_of(model)
    found = model.task_net_loss(state, model.frozen_features(state))
    assert found.item() == pytest.approx(-model.loss_net_loss(state, model.sample(state)).item())
    with torch.no_grad():
        # Gold far below everything else: no hinge is active, and the networks learn nothing at all.
        model.loss_net.energies[0].label_embeddings.weight.zero_()
        model.loss_net.energies[1].transitions.zero_()
    model.loss_net.forward = lambda features, outputs, mask: (
        -100 * (outputs[..., 2].sum(dim=-1) + 1) + 0 * outputs.sum(dim=(2, 3))
    )
    state, *_ = parts_of(model)
    state.gold = torch.full_like(state.gold, 2)
    loss = model.task_net_loss(state, model.frozen_features(state))
    assert all(not gradient.any() for gradient in gradients(loss, model.task_net).values() if gradient is not None)


@pytest.mark.parametrize("kind, reaches", [("separated", False), ("shared", True), ("stacked", False)])
def test_who_learns_from_the_cost_augmented_part(kind, reaches):
    """In stacked mode d(-Delta + E(F^c)) / dPsi is exactly 0; shared, the encoder learns from it."""
    model = model_of(**compound(kind))
    # The other parts of the loss, without which a config is refused.
    model.task_loss.perceptron_weight = model.task_loss.cross_entropy_weight = 0.0
    state = model.state_of_all_nets(**batch_of())
    loss = model.task_net_loss(state, model.frozen_features(state))
    theirs = gradients(loss, model.cost_augmented_net)
    assert all(gradient is not None and gradient.any() for gradient in theirs.values())
    ours = gradients(loss, model.task_net)
    silent = [name for name, gradient in ours.items() if gradient is None or not gradient.any()]
    assert (len(silent) < len(ours)) == reaches
    assert all(name in silent for name in ours if name.startswith("_head"))
    assert all(gradient is None for gradient in gradients(loss, model.loss_net).values())


def test_the_energys_step_moves_neither_network():
    model = model_of(**compound("shared"))
    state = model.state_of_all_nets(**batch_of())
    loss = model.loss_net_loss(state, model.sample(state))
    for net in (model.task_net, model.cost_augmented_net):
        assert all(gradient is None for gradient in gradients(loss, net).values())
    assert any(gradient.any() for gradient in gradients(loss, model.loss_net).values())
    names = {id(parameter) for parameter in model.task_net_parameters()}
    assert {id(parameter) for parameter in model.cost_augmented_net.parameters()} <= names


def test_without_supervision_only_the_energy_of_the_task_net_counts():
    model = model_of(**compound()).double()
    wanted = parts_of(model)[1][1]
    state = model.task_state(**batch_of(gold=False))
    assert state.gold is None
    loss = model.task_net_loss(state, model.frozen_features(state), supervised=False)
    assert loss.item() == pytest.approx(wanted.mean().item())


def test_a_sequence_encoder_of_the_cost_augmented_net_sees_no_padding():
    encoder = {"type": "lstm", "input_size": 2 * len(LABELS), "hidden_size": 3, "bidirectional": True}
    settings = {**compound(), "cost_augmented_net": {"type": "stacked", "encoder": encoder}}
    model = model_of(**settings).double().eval()
    padded, alone = (model.state_of_all_nets(**batch_of(rows)).cost_augmented for rows in (range(3), [1]))
    assert padded.shape[1] == 6
    torch.testing.assert_close(padded[1, :3], alone[0])


def test_prediction_needs_no_gold_and_the_other_network_is_scored_with_it():
    model = model_of(**compound("shared")).eval()
    with torch.no_grad():
        model.cost_augmented_net._head.bias[LABELS.index("O")] = 100  # Right at some words.
    output = model.make_output_human_readable(model(**batch_of(gold=False)))
    assert "cost_augmented_tags" not in output
    output = model.make_output_human_readable(model(**batch_of()))
    assert [len(tags) for tags in output["cost_augmented_tags"]] == [6, 3, 3]
    metrics = model.get_metrics(reset=True)
    gold = [sentence["tags"] for sentence in batch_of()["metadata"]]
    for prefix, name in (("", "tags"), ("cost_augmented_", "cost_augmented_tags")):
        right = [a == b for ours, theirs in zip(output[name], gold) for a, b in zip(ours, theirs)]
        assert metrics[f"{prefix}accuracy"] == pytest.approx(100 * sum(right) / len(right))
    assert metrics["cost_augmented_accuracy"] > 0 == model.get_metrics()["cost_augmented_accuracy"]
    assert "cost_augmented_accuracy" not in model_of(**NCE).eval().get_metrics()


def test_the_random_start_of_the_task_net_is_the_same_with_and_without():
    models = [model_of(**compound(kind)) for kind in NETS] + [model_of()]
    weights = [torch.cat([p.flatten() for p in model.task_net.parameters()]) for model in models]
    assert all(torch.equal(one, weights[0]) for one in weights)


STACKED = ["task_net_output", "cost_augmented_output"]


@pytest.mark.parametrize(
    "change, named",
    [
        ({"task_net": None, "inference": {"type": "gradient_based_inference", "start": "half"}}, "task_net"),
        ({"loss_net": None, "sampler": None, "energy_loss": None}, "loss_net"),
        ({"task_loss": {"energy_weight": 1.0}}, "'inference_network'"),
        ({"task_loss": {"type": "inference_network", "perceptron_weight": 0, "cross_entropy_weight": 0}}, "_weight"),
        ({"sampler": {"type": "task_net_output"}}, "cost_augmented_net"),
        ({"sampler": {"type": "stack", "samplers": STACKED}}, "model.sampler.samplers"),
        ({"cost_augmented_net": None}, "'cost_augmented_output'"),
        (
            {"cost_augmented_net": None, "sampler": {"type": "discrete", "num_samples": 2}},
            "model.energy_loss.separate",
        ),
        ({"energy_loss": {"type": "compound"}}, "model.energy_loss.separate"),
    ],
)
def test_parts_that_do_not_fit(change, named):
    with pytest.raises(ConfigurationError, match=named):
        model_of(**{**compound(), **change})
