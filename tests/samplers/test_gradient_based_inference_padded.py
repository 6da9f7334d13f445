"""Padded tag sequences: every row of a batch goes the way that it goes alone, and padding stays 0."""

import pytest
import torch

from seal.samplers import GradientBasedInference, SamplingProblem
from seal.scores import L1Cost, OneMinusScore, SoftF1, SoftIoU
from tests.spine import mask_of, tag_sequence

LENGTHS, TAGS, RESTARTS = [4, 1, 3], 3, 3
OBJECTIVES = {
    "energy": {},
    "l1": {"objective": "cost_augmented", "cost": L1Cost()},
    "one_minus": {"objective": "cost_augmented", "cost": OneMinusScore(SoftF1())},
    "soft_f1": {"objective": "adversarial"},
    "soft_iou": {"objective": "adversarial", "score": SoftIoU()},
}


def problem_of(rows, length, mask=None):
    """
    Some rows of one batch, with the random starts that they have. Neighbouring tokens meet in the energy, which knows
    of no mask: an output that were anything but 0 at padding would change the tokens beside it.
    """
    generator = torch.Generator().manual_seed(0)
    shape = (len(LENGTHS), max(LENGTHS))
    fields = torch.randn(*shape, TAGS, generator=generator, dtype=torch.double)[rows, :length]
    pairs = torch.randn(TAGS, TAGS, generator=generator, dtype=torch.double)
    gold = torch.randint(TAGS, shape, generator=generator)[rows, :length]
    starts = torch.rand(shape[0], RESTARTS, shape[1], TAGS, generator=generator, dtype=torch.double)[rows, :, :length]

    def energy(outputs):
        beside = torch.einsum("bkti,ij,bktj->bk", outputs[:, :, :-1], pairs, outputs[:, :, 1:])
        return torch.einsum("bti,bkti->bk", fields, outputs) + beside

    return SamplingProblem(torch.zeros_like(fields), gold, mask, tag_sequence(TAGS), energy), starts


@pytest.mark.parametrize("keep", ["trajectory", "best"])
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("space", ["clip", "logit"])
def test_a_padded_row_is_as_alone(space, objective, keep, monkeypatch):
    settings = {"start": "random", "restarts": RESTARTS, "num_steps": 4, "step_size": 0.2, "keep": keep}

    def infer(*part):
        problem, starts = problem_of(*part)
        with monkeypatch.context() as patch:
            patch.setattr(torch, "rand", lambda *size, **kind: starts.view(size))
            return GradientBasedInference(space=space, **settings, **OBJECTIVES[objective])(problem).outputs

    found = infer(slice(3), 4, mask_of(LENGTHS))
    for row, length in enumerate(LENGTHS):
        alone = infer(slice(row, row + 1), length)[0]
        assert torch.allclose(found[row, :, :length], alone) and not found[row, :, length:].any()
        if keep == "trajectory":
            # Each start goes a way of its own, and goes.
            ways = alone.unflatten(0, (-1, RESTARTS))
            assert ((ways[-1] - ways[0]).abs().flatten(1).amax(dim=1) > 1e-3).all()
