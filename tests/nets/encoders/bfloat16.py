"""What holds of every encoder with `bfloat16_prediction`."""

import torch


def check_that_it_is_for_prediction_alone(plain, half, inputs):
    """`half` is as `plain` with the setting: in training both compute the same."""
    half.load_state_dict(plain.state_dict())
    expected, found = plain.eval()(inputs), half.eval()(inputs)
    assert found.dtype == torch.float32
    # As far apart as eight bits of a fraction make it, and not equal.
    assert 0 < (found - expected).abs().max() < 0.05 * expected.abs().max()
    trained = {}
    for name, net in (("plain", plain), ("half", half)):
        torch.manual_seed(0)
        trained[name] = net.train()(inputs)
    assert torch.equal(trained["plain"], trained["half"])
