import io
import random

import numpy
import pytest
import torch

from seal.common.random_states import RandomStream, random_state, set_random_state, set_torch_state, torch_state


def draw():
    # An odd number of normal draws leaves half a pair behind in Python and numpy.
    normal = random.gauss(0, 1), numpy.random.normal()
    return normal, random.random(), numpy.random.rand(), torch.rand(3).tolist()


def test_random_state_goes_round_through_a_checkpoint():
    draw()
    file = io.BytesIO()
    torch.save(random_state(), file)
    wanted = [draw(), draw()]
    for generator in (random.seed, numpy.random.seed, torch.manual_seed):
        generator(1234)
    file.seek(0)
    # As AllenNLP loads it: only plain values and tensors.
    set_random_state(torch.load(file, weights_only=True))
    assert [draw(), draw()] == wanted


def test_torch_state_goes_round():
    state = torch_state()
    wanted = torch.rand(4)
    set_torch_state(state)
    assert torch.equal(torch.rand(4), wanted)


def test_a_stream_is_its_own():
    torch.manual_seed(3)
    wanted = [torch.rand(2), torch.rand(2)]
    torch.manual_seed(17)
    theirs = torch.rand(5)

    torch.manual_seed(3)
    stream = RandomStream(17)
    found = [torch.rand(2)]
    with stream.active():
        inside = [torch.rand(2)]
    with stream.active():
        inside.append(torch.rand(3))
    found.append(torch.rand(2))
    assert torch.equal(torch.cat(found), torch.cat(wanted))
    # It goes on where it stopped.
    assert torch.equal(torch.cat(inside), theirs)


def test_an_error_inside_leaves_the_outside_alone():
    torch.manual_seed(3)
    stream = RandomStream(17)
    with pytest.raises(ZeroDivisionError):
        with stream.active():
            torch.rand(2)
            raise ZeroDivisionError
    found = torch.rand(2)
    torch.manual_seed(3)
    assert torch.equal(found, torch.rand(2))


def test_state_of_a_stream_goes_round():
    stream, other = RandomStream(5), RandomStream(5)
    with stream.active():
        torch.rand(3)
    other.state = stream.state
    with stream.active():
        wanted = torch.rand(3)
    with other.active():
        assert torch.equal(torch.rand(3), wanted)
