"""Outputs that a caller gives, to have their energy: what is wrong with them is told in a sentence."""

import pytest
import torch

from seal.output_spaces import BinaryMask, LabelSet, TagSequence
from seal.registry import ConfigurationError

TAGS = TagSequence(["O", "B-A", "I-A"])
LOGITS = torch.zeros(2, 4, 3)
INDICES = torch.zeros(2, 5, 4, dtype=torch.long)
SHARES = torch.full((2, 5, 4, 3), 1 / 3)


@pytest.mark.parametrize("outputs", [INDICES, INDICES.int(), INDICES + 2, SHARES, SHARES * 0, INDICES[:, :0]])
def test_tags_that_are_taken(outputs):
    TAGS.check_outputs(outputs, LOGITS)


@pytest.mark.parametrize(
    "outputs, told",
    [
        (INDICES + 3, "indices from 0 to 2 are needed, and there is 3."),
        (INDICES - 1, "indices from 0 to 2 are needed, and there is -1."),
        (INDICES.float(), "indices are needed as torch.int64, not torch.float32; call .long()"),
        (INDICES.short(), "indices are needed as torch.int64, not torch.int16; call .long()"),
        (SHARES * 4, "numbers from 0 to 1 are needed, such as probabilities, and there is 1.33333."),
        (SHARES - 1, "numbers from 0 to 1 are needed, such as probabilities, and there is -0.666667."),
        (SHARES * float("nan"), "numbers from 0 to 1 are needed, such as probabilities, and there is nan."),
        (SHARES.double(), "torch.float32 is needed, in which the model computes, not torch.float64"),
        (SHARES.long(), "one probability for each label of a token is needed as torch.float32, not torch.int64"),
        (INDICES[0], r"(2, candidates, 4) is needed, not (5, 4); a single candidate needs its axis, too."),
        (INDICES.numpy(), "a tensor of torch is needed, not ndarray."),
    ],
)
def test_tags_of_the_wrong_kind(outputs, told):
    with pytest.raises(ConfigurationError) as error:
        TAGS.check_outputs(outputs, LOGITS)
    assert str(error.value).startswith(f"outputs: {told}")


@pytest.mark.parametrize("space, shape", [(LabelSet(["a", "b", "c"]), (3,)), (BinaryMask([4, 3]), (4, 3))])
def test_label_sets_and_masks(space, shape):
    logits, outputs = torch.zeros(2, *shape), torch.ones(2, 5, *shape)
    for taken in (outputs, outputs.bool(), outputs.long(), outputs.double(), outputs / 3, outputs + 1e-6):
        space.check_outputs(taken, logits)
    for wrong in (2 * outputs, -outputs.long(), outputs * float("nan")):
        with pytest.raises(ConfigurationError, match="numbers from 0 to 1 are needed, such as prob.*, and there is"):
            space.check_outputs(wrong, logits)
    with pytest.raises(ConfigurationError, match="numbers from 0 to 1 are needed, not torch.complex64"):
        space.check_outputs(outputs.to(torch.complex64), logits)
    with pytest.raises(ConfigurationError, match=r"outputs: \(2, candidates, .*3\) is needed, not "):
        space.check_outputs(outputs[..., 0], logits)
