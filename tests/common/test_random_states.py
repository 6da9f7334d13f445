import random

import numpy
import pytest
import torch

from seal.common.random_states import random_state, set_random_state, set_seed


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


def test_draws_go_on_from_a_state():
    set_seed(3)
    draws()
    state = random_state()
    first = draws()
    set_seed(4)
    draws()
    set_random_state(state)
    assert draws() == first
