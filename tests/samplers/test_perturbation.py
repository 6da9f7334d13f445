import math

import pytest
import torch

from seal.output_spaces import BinaryMask
from seal.samplers import GaussianPerturbation, SamplingProblem, SmoothPerturbation
from seal.samplers.perturbation import smooth_noise
from tests.label_sets import label_set
from tests.spine import mask_of, tag_sequence


def problem_of(lengths=(3, 1)):
    torch.manual_seed(0)
    logits = torch.randn(len(lengths), max(lengths), 3, dtype=torch.double, requires_grad=True)
    gold = torch.zeros(logits.shape[:2], dtype=torch.long)
    return SamplingProblem(logits, gold, mask_of(lengths), tag_sequence(3))


@pytest.mark.parametrize("space", ["logit", "clip"])
def test_candidates_stay_on_the_simplex(space):
    problem = problem_of()
    candidates = GaussianPerturbation(7, std=2.0, space=space)(problem)
    assert candidates.outputs.shape == (2, 7, 3, 3) and not candidates.outputs.requires_grad
    assert candidates.outputs.min() >= 0
    assert torch.allclose(candidates.outputs.sum(-1), problem.mask.double().unsqueeze(1).expand(2, 7, 3))
    assert candidates.noise_log_prob is None and candidates.log_count is None
    # Seven different draws.
    assert len({tuple(draw.round(decimals=9).tolist()) for draw in candidates.outputs[0].flatten(1)}) == 7


@pytest.mark.parametrize("space", ["logit", "clip"])
def test_without_noise_it_is_the_task_nets_output(space):
    problem = problem_of()
    relaxed = problem.output_space.relax(problem.logits, problem.mask)
    candidates = GaussianPerturbation(7, std=1e-9, space=space)(problem)
    assert torch.allclose(candidates.outputs, relaxed.expand(2, 7, 3, 3))


@pytest.mark.parametrize("space", ["logit", "clip"])
def test_the_clean_output(space):
    problem = problem_of()
    relaxed = problem.output_space.relax(problem.logits, problem.mask)[:, 0]
    candidates = GaussianPerturbation(4, include_clean=True, space=space)(problem)
    equal = torch.isclose(candidates.outputs, relaxed.unsqueeze(1)).flatten(2).all(-1)
    assert equal.tolist() == [[True, False, False, False]] * 2
    # The other draws, where it is not asked for.
    assert not torch.isclose(GaussianPerturbation(4)(problem).outputs, relaxed.unsqueeze(1))[0].flatten(1).all(1).any()


def test_the_noise_is_on_the_logits():
    """`log(y_i / y_j)` is `z_i - z_j` with noise of variance `2 std^2`."""
    problem, std, samples = problem_of((1,)), 0.7, 20_000
    outputs = GaussianPerturbation(samples, std)(problem).outputs[0, :, 0]
    gap = outputs[:, 0].log() - outputs[:, 1].log()
    z = problem.logits[0, 0].tolist()
    spread = math.sqrt(2) * std
    assert gap.mean().item() == pytest.approx(z[0] - z[1], abs=4 * spread / math.sqrt(samples))
    assert gap.std().item() == pytest.approx(spread, rel=4 / math.sqrt(2 * samples))
    other = outputs[:, 1].log() - outputs[:, 2].log()
    correlation = torch.corrcoef(torch.stack([gap, other]))[0, 1].item()
    assert correlation == pytest.approx(-0.5, abs=0.03)  # Independent noise a logit.


