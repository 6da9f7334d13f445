import itertools

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from sklearn.metrics import accuracy_score, f1_score

from seal.tasks.base import metrics_of_prediction
from seal.tasks.base.scored_rows import NonFiniteOutput
from seal.tasks.multilabel.label_set_score import example_f1
from tests.multilabel import DESCENT, LOSS_NET, TASK_NET, batch, model, seal_parts


def test_forward_is_the_task_net_with_its_cross_entropy():
    net = model().eval()
    data = batch()
    output = net(**data)
    logits, *_ = net.task_net({"features": data["features"]})
    assert torch.equal(output["probabilities"], logits.sigmoid())
    probabilities, gold = output["probabilities"], data["labels"]
    expected = -(gold * probabilities.log() + (1 - gold) * (1 - probabilities).log()).sum(dim=1).mean()
    assert torch.allclose(output["loss"], expected)
    assert torch.equal(output["predicted"], probabilities >= 0.5)
    assert "loss" not in net(features=data["features"])


def test_metrics_are_those_of_sklearn_and_of_evaluation_only():
    net, data = model(), batch(40)
    net(**data)
    assert "f1" not in net.get_metrics(reset=True)
    net.eval()
    predicted = net(**data)["predicted"]
    metrics = net.get_metrics(reset=True)
    assert "f1_tuned" not in metrics
    for average, name in (("samples", "f1"), ("micro", "micro_f1"), ("macro", "macro_f1")):
        expected = f1_score(data["labels"], predicted, average=average, zero_division=1.0)
        assert metrics[name] == pytest.approx(100 * expected), name


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_an_output_that_is_not_finite_is_not_scored(value):
    net, data = model().eval(), batch()
    net.task_net.register_forward_hook(lambda _, inputs, found: found._replace(logits=found.logits.fill_(value)))
    with torch.no_grad():
        with pytest.raises(NonFiniteOutput, match="finite"):
            net(**data)
        sources = [{"source": f"fruit.arff:{9 + row}"} for row in range(len(data["labels"]))]
        with pytest.raises(NonFiniteOutput, match="fruit.arff:9"):
            net(**data, metadata=sources)
        # A prediction is no score.
        assert "predicted" in net(features=data["features"])


def test_what_the_energy_predicts_is_not_scored_where_it_is_not_finite():
    net, data = model(**seal_parts(inference=DESCENT)).eval(), batch()
    data["features"][1] = float("inf")
    with pytest.raises(NonFiniteOutput):
        net(**data)
    data["features"][1] = 0
    net(**data)


def test_thresholds_are_tuned_where_asked_and_kept_with_the_weights():
    net, data = model().eval(), batch(40)
    net.tuned_metric = "f1"
    probabilities = net(**data)["probabilities"]
    metrics = net.get_metrics(reset=True)
    net.tuned_metric = None
    assert metrics["f1_tuned"] > metrics["f1"] and metrics["macro_f1_per_label"] > metrics["macro_f1"]

    # By brute force over all thresholds that make a difference.
    def example_f1(threshold):
        predicted = probabilities >= threshold
        return 100 * f1_score(data["labels"], predicted, average="samples", zero_division=1.0)

    assert metrics["f1_tuned"] == pytest.approx(max(map(example_f1, probabilities.flatten().tolist())))
    assert metrics["f1_tuned"] == pytest.approx(example_f1(float(net.tuned_threshold)))

    # Other data are decided by them as they are.
    other = model(seed=7).eval()
    other.load_state_dict(net.state_dict())
    assert other.is_tuned and torch.equal(other.label_thresholds, net.label_thresholds)
    unseen = batch(30, seed=5)
    other(**unseen)
    assert other.get_metrics(reset=True)["f1_tuned"] > 0
    assert torch.equal(other.tuned_threshold, net.tuned_threshold)
    other(**unseen)
    other.tuned_metric = "f1"
    other.get_metrics(reset=True)
    assert not torch.equal(other.tuned_threshold, net.tuned_threshold)


