import torch

from seal.common.setting_checks import check_choice, check_range
from seal.output_spaces import Candidates
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
