import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal_inspect.energy_derivatives import first_row, global_energy, mean_hessian, pair_gradient
from tests.multilabel import LABELS, TASK_NET, batch, model, seal_parts


def parts_of():
    net = model(**seal_parts()).eval()
    data = batch(7)
    state = net.task_state(**data)
    interaction = net.loss_net.energies[1]
    return net, net.frozen_features(state), state.logits.sigmoid().detach(), interaction


def closed_form(interaction, outputs):
    """`M^T diag(v s(1 - s)) M` and `M^T (v s)` for one row, `s` the sigmoid of `M y + c`."""
    matrix, weights = interaction.patterns.weight, interaction.weights.weight[0]
    slope = (matrix @ outputs + interaction.patterns.bias).sigmoid()
    return matrix.T @ torch.diag(weights * slope * (1 - slope)) @ matrix, matrix.T @ (weights * slope)


def test_mean_hessian_against_the_closed_form():
    net, features, outputs, interaction = parts_of()
    expected = torch.stack([closed_form(interaction, row)[0] for row in outputs]).mean(dim=0)
    found = mean_hessian(net.loss_net, features, outputs)
    assert torch.allclose(found, expected, rtol=1e-10) and torch.allclose(found, found.T)
    assert all(parameter.grad is None for parameter in net.parameters())
    with torch.no_grad():
        assert torch.equal(mean_hessian(net.loss_net, features, outputs), found)


def test_pair_gradient_against_the_closed_form():
    net, features, _, interaction = parts_of()
    others = torch.tensor([0.3, 0.6, 0.9], dtype=torch.double)
    found = pair_gradient(net.loss_net, first_row(features), others, 2, 0, 5)
    assert found.shape == (5, 5)
    for i in range(5):
        for k in range(5):
            outputs = torch.tensor([k / 4, 0.6, i / 4], dtype=torch.double)
            assert torch.allclose(found[i, k], closed_form(interaction, outputs)[1][0])
    assert others.tolist() == [0.3, 0.6, 0.9]


def test_the_local_energy_is_left_out():
    net, features, outputs, interaction = parts_of()
    candidates = outputs.unsqueeze(1)
    expected = net.loss_net(features, candidates) - net.loss_net.energies[0](features[0], candidates)
    assert torch.allclose(global_energy(net.loss_net, features, candidates), expected)
    alone = model(**seal_parts(loss_net={"encoder": TASK_NET["encoder"], "energies": [{"type": "local"}]}))
    with pytest.raises(ConfigurationError, match="local"):
        mean_hessian(alone.loss_net, [None], torch.rand(2, len(LABELS)).double())