@pytest.mark.parametrize("metric, average", [("f1", "samples"), ("micro_f1", "micro")])
def test_the_threshold_is_the_best_of_what_it_is_tuned_for(metric, average):
    net, data = model().eval(), batch(8, seed=1)
    net.tuned_metric = metric
    probabilities = net(**data)["probabilities"]
    metrics = net.get_metrics(reset=True)
    best = max(
        100 * f1_score(data["labels"], probabilities >= t, average=average, zero_division=1.0)
        for t in probabilities.flatten().tolist()
    )
    assert metrics[f"{metric}_tuned"] == pytest.approx(best)
    other = {"f1": "micro_f1", "micro_f1": "f1"}[metric]
    net.tuned_metric = other
    net(**data)
    assert net.get_metrics(reset=True)[f"{metric}_tuned"] < best


@pytest.mark.parametrize("empty_f1, threshold", [(1.0, 0.8), (0.0, 0.25)])
def test_rows_without_a_label_are_tuned_for_as_they_are_scored(empty_f1, threshold):
    """Two rows for no label above 0.6, one for the label at 0.4."""
    net = model(task_net=TASK_NET, empty_f1=empty_f1).eval()
    net.tuned_metric = "f1"
    probabilities = torch.tensor([[0.4, 0.1, 0.1], [0.6, 0.1, 0.1], [0.6, 0.1, 0.1]])
    net._score(probabilities, torch.tensor([[1, 0, 0], [0, 0, 0], [0, 0, 0]]))
    net.get_metrics(reset=True)
    assert float(net.tuned_threshold) == pytest.approx(threshold)


def test_a_label_that_the_data_lack_has_the_threshold_of_all():
    net, data = model().eval(), batch(40)
    data["labels"][:, 1] = 0
    net.tuned_metric = "f1"
    net(**data)
    net.get_metrics(reset=True)
    assert net.label_thresholds[1] == net.tuned_threshold != 0.5


@pytest.mark.parametrize("decision", ["tuned", "per_label"])
def test_a_decision_by_thresholds_is_not_trained_without_the_callback_that_tunes_them(decision):
    net = model(task_net=TASK_NET, decision=decision)
    with pytest.raises(ConfigurationError, match=f"model.decision: '{decision}'.*'tune_thresholds'"):
        net(**batch())
    net.tuned_metric = "f1"
    net(**batch())
    net.tuned_metric = None
    # Nor does it predict, before it has thresholds.
    with pytest.raises(ConfigurationError, match=f"model.decision: '{decision}'"):
        net.eval()(**batch())
    net.tuned_metric = "f1"
    net(**batch())
    net.get_metrics(reset=True)
    net.tuned_metric = None
    net(**batch())


@pytest.mark.parametrize("decision", ["half", "tuned", "per_label"])
def test_decision(decision):
    net = model(task_net=TASK_NET, decision=decision).eval()
    net.is_tuned.fill_(True)
    net.tuned_threshold.fill_(0.3)
    net.label_thresholds.copy_(torch.tensor([0.1, 0.9, 0.5]))
    limit = {"half": 0.5, "tuned": net.tuned_threshold, "per_label": net.label_thresholds}[decision]
    output = net(**batch(20))
    assert torch.equal(output["predicted"], output["probabilities"] >= limit)
    assert 0 < output["predicted"].sum() < output["predicted"].numel()


def all_outputs(rows):
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=3)), dtype=torch.double).expand(rows, -1, -1)


def test_an_energy_only_model_predicts_the_least_energy():
    parts = {"loss_net": LOSS_NET, "sampler": DESCENT, "energy_loss": {"type": "margin"}}
    inference = {**DESCENT, "num_steps": 200, "start": "random", "restarts": 8}
    net = model(**parts, inference=inference).eval()
    assert net.task_net is None and not net.task_net_parameters()
    data = batch(6)
    output = net(**data)
    assert "loss" not in output
    with torch.no_grad():
        # A concave global energy has its least value at a corner of the cube.
        net.loss_net.energies[1].weights.weight.abs_().neg_()
    output = net(**data)
    state = net.task_state(**data)
    energies = net.loss_net(net.frozen_features(state), all_outputs(6))
    best = all_outputs(6)[0][energies.argmin(dim=1)]
    found = output["probabilities"].round()
    assert torch.equal(found, best)
    # Nothing of it reaches a parameter.
    assert all(parameter.grad is None for parameter in net.parameters())


