import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.hypergradients.guards import FixedRandomness, advise_finite_differences, twice_differentiable


def switches():
    cuda = torch.backends.cuda
    return (
        torch.backends.cudnn.enabled,
        cuda.flash_sdp_enabled(),
        cuda.mem_efficient_sdp_enabled(),
        cuda.math_sdp_enabled(),
    )


def test_kernels_are_set_inside_only():
    before = switches()
    assert before[0] and before[1]
    with twice_differentiable():
        assert switches() == (False, False, False, True)
    assert switches() == before
    with pytest.raises(ValueError):
        with twice_differentiable():
            raise ValueError
    assert switches() == before


def test_the_same_numbers_each_time_and_the_stream_stays():
    torch.manual_seed(0)
    randomness = FixedRandomness([torch.device("cpu")])
    expected = torch.rand(3)
    state = torch.get_rng_state()
    for _ in range(2):
        with randomness():
            assert torch.equal(torch.rand(3), expected)
    with pytest.raises(ValueError):
        with randomness():
            torch.rand(5)
            raise ValueError
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_same_numbers_on_cuda():
    device = torch.device("cuda")
    randomness = FixedRandomness([device])
    expected, state = torch.rand(3, device=device), torch.cuda.get_rng_state()
    with randomness():
        assert torch.equal(torch.rand(3, device=device), expected)
    assert torch.equal(state, torch.cuda.get_rng_state())


@pytest.mark.parametrize(
    "message",
    [
        "derivative for aten::_cudnn_rnn_backward is not implemented\nmore",
        "trying to differentiate twice a function that was marked with @once_differentiable",
        "Double backward is not supported for this operation.",
    ],
)
def test_one_sentence_of_advice(message):
    with pytest.raises(ConfigurationError, match="set products to 'finite_differences'") as error:
        with advise_finite_differences():
            raise RuntimeError(message)
    assert "\n" not in str(error.value) and isinstance(error.value.__cause__, RuntimeError)


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match="^CUDA out of memory$"):
        with advise_finite_differences():
            raise RuntimeError("CUDA out of memory")
