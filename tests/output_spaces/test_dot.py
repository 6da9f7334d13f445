import pytest
import torch

from seal.output_spaces.output_space import dot


@pytest.mark.parametrize("shape", [(3,), (2, 4)])
def test_against_a_loop(shape):
    torch.manual_seed(0)
    outputs, vectors = torch.randn(2, 5, *shape, dtype=torch.double), torch.randn(2, *shape, dtype=torch.double)
    found = dot(outputs, vectors)
    for b in range(2):
        for k in range(5):
            assert found[b, k].item() == pytest.approx((outputs[b, k] * vectors[b]).sum().item())


def test_half_precision_loses_no_unit():
    """4,097 ones: between 4,096 and 8,192, half precision knows every fourth number."""
    ones = torch.ones(1, 1, 4097, dtype=torch.half)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = dot(ones, ones[:, 0])
    assert found.dtype == torch.float and found.item() == 4097
