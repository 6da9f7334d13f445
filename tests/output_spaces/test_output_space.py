"""What every output space has from the base class; the spaces themselves have tests of their own."""

import pytest
import torch

from seal.output_spaces import OutputSpace
from tests.label_sets import label_set
from tests.spine import mask_of, tag_sequence


@pytest.mark.parametrize("masked", [False, True])
def test_candidates_are_relaxed_each_for_itself(masked):
    torch.manual_seed(0)
    space, logits = tag_sequence(3), torch.randn(2, 4, 5, 3, dtype=torch.double, requires_grad=True)
    mask = mask_of([5, 2]) if masked else None
    found = space.relax_candidates(logits, mask)
    each = torch.cat([space.relax(logits[:, k], mask) for k in range(4)], dim=1)
    assert found.shape == logits.shape and torch.equal(found, each)
    (gradient,) = torch.autograd.grad(found.square().sum(), logits)
    assert gradient[0].any() and (not masked or not gradient[1, :, 2:].any())


def test_candidates_of_label_sets():
    logits = torch.tensor([[[0.0, 2.0], [-1.0, 50.0]]])
    assert torch.equal(label_set(2).relax_candidates(logits), logits.sigmoid())


def test_a_space_that_merges_nothing_counts_each_draw_once():
    outputs = torch.zeros(2, 3, 4)
    found, log_count = OutputSpace().distinct(outputs)
    assert found is outputs and log_count.tolist() == [[0] * 3] * 2


def test_what_a_space_lacks_is_said():
    for ask, told in (
        (lambda space: space.project(torch.zeros(1, 1, 2)), "OutputSpace has no projection .* space 'clip' need"),
        (lambda space: space.to_logits(torch.zeros(1, 1, 2)), "OutputSpace has no way back from relaxed outputs"),
        (lambda space: space.relaxed_sample(torch.zeros(1, 2), 3), "OutputSpace has no relaxed draws"),
    ):
        with pytest.raises(NotImplementedError, match=told):
            ask(OutputSpace())
