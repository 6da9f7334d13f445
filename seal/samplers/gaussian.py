import torch
from allennlp.common.checks import ConfigurationError

from seal.output_spaces import Candidates
from seal.samplers.sampler import Sampler, SamplingProblem


@Sampler.register("gaussian_perturbation")
class GaussianPerturbation(Sampler):
    """
    The task-net's output with Gaussian noise (SEAL, NeurIPS 2022, section 2.3; SA6): on its logits `z`,
    `relax(z + std * eps)`, or on its relaxed output, `Proj(relax(z) + std * eps)`. Either way every candidate is a
    relaxed output: on the simplex, or in [0, 1].

    # Parameters

    num_samples : `int`, optional (default = `20`)
    std : `float`, optional (default = `1.0`)
        In units of the logits, or of outputs with `space` `"clip"`; above 0.
    include_clean : `bool`, optional (default = `False`)
        The unperturbed output becomes one of the `num_samples`.
    space : `str`, optional (default = `"logit"`)
        Where the noise is: `"logit"` leaves outputs that are sure as they are; `"clip"` moves all variables alike, and
        takes the nearest relaxed output.

    # Raises

    `ConfigurationError` for a value out of these.
    `NotImplementedError` with `"clip"` for an output space without the projection.
    """

    def __init__(
        self, num_samples: int = 20, std: float = 1.0, include_clean: bool = False, space: str = "logit"
    ) -> None:
        super().__init__()
        if num_samples < 1 or std <= 0:
            raise ConfigurationError(
                f"sampler: num_samples ({num_samples}) must be at least 1 and std ({std}) above 0."
            )
        if space not in ("logit", "clip"):
            raise ConfigurationError(f"sampler: space is 'logit' or 'clip', not '{space}'.")
        self.num_samples = num_samples
        self.std = std
        self.include_clean = include_clean
        self.space = space

    @torch.no_grad()
    def forward(self, problem: SamplingProblem) -> Candidates:
        noise = self.std * self._noise(problem.logits)
        if self.include_clean:
            noise[:, 0] = 0
        space, mask = problem.output_space, problem.mask
        if self.space == "clip":
            return Candidates(space.project(space.relax(problem.logits, mask) + noise, mask))
        return Candidates(space.relax_candidates(problem.logits.unsqueeze(1) + noise, mask))

    def _noise(self, logits: torch.Tensor) -> torch.Tensor:
        """Standard normal, `(batch, samples, *structure)`."""
        shape = logits.shape[0], self.num_samples, *logits.shape[1:]
        return torch.randn(shape, dtype=logits.dtype, device=logits.device)