def test_inference_takes_the_place_of_the_task_net():
    net = model(**seal_parts(inference=DESCENT)).eval()
    data = batch()
    expected = net.infer(net.task_state(**data))
    assert torch.equal(net(**data)["probabilities"], expected)
    assert not torch.equal(expected, net.task_net(data)[0].sigmoid())


def test_energy_on_request():
    net, data = model(**seal_parts()).eval(), batch()
    assert "energy" not in net(**data)
    net.with_energy = True
    output = net(**data)
    features = net.loss_net.encode({"features": data["features"]}, None)
    expected = net.loss_net(features, output["predicted"].double().unsqueeze(1)).squeeze(1)
    assert torch.allclose(output["energy"], expected)


def energy_only(**more):
    return {"loss_net": LOSS_NET, "sampler": DESCENT, "energy_loss": "margin", "inference": DESCENT, **more}


def test_gold_descents_and_noise_need_no_task_net():
    sampler = {"type": "stack", "samplers": ["gold", {**DESCENT, "start": "half"}, "gaussian_perturbation"]}
    net = model(**energy_only(sampler=sampler, energy_loss={"type": "regression"}))
    state = net.task_state(**batch())
    assert torch.equal(net.sample(state).outputs[:, 0], state.gold)


TAGS = {"type": "tag_sequence", "namespace": "labels", "encoding": None}


@pytest.mark.parametrize(
    "parts, named",
    [
        ({"task_net": TASK_NET, "output_space": TAGS}, "model.output_space.type"),
        ({"task_net": TASK_NET, "decision": "best"}, "model.decision"),
        ({"task_net": TASK_NET, "empty_f1": 2}, "empty_f1"),
        ({"loss_net": LOSS_NET}, "model.task_net"),
        ({"task_net": TASK_NET, "inference": DESCENT}, "model.inference"),
        ({"task_net": TASK_NET, "sampler": {"type": "discrete"}}, "model.sampler"),
        ({"task_net": TASK_NET, "energy_loss": "margin"}, "model.energy_loss"),
        (seal_parts(inference={"type": "discrete"}), "model.inference: DiscreteSampler"),
        (seal_parts(inference={**DESCENT, "start": "gold"}), "model.inference"),
        (seal_parts(inference={**DESCENT, "keep": "last", "start": "random", "restarts": 2}), "model.inference"),
        (seal_parts(inference={**DESCENT, "objective": "adversarial"}), "model.inference"),
        (energy_only(loss_net={**LOSS_NET, "encoder": None}), "loss_net.encoder"),
        ({"task_net": TASK_NET, "task_loss": {"cross_entropy_weight": 0}}, "cross_entropy_weight"),
        ({"task_net": TASK_NET, "task_loss": {"energy_weight": 0.5}}, "energy_weight"),
        ({"task_net": TASK_NET, "task_loss": {"type": "inference_network"}}, "energy_weight"),
        (energy_only(task_loss={"energy_weight": 1}), "model.task_loss"),
        (energy_only(inference={**DESCENT, "start": "task_net"}), "model.inference"),
        (energy_only(sampler={"type": "task_net_output"}), "TaskNetOutputSampler"),
        (energy_only(sampler={"type": "stack", "samplers": ["gold", "task_net_output"]}), "StackedSampler"),
    ],
)
def test_a_wrong_setting_is_named(parts, named):
    with pytest.raises(ConfigurationError, match=named):
        model(**parts)


def with_structure(**settings):
    """A model whose structure is learned on rows half of which have no label; and these rows."""
    net = model(task_net=TASK_NET, structure={"type": "label_sets"}, **settings).float().eval()
    data = {name: tensor.float() for name, tensor in batch(40, seed=1).items()}
    data["labels"][::2] = 0
    logits = net.task_state(**data).logits.detach()
    return net, data, net.structure.fit(logits, data["labels"], logits, data["labels"])


