"""The sampler `correlated_draws`: masks in which the errors of neighbouring pixels are correlated."""

import math

import torch

from seal.common.setting_checks import check_range, require
from seal.output_spaces import Candidates
from seal.samplers.perturbation import check_masks, smooth_noise
from seal.samplers.sampler import Sampler, SamplingProblem


@Sampler.register("correlated_draws")
class CorrelatedDraws(Sampler):
    """
    Discrete masks in which the errors of neighbouring pixels are correlated, with their exact log-probability, for
    noise-contrastive estimation. Masks of independently drawn pixels are easily told from gold (SEAL, NeurIPS 2022,
    section 4.4). For an instance with logits `z`:

        n_1, ..., n_M              smooth noise, anew for each batch
        z_m = (z + std * n_m) / temperature
        m ~ uniform                y_i ~ Bernoulli(sigmoid(z_mi)) for each pixel i

        log P_N(y) = logsumexp_m sum_i log Bernoulli(y_i; sigmoid(z_mi)) - log M

    The fields `n` are independent of the draws and of gold. Given the fields, `P_N` is a mixture of `M` known
    distributions: it sums to 1 and none of its terms is 0, so that gold always has a log-probability. NCE is
    consistent under any such noise, hence under that of each batch. With one field and `std` 0 this is the sampler
    `discrete`.

    A larger `std` or a lower `temperature` makes the errors of one draw more alike, and gold less probable. Taken too
    far, `log P_N` alone tells gold from the draws, and NCE's loss goes to 0 though the energy has learnt nothing.

    # Parameters

    num_samples : `int`, optional (default = `20`)
    std : `float`, optional (default = `1.0`)
        The standard deviation of the noise, in units of the logits; at least 0.
    width : `float`, optional (default = `2.0`)
        The standard deviation of the blur that makes the noise smooth, in pixels.
    num_fields : `int`, optional (default = `10`)
        `M`, the number of noise fields of each instance; the default is what was measured.
    temperature : `float`, optional (default = `1.0`)
        Above 0; below 1, the pixels of a draw follow its field more closely.

    # Raises

    `ConfigurationError` if a number is out of range and, at the first batch, if the outputs are not masks.
    """

    gives_log_prob = True

    def __init__(
        self,
        num_samples: int = 20,
        std: float = 1.0,
        width: float = 2.0,
        num_fields: int = 10,
        temperature: float = 1.0,
    ) -> None:
        super().__init__()
        check_range("sampler.num_samples", num_samples, least=1)
        check_range("sampler.num_fields", num_fields, least=1)
        check_range("sampler.std", std, least=0)
        check_range("sampler.temperature", temperature, above=0)
        check_range("sampler.width", width, least=0)
        self.num_samples, self.num_fields = num_samples, num_fields
        self.std, self.width, self.temperature = std, width, temperature

    @torch.no_grad()
    def forward(self, problem: SamplingProblem) -> Candidates:
        check_masks(problem, "correlated_draws")
        space, logits = problem.output_space, problem.logits
        # shape: (batch, fields, height, width)
        fields = logits.unsqueeze(1) + self.std * smooth_noise(logits, self.num_fields, self.width)
        fields = fields / self.temperature
        chosen = torch.randint(self.num_fields, (len(logits), self.num_samples), device=logits.device)
        of_draw = fields[torch.arange(len(logits), device=logits.device).unsqueeze(1), chosen]
        # shape: (batch, samples, height, width)
        draws = space.sample(of_draw.flatten(0, 1), 1).squeeze(1).unflatten(0, chosen.shape)
        if not problem.needs_log_prob:
            return Candidates(draws)
        log_prob = mixture_log_prob(space, fields, space.stack(require(problem.gold, "gold").unsqueeze(1), draws))
        return Candidates(draws, noise_log_prob=log_prob[:, 1:], gold_noise_log_prob=log_prob[:, 0])


def mixture_log_prob(space, fields: torch.Tensor, outputs: torch.Tensor) -> torch.Tensor:
    """
    The log-probability of masks under a mixture of distributions with independent pixels.

    # Parameters

    space : `BinaryMask`
    fields : `torch.Tensor`, `(batch, fields, H, W)`
        The logits of each part of the mixture; the parts have equal weights.
    outputs : `torch.Tensor`, `(batch, samples, H, W)`

    # Returns

    `torch.Tensor`, `(batch, samples)`, in nats.
    """
    num_fields = fields.shape[1]
    # Each output is evaluated under each field; the output space takes a field for an instance.
    repeated = outputs.unsqueeze(1).expand(-1, num_fields, *[-1] * (outputs.dim() - 1)).flatten(0, 1)
    # shape: (batch, fields, samples)
    parts = space.log_prob(fields.flatten(0, 1), repeated).unflatten(0, (-1, num_fields))
    return parts.logsumexp(dim=1) - math.log(num_fields)
