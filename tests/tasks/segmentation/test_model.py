import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from seal.tasks.base.scored_rows import NonFiniteOutput
from seal.tasks.segmentation import MaskScore, SegmentationModel
from seal.tasks.segmentation.model import CropGrid
from tests.label_sets import label_set
from tests.segmentation import DESCENT, LOSS_NET, batch, model, seal_parts


def test_without_crops_it_is_the_task_net():
    net, data = model().eval(), batch()
    output = net(**data)
    logits = net.task_net({"image": data["image"]}).logits.squeeze(-1)
    assert torch.equal(output["probabilities"], logits.sigmoid())
    assert torch.equal(output["predicted"], logits >= 0)
    expected = torch.nn.functional.binary_cross_entropy_with_logits(logits, data["mask"], reduction="sum") / 3
    assert output["loss"].item() == pytest.approx(expected.item())


def test_a_larger_image_is_the_mean_of_its_crops():
    net, data = model(crops_per_side=3).eval(), batch(2, 11, 9)
    output = net(**data)
    total, count = torch.zeros(2, 11, 9, dtype=torch.double), torch.zeros(11, 9)
    # Of 9 pixels there are but two places for 8.
    for top in (0, 2, 3):
        for left in (0, 1):
            image = data["image"][:, :, top : top + 8, left : left + 8]
            total[:, top : top + 8, left : left + 8] += net.task_net({"image": image}).logits.squeeze(-1).sigmoid()
            count[top : top + 8, left : left + 8] += 1
    assert torch.allclose(output["probabilities"], total / count)
    score = MaskScore()
    score(output["probabilities"], data["mask"])
    metrics = net.get_metrics(reset=True)
    assert {name: metrics[name] for name in score.get_metric()} == score.get_metric()


def test_the_loss_net_is_scored_on_the_middle_of_a_larger_image():
    net, data = model(**seal_parts()).eval(), batch(2, 11, 9)
    net.score_loss_net(data)
    found = net.get_metrics(reset=True)["energy_gold"]
    net.score_loss_net({"image": data["image"][:, :, 1:9, 0:8], "mask": data["mask"][:, 1:9, 0:8]})
    assert net.get_metrics(reset=True)["energy_gold"] == found
    net.score_loss_net({"image": data["image"]})
    assert "energy_gold" not in net.get_metrics()


@pytest.mark.parametrize("inference", [None, DESCENT])
def test_no_more_than_some_crops_go_through_the_nets_at_once(monkeypatch, inference):
    net, data = model(**seal_parts(), inference=inference, crops_per_side=3).eval(), batch(2, 11, 9)
    net.with_energy = True
    whole, rows = net(**data), []
    net.task_net.register_forward_hook(lambda _, inputs, output: rows.append(len(output.logits)))
    monkeypatch.setattr("seal.tasks.segmentation.model._AT_ONCE", 5)
    parts = net(**data)
    # Of two images six crops each, once for the mask and once for its energy.
    assert rows == [5, 5, 2] * 2 and whole.keys() == parts.keys()
    for name, value in whole.items():
        assert torch.allclose(parts[name].double(), value.double(), rtol=1e-12, atol=1e-12), name


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_an_output_that_is_not_finite_is_not_scored(value):
    net, data = model(crops_per_side=3).eval(), batch(2, 11, 9)
    data["metadata"] = [{"source": "a.npz:0"}, {"source": "a.npz:1"}]

    def spoil(_, inputs, found):
        # The last crop, which is one of the second image.
        return found._replace(logits=found.logits.index_fill(0, torch.tensor(len(found.logits) - 1), value))

    net.task_net.register_forward_hook(spoil)
    with torch.no_grad(), pytest.raises(NonFiniteOutput, match="a.npz:1"):
        net(**data)


@pytest.mark.parametrize(
    "sampler, loss",
    [
        ({"type": "task_net_output"}, {"type": "regression", "score": {"type": "soft_iou"}}),
        ({"type": "smooth_perturbation"}, {"type": "regression", "score": {"type": "soft_iou"}}),
        ({"type": "discrete"}, {"type": "nce_ranking"}),
        ({"type": "correlated_draws"}, {"type": "ranking"}),
        (
            {"type": "correlated_draws"},
            {"type": "contrastive_divergence", "cost": {"type": "one_minus", "score": {"type": "soft_iou"}}},
        ),
        ({"type": "task_net_output"}, {"type": "margin"}),
    ],
)
def test_every_loss_and_sampler_serves_masks(sampler, loss):
    net, data = model(**seal_parts(sampler=sampler, energy_loss=loss)), batch()
    state = net.task_state(**data)
    candidates = net.sample(state)
    assert candidates.outputs.shape[2:] == (8, 8) and candidates.outputs.shape[0] == 3
    net.loss_net_loss(state, candidates).backward()
    assert all(bool(torch.isfinite(parameter.grad).all()) for parameter in net.loss_net_parameters())


def test_a_step_along_the_energy_lowers_it():
    net, data = model(**seal_parts(task_loss={"energy_weight": 1.0, "cross_entropy_weight": 0.0})), batch()
    optimizer = torch.optim.SGD(net.task_net_parameters(), lr=1e-3)
    losses = []
    for _ in range(5):
        state = net.task_state(**data)
        loss = net.task_net_loss(state, net.frozen_features(state))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]


def test_energy_alone_predicts():
    parts = {
        "loss_net": LOSS_NET,
        "sampler": DESCENT,
        "energy_loss": {"type": "regression", "score": {"type": "soft_iou"}},
        "inference": DESCENT,
    }
    net, data = model(**parts).eval(), batch(2, 9, 8)
    net.with_energy = True
    output = net(**data)
    assert output["probabilities"].shape == (2, 9, 8) and "loss" not in output
    # The mean energy of the two parts of each image under the predicted mask.
    grid = CropGrid((9, 8), (8, 8), 3)
    assert len(grid) == 2
    masks = output["predicted"].double()
    for image in range(2):
        energies = []
        for top in (0, 1):
            features = net.loss_net.encode({"image": data["image"][[image], :, top : top + 8]}, None)
            energies.append(net.loss_net(features, masks[[image], top : top + 8].unsqueeze(1)).item())
        assert output["energy"][image].item() == pytest.approx(sum(energies) / 2)


@pytest.mark.parametrize(
    "make, named",
    [
        (lambda: SegmentationModel(Vocabulary(), label_set(3)), "'binary_mask'"),
        (lambda: model(crops_per_side=0), "model.crops_per_side"),
        (lambda: model().task_state(**batch(2, 9, 8)), "9 x 8"),
        (lambda: model().eval()(**batch(2, 7, 9)), "7 x 9"),
    ],
)
def test_mistakes_are_named(make, named):
    with pytest.raises(ConfigurationError, match=named):
        make()
