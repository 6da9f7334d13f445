import pytest
import torch

from seal.common.precision import in_full_precision, without_autocast


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_differences_of_large_numbers_stay_in_mixed_precision(dtype):
    layer = torch.nn.Linear(2, 1, dtype=dtype)
    with torch.no_grad():
        layer.weight.fill_(1.0)
        layer.bias.fill_(300.0)
    hidden = torch.tensor([[0.0, 0.0], [0.0, 0.0625]], dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = in_full_precision(layer, hidden)
        assert torch.is_autocast_enabled("cpu")
    assert found.dtype == dtype and float((found[1] - found[0]).detach()) == 0.0625
    found.sum().backward()
    assert torch.equal(hidden.grad, torch.ones_like(hidden))


def test_a_forward_without_autocast():
    class Product(torch.nn.Module):
        @without_autocast
        def forward(self, condition, outputs, mask=None):
            """Of outputs with themselves."""
            return outputs @ outputs

    outputs = 1 + torch.rand(4, 4, generator=torch.Generator().manual_seed(0)) / 64
    exact = outputs @ outputs
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(Product()(None, outputs), exact) and Product()(None, outputs, mask=None).dtype == torch.float
        assert not torch.equal((outputs @ outputs).float(), exact)
    assert Product.forward.__doc__ == "Of outputs with themselves."
