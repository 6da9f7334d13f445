import io
import random

import numpy
import pytest
import torch

from seal.common.random_states import (
    RandomStream,
    random_state,
    set_random_state,
    set_seed,
    set_torch_state,
    torch_state,
)


def draws():
    return random.random(), numpy.random.rand(), numpy.random.randn(), float(torch.rand(())), random.gauss(0, 1)


@pytest.mark.parametrize("seed", [0, 13, 2**32 + 5])
def test_a_seed_determines_all_draws(seed):
    set_seed(seed)
    first = draws()
    assert draws() != first
    set_seed(seed)
    assert draws() == first
    set_seed(seed + 1)
    assert all(one != other for one, other in zip(draws(), first))


def test_draws_go_on_from_a_state_in_a_checkpoint():
    set_seed(3)
    draws()  # An odd number of normal draws leaves half a pair behind in Python and numpy.
    file = io.BytesIO()
    torch.save(random_state(), file)
    wanted = [draws(), draws()]
    set_seed(4)
    file.seek(0)
    # As AllenNLP loads it: only plain values and tensors.
    set_random_state(torch.load(file, weights_only=True))
    assert [draws(), draws()] == wanted


def test_torch_state_goes_round():
    state = torch_state()
    wanted = torch.rand(4)
    set_torch_state(state)
    assert torch.equal(torch.rand(4), wanted)


def test_a_stream_is_its_own():
    torch.manual_seed(3)
    wanted = torch.rand(4)
    torch.manual_seed(17)
    theirs = torch.rand(5)

    torch.manual_seed(3)
    stream = RandomStream(17)
    found = [torch.rand(2)]
    with stream.active():
        inside = [torch.rand(2)]
    with pytest.raises(ZeroDivisionError), stream.active():
        inside.append(torch.rand(3))
        raise ZeroDivisionError
    found.append(torch.rand(2))
    assert torch.equal(torch.cat(found), wanted)
    # It goes on where it stopped.
    assert torch.equal(torch.cat(inside), theirs)


def test_state_of_a_stream_goes_round():
    stream, other = RandomStream(5), RandomStream(5)
    with stream.active():
        torch.rand(3)
    other.state = stream.state
    with stream.active():
        wanted = torch.rand(3)
    with other.active():
        assert torch.equal(torch.rand(3), wanted)
