import pytest
import torch
from allennlp.common import Params
from transformers import BertConfig, BertModel

from seal.nets.encoders.adapters import AdaptedLayer, Adapters

SIZES = dict(vocab_size=30, hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=24)


def bert():
    torch.manual_seed(0)
    return BertModel(BertConfig(**SIZES)).eval()


def test_an_adapted_layer_is_its_equation():
    torch.manual_seed(0)
    layer = torch.nn.Linear(5, 4).double()
    adapted = AdaptedLayer(layer, 3).double()
    inputs = torch.randn(2, 5, dtype=torch.double)
    hidden = inputs @ layer.weight.T + layer.bias
    assert torch.equal(adapted(inputs), layer(inputs))
    torch.nn.init.normal_(adapted.up.weight)
    torch.nn.init.normal_(adapted.up.bias)
    inside = hidden @ adapted.down.weight.T + adapted.down.bias
    inside = 0.5 * inside * (1 + torch.erf(inside / 2**0.5))
    assert torch.allclose(adapted(inputs), hidden + inside @ adapted.up.weight.T + adapted.up.bias)


@pytest.mark.parametrize("placement, each", [("houlsby", 2), ("pfeiffer", 1)])
def test_they_change_nothing_at_first_and_are_all_that_is_trained(placement, each):
    transformer = bert()
    ids = torch.randint(0, 30, (2, 7))
    before = transformer(ids).last_hidden_state
    Adapters.from_params(Params({"dim": 5, "placement": placement})).insert(transformer)
    after = transformer(ids).last_hidden_state
    assert torch.equal(before, after)
    trained = {name: parameter for name, parameter in transformer.named_parameters() if parameter.requires_grad}
    assert all(".down." in name or ".up." in name for name in trained)
    assert sum(map(torch.numel, trained.values())) == 3 * each * (2 * 16 * 5 + 16 + 5)
    # And all of them learn: the first step moves what is up, the second what is down.
    optimizer = torch.optim.SGD(trained.values(), lr=0.5)
    for _ in range(2):
        optimizer.zero_grad()
        transformer(ids).last_hidden_state[:, 0, 0].sum().backward()
        optimizer.step()
    assert all(bool((parameter.grad != 0).any()) for parameter in trained.values())
    assert all(parameter.grad is None for name, parameter in transformer.named_parameters() if name not in trained)
    assert not torch.allclose(transformer(ids).last_hidden_state, before)
