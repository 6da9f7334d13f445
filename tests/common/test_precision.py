import pytest
import torch

from seal.common.precision import in_full_precision


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
    assert found.dtype == dtype and float(found[1] - found[0]) == 0.0625
    found.sum().backward()
    assert torch.equal(hidden.grad, torch.ones_like(hidden))
