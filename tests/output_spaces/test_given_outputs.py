"""Outputs that a caller gives, to have their energy: what is wrong with them is told in a sentence."""

import pytest
import torch

from seal.output_spaces import BinaryMask, LabelSet, TagSequence

TAGS = TagSequence(["O", "B-A", "I-A"])
LOGITS = torch.zeros(2, 4, 3)
INDICES = torch.zeros(2, 5, 4, dtype=torch.long)
SHARES = torch.full((2, 5, 4, 3), 1 / 3)


@pytest.mark.parametrize("outputs", [INDICES, INDICES.int(), INDICES + 2, SHARES, SHARES * 0, INDICES[:, :0]])
def test_tags_that_are_taken(outputs):
    TAGS.check_outputs(outputs, LOGITS)


@pytest.mark.parametrize("space, shape", [(LabelSet(["a", "b", "c"]), (3,)), (BinaryMask([4, 3]), (4, 3))])
def test_label_sets_and_masks(space, shape):
    logits, outputs = torch.zeros(2, *shape), torch.ones(2, 5, *shape)
    for taken in (outputs, outputs.bool(), outputs.long(), outputs.double(), outputs / 3, outputs + 1e-6):
        space.check_outputs(taken, logits)
