import torch

from seal.common.setting_checks import check_range
from seal.output_spaces import BinaryMask, Candidates
from seal.registry import ConfigurationError
from seal.samplers.gaussian import GaussianPerturbation
from seal.samplers.sampler import Sampler, SamplingProblem
from seal.samplers.smooth_noise import smooth_noise


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
        check_width(width)
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


def check_width(width: float) -> None:
    check_range("sampler.width", width, least=0)


def check_masks(problem: SamplingProblem, name: str) -> None:
    if not isinstance(problem.output_space, BinaryMask):
        raise ConfigurationError(
            f"sampler: '{name}' draws masks of images; model.output_space is a {type(problem.output_space).__name__}."
        )