@pytest.mark.parametrize("empty_f1", [0.0, 0.25, 1.0])
def test_a_row_without_labels_counts_the_same_with_a_structure(empty_f1):
    net, data, report = with_structure(empty_f1=empty_f1)
    probabilities = net(**data)["probabilities"]
    metrics, decision = net.get_metrics(reset=True), report["decisions"]["f1"]
    predicted = net.structure.task_net_labels(probabilities.logit())
    wanted = 100 * example_f1(predicted, data["labels"].bool(), empty_f1).mean().item()
    assert metrics["f1_own"] == pytest.approx(wanted)
    # The gate scores a threshold on other rows than those that chose it.
    assert 100 * decision["values"]["own"] <= wanted + 1e-6
    # And so does what is expected of an output, and what the threshold is tuned for.
    candidates = net.structure.candidates(torch.zeros(1, 3))
    empty = int((net.structure.sets.sum(dim=1) == 0).nonzero())
    alone = torch.nn.functional.one_hot(torch.tensor([empty]), len(net.structure.sets)).float()
    assert net.structure._expected(candidates, alone)[0, empty].item() == pytest.approx(empty_f1)
    f1 = [example_f1(probabilities >= t, data["labels"].bool(), empty_f1).mean().item() for t in (1.1, 0.0)]
    assert wanted >= 100 * max(f1)


def test_a_decision_that_is_named_decides_in_the_place_of_a_structure():
    net, data, _ = with_structure()
    everything = {"option": "blend 1", "blend": 0.0, "threshold": 0.0, "own_threshold": 0.5}
    net.structure.chosen = dict.fromkeys(net.structure.chosen, everything)
    assert net.decision is None and net(**data)["predicted"].all() and "f1_decided" in net.get_metrics(reset=True)
    net.is_tuned.fill_(True)
    net.tuned_threshold.fill_(0.7)
    for decision, threshold in {"half": 0.5, "tuned": 0.7, "per_label": net.label_thresholds}.items():
        net.decision = decision
        output = net(**data)
        assert torch.equal(output["predicted"], output["probabilities"] >= threshold)
        assert "f1_decided" not in net.get_metrics(reset=True)


def test_a_score_without_a_suffix_is_of_what_is_predicted():
    net, data, _ = with_structure(score="micro_f1")
    blend = {"option": "blend 1", "blend": 0.0, "own_threshold": 0.5}
    net.structure.chosen = {"f1": {**blend, "threshold": 1.0}, "micro_f1": {**blend, "threshold": 0.0}}
    net.structure.chosen["subset_accuracy"] = net.structure.chosen["f1"]
    output = net(**data)
    metrics, gold = net.get_metrics(reset=True), data["labels"].numpy()
    at_half = (output["probabilities"] >= 0.5).numpy()
    assert output["predicted"].all()
    for ending, predicted in (("", output["predicted"].numpy()), ("_half", at_half), ("_own", None)):
        if predicted is not None:
            assert metrics[f"micro_f1{ending}"] == pytest.approx(100 * f1_score(gold, predicted, average="micro"))
            assert metrics[f"macro_f1_all{ending}"] == pytest.approx(
                100 * f1_score(gold, predicted, average="macro", zero_division=0)
            )
            assert metrics[f"subset_accuracy{ending}"] == pytest.approx(100 * accuracy_score(gold, predicted))
    # What is decided for the model's score is what is predicted; for another one, it is another output.
    assert metrics["micro_f1_decided"] == metrics["micro_f1"] and metrics["f1_decided"] != metrics["f1"]
    assert set(metrics_of_prediction(metrics)) >= {"f1", "micro_f1", "macro_f1", "subset_accuracy"}
    assert not {"f1_own", "f1_decided", "f1_half", "loss", "mean_average_precision"} & set(
        metrics_of_prediction(metrics)
    )


@pytest.mark.parametrize("decision", ["tuned", "per_label"])
def test_a_score_is_of_the_threshold_that_decides(decision):
    net, data = model(task_net=TASK_NET, decision=decision).float().eval(), batch(40, seed=1)
    data = {name: tensor.float() for name, tensor in data.items()}
    net.tuned_metric = "f1"
    net(**data)
    metrics = net.get_metrics(reset=True)
    net.tuned_metric = None
    predicted = net(**data)["predicted"]
    assert metrics["micro_f1"] == pytest.approx(100 * f1_score(data["labels"].numpy(), predicted, average="micro"))
    # The same from the model as it is then.
    again = net.get_metrics(reset=True)
    assert again == pytest.approx(metrics) and again["f1"] == again[f"f1_{decision}"] != again["f1_half"]
