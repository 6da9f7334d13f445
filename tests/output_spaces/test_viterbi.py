import itertools

import pytest
import torch

from seal.output_spaces.best_paths import viterbi
from tests.spine import mask_of


def best_path(scores, transitions, starts, ends):
    """Every path, scored in Python floats."""

    def score(path):
        total = sum(float(scores[t, tag]) for t, tag in enumerate(path))
        total += sum(float(transitions[a, b]) for a, b in zip(path, path[1:]))
        if starts is not None:
            total += float(starts[path[0]])
        if ends is not None:
            total += float(ends[path[-1]])
        return total

    tokens, tags = scores.shape
    return list(max(itertools.product(range(tags), repeat=tokens), key=score))


@pytest.mark.parametrize("with_starts", [False, True])
@pytest.mark.parametrize("with_ends", [False, True])
def test_equals_enumeration(with_starts, with_ends):
    torch.manual_seed(0)
    lengths = [5, 1, 3, 4, 2, 5]
    mask = mask_of(lengths)
    for scale in (0.3, 3.0):
        scores = torch.randn(len(lengths), 5, 3)
        # Asymmetric, and now more, now less important than the scores.
        transitions = scale * torch.randn(3, 3)
        starts = 2 * torch.randn(3) if with_starts else None
        ends = 2 * torch.randn(3) if with_ends else None
        paths = viterbi(scores, transitions, starts, ends, mask)
        for i, length in enumerate(lengths):
            assert paths[i, :length].tolist() == best_path(scores[i, :length], transitions, starts, ends)
            assert paths[i, length:].tolist() == [0] * (5 - length)
        whole = viterbi(scores, transitions, starts, ends)
        for i in range(len(lengths)):
            assert whole[i].tolist() == best_path(scores[i], transitions, starts, ends)


def test_one_token():
    scores = torch.tensor([[[1.0, 2.0, 0.0]]])
    assert viterbi(scores, torch.zeros(3, 3)).tolist() == [[1]]
    assert viterbi(scores, torch.zeros(3, 3), starts=torch.tensor([0.0, -5.0, 0.0])).tolist() == [[0]]
    assert viterbi(scores, torch.zeros(3, 3), ends=torch.tensor([0.0, 0.0, 5.0])).tolist() == [[2]]


def test_gives_no_gradient():
    scores = torch.randn(1, 3, 2, requires_grad=True)
    assert not viterbi(scores, torch.zeros(2, 2)).requires_grad
