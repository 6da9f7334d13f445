"""Samplers that add noise to the task-net's output."""

import torch

from seal.common.setting_checks import check_choice, check_range
from seal.output_spaces import BinaryMask, Candidates
from seal.registry import ConfigurationError
from seal.samplers.sampler import Sampler, SamplingProblem


@Sampler.register("gaussian_perturbation")
class GaussianPerturbation(Sampler):
    """
    The task-net's output with Gaussian noise (SEAL, NeurIPS 2022, section 2.3): on its logits `z`,
    `relax(z + std * eps)`, or on its relaxed output, `Proj(relax(z) + std * eps)`. Either way every candidate is a
    relaxed output: on the simplex, or in [0, 1].

    # Parameters

    num_samples : `int`, optional (default = `20`)
    std : `float`, optional (default = `1.0`)
        The standard deviation of the noise, in units of the logits, or of outputs with `space` `"clip"`; above 0.
    include_clean : `bool`, optional (default = `False`)
        Whether one of the `num_samples` is the unperturbed output.
    space : `str`, optional (default = `"logit"`)
        Where the noise is added: `"logit"`, to the logits, which hardly changes confident outputs; `"clip"`, to the
        relaxed output, which changes all variables alike, and of the result the nearest relaxed output is taken.

    # Raises

    `ConfigurationError` for any other value.
    `NotImplementedError` with `"clip"` for an output space without a projection onto relaxed outputs.
    """

    def __init__(
        self, num_samples: int = 20, std: float = 1.0, include_clean: bool = False, space: str = "logit"
    ) -> None:
        super().__init__()
        check_range("sampler.num_samples", num_samples, least=1)
        check_range("sampler.std", std, above=0)
        check_choice("sampler.space", space, ("logit", "clip"))
        self.num_samples = num_samples
        self.std = std
        self.include_clean = include_clean
        self.space = space

    @torch.no_grad()
    def forward(self, problem: SamplingProblem) -> Candidates:
        noise = self.std * self._noise(problem.logits)
        if self.include_clean:
            noise[:, 0] = 0
        output_space, mask = problem.output_space, problem.mask
        if self.space == "clip":
            return Candidates(output_space.project(output_space.relax(problem.logits, mask) + noise, mask))
        return Candidates(output_space.relax_candidates(problem.logits.unsqueeze(1) + noise, mask))

    def _noise(self, logits: torch.Tensor) -> torch.Tensor:
        """Standard normal, `(batch, samples, *structure)`."""
        shape = logits.shape[0], self.num_samples, *logits.shape[1:]
        return torch.randn(shape, dtype=logits.dtype, device=logits.device)


def smooth_noise(like: torch.Tensor, num_fields: int, width: float) -> torch.Tensor:
    """
    Gaussian noise that is correlated between neighbouring pixels: white noise, smoothed by a Gaussian blur. The noise
    of each pixel is standard normal, at the border too, and two pixels `d` apart have the correlation
    `exp(-d^2 / (4 width^2))`.

    # Parameters

    like : `torch.Tensor`, `(batch, H, W)`
        A tensor of the shape, type and device.
    num_fields : `int`
        The number of independent noise fields of each instance.
    width : `float`
        The standard deviation of the blur, in pixels; 0 for white noise.

    # Returns

    `torch.Tensor`, `(batch, num_fields, H, W)`
    """
    batch, height, width_of_image = like.shape
    if width == 0:
        return torch.randn(batch, num_fields, height, width_of_image, dtype=like.dtype, device=like.device)
    # There is noise beyond the border as well, so that the blur averages over as much of it there as elsewhere.
    reach = int(3 * width + 1)
    size = (batch, num_fields, height + 2 * reach, width_of_image + 2 * reach)
    noise = torch.randn(size, dtype=like.dtype, device=like.device)
    rows, columns = _blur(height, reach, width).to(noise), _blur(width_of_image, reach, width).to(noise)
    return rows @ noise @ columns.T


def _blur(size: int, reach: int, width: float) -> torch.Tensor:
    """The weights of the noise in each pixel, `(size, size + 2 reach)`; each row has norm 1."""
    away = torch.arange(size + 2 * reach) - reach - torch.arange(size).unsqueeze(1)
    weights = torch.exp(-0.5 * (away.double() / width).square()).masked_fill(away.abs() > reach, 0.0)
    return weights / weights.norm(dim=1, keepdim=True)


@Sampler.register("smooth_perturbation")
class SmoothPerturbation(GaussianPerturbation):
    """
    The task-net's mask with smooth Gaussian noise on its logits, relaxed: `sigmoid(z + std * blur(eps))`.
    `gaussian_perturbation` changes scattered pixels; this sampler moves the outline and adds and removes patches,
    which are the mistakes that a task-net makes (SEAL, NeurIPS 2022, section 4.4, leaves open how masks are drawn).

    # Parameters

    num_samples, std, include_clean : as for `gaussian_perturbation`.
    width : `float`, optional (default = `2.0`)
        The standard deviation of the blur, in pixels; `std` is that of the noise after the blur.
    discrete : `bool`, optional (default = `False`)
        Whether to give masks of 0 and 1, by the signs of the perturbed logits, in place of their relaxation.

    # Raises

    `ConfigurationError` if a number is out of range and, at the first batch, if the outputs are not masks.
    """

    def __init__(
        self,
        num_samples: int = 20,
        std: float = 1.0,
        width: float = 2.0,
        include_clean: bool = False,
        discrete: bool = False,
    ) -> None:
        super().__init__(num_samples, std, include_clean)
        check_range("sampler.width", width, least=0)
        self.width = width
        self.discrete = discrete

    @torch.no_grad()
    def forward(self, problem: SamplingProblem) -> Candidates:
        check_masks(problem, "smooth_perturbation")
        candidates = super().forward(problem)
        if self.discrete:
            candidates.outputs = (candidates.outputs >= 0.5).to(candidates.outputs.dtype)
        return candidates

    def _noise(self, logits: torch.Tensor) -> torch.Tensor:
        return smooth_noise(logits, self.num_samples, self.width)


def check_masks(problem: SamplingProblem, name: str) -> None:
    if not isinstance(problem.output_space, BinaryMask):
        raise ConfigurationError(
            f"sampler: '{name}' draws masks of images; the output_space is a {type(problem.output_space).__name__}."
        )
