import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.output_spaces import BinaryMask
from seal.samplers import SamplingProblem, SmoothPerturbation
from tests.label_sets import label_set


def problem(logits):
    return SamplingProblem(logits, torch.zeros_like(logits), None, BinaryMask(list(logits.shape[1:])))


def test_perturbs_logits_by_smooth_noise():
    torch.manual_seed(0)
    logits = torch.randn(2, 12, 12, dtype=torch.double)
    candidates = SmoothPerturbation(num_samples=2000, std=0.5, width=2.0)(problem(logits))
    assert candidates.noise_log_prob is None
    noise = (candidates.outputs.logit() - logits.unsqueeze(1)) / 0.5
    assert noise.mean().abs() < 0.02 and (noise.std() - 1).abs() < 0.02
    beside = (noise[..., :, 1:] * noise[..., :, :-1]).mean()
    assert beside.item() == pytest.approx(0.939, abs=0.02)  # exp(-1 / 16)
    far = (noise[..., 0, 0] * noise[..., 11, 11]).mean()
    assert far.abs() < 0.06


def test_the_clean_output_and_discrete_masks():
    torch.manual_seed(1)
    logits = torch.randn(2, 4, 5)
    clean = SmoothPerturbation(num_samples=3, include_clean=True)(problem(logits)).outputs
    assert torch.allclose(clean[:, 0], logits.sigmoid()) and not torch.allclose(clean[:, 1], logits.sigmoid())
    masks = SmoothPerturbation(num_samples=3, std=5.0, include_clean=True, discrete=True)(problem(logits)).outputs
    assert set(masks.unique().tolist()) == {0.0, 1.0}
    assert torch.equal(masks[:, 0], (logits >= 0).float()) and not torch.equal(masks[:, 1], masks[:, 0])


def test_a_width_of_0_is_white_noise():
    torch.manual_seed(0)
    logits = torch.zeros(1, 30, 30)
    outputs = SmoothPerturbation(num_samples=4, width=0.0)(problem(logits)).outputs
    left, right = outputs[..., :-1].logit().flatten(), outputs[..., 1:].logit().flatten()
    # 3480 pairs: the standard error of their correlation is .017.
    assert abs(float(torch.corrcoef(torch.stack([left, right]))[0, 1])) < 0.08
    smooth = SmoothPerturbation(num_samples=4, width=1.0)(problem(logits)).outputs
    left, right = smooth[..., :-1].logit().flatten(), smooth[..., 1:].logit().flatten()
    assert float(torch.corrcoef(torch.stack([left, right]))[0, 1]) > 0.5


def test_mistakes():
    with pytest.raises(ConfigurationError, match="sampler.width must be at least 0"):
        SmoothPerturbation(width=-1.0)
    with pytest.raises(ConfigurationError, match="std"):
        SmoothPerturbation(std=0.0)
    labels = SamplingProblem(torch.zeros(1, 3), torch.zeros(1, 3), None, label_set(3))
    with pytest.raises(ConfigurationError, match="'smooth_perturbation' draws masks of images; .* is a LabelSet"):
        SmoothPerturbation()(labels)
