import torch
from allennlp.common.checks import ConfigurationError

from seal.output_spaces import Candidates
from seal.samplers.sampler import Sampler, SamplingProblem


@Sampler.register("gaussian_perturbation")
class GaussianPerturbation(Sampler):
    """
    The task-net's output with Gaussian noise on its logits, relaxed: `relax(z + std * eps)` (SEAL, NeurIPS 2022,
    section 2.3; SA6). The noise is on the logits, so that every candidate stays a relaxed output: on the simplex,
    or in [0, 1].

    # Parameters

    num_samples : `int`, optional (default = `20`)
    std : `float`, optional (default = `1.0`)
        In units of the logits.
    include_clean : `bool`, optional (default = `False`)
        The unperturbed output becomes one of the `num_samples`.
    """

    def __init__(self, num_samples: int = 20, std: float = 1.0, include_clean: bool = False) -> None:
        super().__init__()
        if num_samples < 1 or std <= 0:
            raise ConfigurationError(
                f"sampler: num_samples ({num_samples}) must be at least 1 and std ({std}) above 0."
            )
        self.num_samples = num_samples
        self.std = std
        self.include_clean = include_clean

    @torch.no_grad()
    def forward(self, problem: SamplingProblem) -> Candidates:
        logits, samples = problem.logits, self.num_samples
        noise = self._noise(logits)
        if self.include_clean:
            noise[:, 0] = 0
        noisy = (logits.unsqueeze(1) + self.std * noise).flatten(0, 1)
        mask = problem.mask
        if mask is not None:
            mask = mask.repeat_interleave(samples, dim=0)
        outputs = problem.output_space.relax(noisy, mask).squeeze(1)
        return Candidates(outputs.unflatten(0, (-1, samples)))

    def _noise(self, logits: torch.Tensor) -> torch.Tensor:
        """Standard normal, `(batch, samples, *structure)`."""
        shape = logits.shape[0], self.num_samples, *logits.shape[1:]
        return torch.randn(shape, dtype=logits.dtype, device=logits.device)
