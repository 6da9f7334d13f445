import math

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.samplers import GaussianPerturbation, SamplingProblem
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


@pytest.mark.parametrize("space", ["logits", ""])
def test_a_space_that_there_is_not(space):
    with pytest.raises(ConfigurationError, match=f"sampler.space must be 'logit' or 'clip', found '{space}'"):
        GaussianPerturbation(space=space)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"num_samples": 0}, "sampler.num_samples must be at least 1, found 0"),
        ({"std": 0.0}, "sampler.std must be above 0, found 0.0"),
        ({"std": -1.0}, "sampler.std must be above 0, found -1.0"),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        GaussianPerturbation(**settings)
    assert GaussianPerturbation(num_samples=1).num_samples == 1