def test_the_noise_is_on_the_outputs():
    """`clip(p + std * eps)` has a mass of `Phi(-p / std)` at 0, and of `Phi((p - 1) / std)` at 1."""
    std, samples = 0.3, 20_000
    logits = torch.tensor([[-2.0, 0.0, 3.0]], dtype=torch.double)
    problem = SamplingProblem(logits, torch.zeros(1, 3), None, label_set(3))
    outputs = GaussianPerturbation(samples, std, space="clip")(problem).outputs[0]
    normal, p = torch.distributions.Normal(0, 1), logits[0].sigmoid()
    bound = 4 * 0.5 / math.sqrt(samples)
    for at, mass in ((0.0, normal.cdf(-p / std)), (1.0, normal.cdf((p - 1) / std))):
        assert (outputs == at).double().mean(0).tolist() == pytest.approx(mass.tolist(), abs=bound)
    inside = (outputs[:, 1] - 0.5).abs() < 0.2
    expected = 2 * normal.cdf(torch.tensor(0.2 / std)).item() - 1
    assert inside.double().mean().item() == pytest.approx(expected, abs=bound)


# Smooth noise.


def masks_from(logits, **settings):
    space = BinaryMask(list(logits.shape[1:]))
    return SmoothPerturbation(**settings)(SamplingProblem(logits, torch.zeros_like(logits), None, space))


@pytest.mark.parametrize("width", [0.0, 0.7, 2.0])
def test_every_pixel_is_standard_normal_and_neighbours_agree(width):
    torch.manual_seed(0)
    noise = smooth_noise(torch.zeros(2, 7, 9, dtype=torch.double), 20_000, width).flatten(0, 1)
    assert noise.shape == (40_000, 7, 9)
    # Also at the border and in the corners. The deviation of a mean of 40,000 is 0.005, of a square's 0.007.
    assert noise.mean(dim=0).abs().max() < 0.03
    assert (noise.square().mean(dim=0) - 1).abs().max() < 0.04
    for row, column, other in ((0, 0, (0, 1)), (3, 4, (5, 4)), (2, 2, (4, 5)), (6, 8, (6, 4))):
        squared = (row - other[0]) ** 2 + (column - other[1]) ** 2
        expected = math.exp(-squared / (4 * width**2)) if width else 0.0
        found = (noise[:, row, column] * noise[:, other[0], other[1]]).mean()
        # The sum over whole pixels in the place of the integral is a little off at a small width.
        assert found.item() == pytest.approx(expected, abs=0.03)


def test_fields_of_instances_differ_and_follow_the_generator():
    torch.manual_seed(3)
    one = smooth_noise(torch.zeros(2, 4, 4), 2, 1.0)
    torch.manual_seed(3)
    assert torch.equal(one, smooth_noise(torch.zeros(2, 4, 4), 2, 1.0))
    assert not torch.equal(one[0], one[1]) and not torch.equal(one[0, 0], one[0, 1])
    assert smooth_noise(torch.zeros(1, 3, 3, dtype=torch.double), 1, 1.0).dtype == torch.double


def test_perturbs_logits_by_smooth_noise():
    torch.manual_seed(0)
    logits = torch.randn(2, 12, 12, dtype=torch.double)
    candidates = masks_from(logits, num_samples=2000, std=0.5, width=2.0)
    assert candidates.noise_log_prob is None
    noise = (candidates.outputs.logit() - logits.unsqueeze(1)) / 0.5
    assert noise.mean().abs() < 0.02 and (noise.std() - 1).abs() < 0.02
    beside = (noise[..., :, 1:] * noise[..., :, :-1]).mean()
    assert beside.item() == pytest.approx(0.939, abs=0.02)  # exp(-1 / 16)
    far = (noise[..., 0, 0] * noise[..., 11, 11]).mean()
    assert far.abs() < 0.06


def test_the_clean_mask_and_discrete_masks():
    torch.manual_seed(1)
    logits = torch.randn(2, 4, 5)
    clean = masks_from(logits, num_samples=3, include_clean=True).outputs
    assert torch.allclose(clean[:, 0], logits.sigmoid()) and not torch.allclose(clean[:, 1], logits.sigmoid())
    masks = masks_from(logits, num_samples=3, std=5.0, include_clean=True, discrete=True).outputs
    assert set(masks.unique().tolist()) == {0.0, 1.0}
    assert torch.equal(masks[:, 0], (logits >= 0).float()) and not torch.equal(masks[:, 1], masks[:, 0])


# What cannot be.
