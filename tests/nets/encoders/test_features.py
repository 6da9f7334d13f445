import math

import pytest
import torch
from allennlp.common import Lazy

from seal.energies import LabelInteractionEnergy, LocalEnergy
from seal.nets import LossNet, TaskNet
from seal.nets.encoders import FeatureMlp
from tests.label_sets import label_set
from tests.multilabel import SIZES


@pytest.mark.parametrize("num_layers", [1, 3])
def test_by_hand(num_layers):
    torch.manual_seed(0)
    encoder = FeatureMlp(5, num_layers, input_dim=4).double()
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.normal_()
    features = torch.randn(2, 4, dtype=torch.double)
    found = encoder({"features": features})
    assert found.shape == (2, 5) and encoder.get_output_dim() == 5
    parameters = [parameter.tolist() for parameter in encoder.parameters()]
    for row, expected in zip(features.tolist(), found.tolist()):
        for weight, bias in zip(parameters[::2], parameters[1::2]):
            sums = [sum(w * x for w, x in zip(ws, row)) + b for ws, b in zip(weight, bias)]
            row = [math.log1p(math.exp(value)) for value in sums]
        assert row == pytest.approx(expected)


def test_the_start():
    torch.manual_seed(0)
    encoder = FeatureMlp(200, 2, input_dim=300)
    for parameter, inputs in zip(encoder.parameters(), (300, 300, 200, 200)):
        if parameter.dim() == 1:
            assert parameter.abs().max() == 0
        else:
            bound = math.sqrt(6 / inputs)
            assert 0.99 * bound < parameter.abs().max() <= bound
            assert parameter.var().item() == pytest.approx(bound**2 / 3, rel=0.05)  # Uniform.


def test_dropout():
    batch = {"features": torch.randn(1, 4)}
    encoder = FeatureMlp(50, 2, dropout=[0.0, 0.5], input_dim=4).eval()
    clean = encoder(batch)
    assert torch.equal(encoder(batch), clean)
    encoder.train()
    dropped = encoder(batch)
    gone = dropped == 0
    assert 5 < gone.sum() < 45
    # Only after the last layer: what is left is twice the clean vector.
    assert torch.allclose(dropped[~gone], 2 * clean[~gone])
    assert (FeatureMlp(50, 2, dropout=0.5, input_dim=4)(batch) == 0).any()


@pytest.mark.parametrize("name", SIZES)
def test_printed_parameter_counts(name):
    features, labels, layers, width, patterns, *printed = SIZES[name]
    space = label_set(labels)
    task_net = TaskNet(FeatureMlp(width, layers, input_dim=features), space, bias=False)
    loss_net = LossNet(
        [Lazy(LocalEnergy), Lazy(LabelInteractionEnergy, constructor_extras={"hidden_dim": patterns})],
        space,
        task_net.get_output_dim(),
        FeatureMlp(width, layers, input_dim=features),
    )

    def count(*modules):
        return sum(parameter.numel() for module in modules for parameter in module.parameters())

    assert [count(task_net), count(loss_net), count(task_net, loss_net), count(task_net)] == printed


def test_weights_have_the_names_that_trained_models_have():
    from allennlp.modules import FeedForward

    torch.manual_seed(0)
    theirs = FeedForward(4, 2, 3, torch.nn.PReLU(), 0.5).state_dict()
    ours = FeatureMlp(3, 2, 0.5, torch.nn.Softplus(), 4).state_dict()
    assert [f"_layers.{name}" for name in theirs if "activations" not in name] == list(ours)
