import pytest

from seal.two_player.module_modes import constant
from tests.spine import seal_model


def test_constant_restores_what_it_found():
    model = seal_model()
    frozen = model.loss_net.energies[0].label_embeddings.weight.requires_grad_(False)
    with pytest.raises(RuntimeError, match="inside"):
        with constant(model.loss_net):
            assert not any(parameter.requires_grad for parameter in model.loss_net.parameters())
            assert not model.loss_net.training
            raise RuntimeError("inside")
    assert model.loss_net.training
    assert [p for p in model.loss_net.parameters() if not p.requires_grad][0] is frozen
    assert sum(not parameter.requires_grad for parameter in model.loss_net.parameters()) == 1
    model.loss_net.eval()
    with constant(model.loss_net):
        pass
    assert not model.loss_net.training
    with constant(None):
        pass
