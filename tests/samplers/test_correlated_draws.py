import pytest
import torch

from seal.losses import Comparison, NceRankingLoss
from seal.output_spaces import BinaryMask, Candidates
from seal.samplers import CorrelatedDraws, DiscreteSampler, SamplingProblem
from seal.samplers import correlated_draws as module
from seal.samplers.correlated_draws import mixture_log_prob
from tests.segmentation import all_masks

SPACE = BinaryMask([2, 3])
MASKS = all_masks(2, 3)


def problem(logits, gold=None):
    return SamplingProblem(logits, torch.zeros_like(logits) if gold is None else gold, None, SPACE)


def fixed_fields(monkeypatch, fields):
    """Every call gets the same noise."""
    monkeypatch.setattr(module, "smooth_noise", lambda like, num_fields, width: fields)


def code(masks):
    """Which of `MASKS` each mask is."""
    return (masks.flatten(-2) * 2 ** torch.arange(5, -1, -1, dtype=masks.dtype)).sum(dim=-1).long()


@pytest.mark.parametrize("std, temperature", [(0.0, 1.0), (2.0, 1.0), (30.0, 0.2)])
def test_log_probabilities_of_all_masks_sum_to_one(std, temperature):
    torch.manual_seed(0)
    logits = torch.randn(3, 2, 3, dtype=torch.double)
    fields = (logits.unsqueeze(1) + std * torch.randn(3, 4, 2, 3, dtype=torch.double)) / temperature
    log_prob = mixture_log_prob(SPACE, fields, MASKS.expand(3, -1, -1, -1))
    assert log_prob.shape == (3, 64) and torch.isfinite(log_prob).all()
    assert torch.allclose(log_prob.exp().sum(dim=1), torch.ones(3, dtype=torch.double))
    # The slow and obvious way, for one mask.
    p = fields[1].sigmoid()
    parts = torch.where(MASKS[37].bool(), p, 1 - p).flatten(1).prod(dim=1)
    assert log_prob[1, 37].exp().item() == pytest.approx(parts.mean().item())


def test_draws_are_as_frequent_as_their_log_probability_says(monkeypatch):
    torch.manual_seed(1)
    logits, noise = torch.randn(1, 2, 3, dtype=torch.double), 2 * torch.randn(1, 3, 2, 3, dtype=torch.double)
    fixed_fields(monkeypatch, noise)
    draws = 100_000
    candidates = CorrelatedDraws(num_samples=draws, std=0.7, num_fields=3, temperature=0.8)(problem(logits))
    fields = (logits.unsqueeze(1) + 0.7 * noise) / 0.8
    expected = mixture_log_prob(SPACE, fields, MASKS.unsqueeze(0))[0].exp()
    codes = code(candidates.outputs[0])
    found = torch.bincount(codes, minlength=64) / draws
    assert torch.equal(codes[:5], code(MASKS)[codes[:5]])
    deviation = (expected * (1 - expected) / draws).sqrt()
    assert ((found - expected).abs() <= 4.5 * deviation + 1e-9).all()
    # What the sampler says of its own draws, and of gold (all zeros).
    assert torch.allclose(candidates.noise_log_prob[0].exp(), expected[codes])
    assert candidates.gold_noise_log_prob.exp().item() == pytest.approx(expected[0].item())


def test_neighbours_err_together_and_independent_draws_do_not():
    torch.manual_seed(2)
    space = BinaryMask(8)
    logits = torch.zeros(1, 8, 8, dtype=torch.double)
    ask = SamplingProblem(logits, torch.zeros_like(logits), None, space)

    def agreement(sampler):
        masks = sampler(ask).outputs
        return (masks[..., 1:] == masks[..., :-1]).double().mean().item()

    ours = CorrelatedDraws(num_samples=300, std=3.0, width=2.0, num_fields=300, temperature=0.5)
    assert agreement(ours) > 0.8
    assert agreement(DiscreteSampler(num_samples=300)) == pytest.approx(0.5, abs=0.02)


def test_without_noise_it_is_the_discrete_sampler():
    torch.manual_seed(3)
    logits, gold = torch.randn(2, 2, 3, dtype=torch.double), MASKS[[7, 20]]
    candidates = CorrelatedDraws(num_samples=6, std=0.0, num_fields=4)(problem(logits, gold))
    assert torch.allclose(candidates.noise_log_prob, SPACE.log_prob(logits, candidates.outputs))
    assert torch.allclose(candidates.gold_noise_log_prob, SPACE.log_prob(logits, gold.unsqueeze(1))[:, 0])


def test_nce_is_consistent_under_it():
    """The expected gradient is 0 where the energy is `-log P` of the data, whatever the noise's fields are."""
    torch.manual_seed(4)
    space, masks = BinaryMask([1, 2]), all_masks(1, 2)
    truth = torch.tensor([0.5, 0.1, 0.15, 0.25], dtype=torch.double)
    fields = torch.randn(1, 3, 1, 2, dtype=torch.double)
    log_noise = mixture_log_prob(space, fields, masks.unsqueeze(0))[0]

    def gradient_at(energy):
        energy = energy.clone().requires_grad_(True)
        expected = 0.0
        # One draw: every pair of gold and draw, with its probability.
        for gold in range(4):
            for draw in range(4):
                candidates = Candidates(masks[None, [draw]], log_noise[None, [draw]], log_noise[[gold]])
                comparison = Comparison(energy[[gold]], energy[None, [draw]], candidates, masks[[gold]], space)
                value = NceRankingLoss()(comparison)
                expected = expected + truth[gold] * log_noise[draw].exp() * value.sum()
        return torch.autograd.grad(expected, energy)[0]

    assert gradient_at(-truth.log()).abs().max() < 1e-12
    assert gradient_at(torch.zeros(4, dtype=torch.double)).abs().max() > 0.01


@pytest.mark.parametrize("scale", [50.0, 500.0])
def test_extreme_logits(scale):
    logits = torch.tensor([[[scale, -scale, scale], [scale, scale, -scale]]])
    candidates = CorrelatedDraws(num_samples=5, std=1.0)(problem(logits, torch.ones(1, 2, 3)))
    assert torch.isfinite(candidates.noise_log_prob).all() and torch.isfinite(candidates.gold_noise_log_prob).all()
