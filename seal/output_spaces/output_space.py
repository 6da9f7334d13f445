"""`OutputSpace`, the base of output spaces; and `Candidates`, the outputs on which a loss-net is trained."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Optional

import torch

from seal.registry import ConfigurationError, Registrable


class OutputSpace(torch.nn.Module, Registrable):
    """
    The base of types of output. A space defines the relaxation of an output, its distribution `P(y | x; Phi)` under the
    task-net's logits, its comparison with gold, and its decoding (SEAL, NeurIPS 2022, section 2).

    Energies, samplers, scores and losses handle outputs only through this class, so each of them works with label
    sets, tag sequences and images.

    Shapes. `logits` is `(batch, *structure)`. *Outputs* are candidates `(batch, samples, *output)`. Gold is one
    output for each instance, `(batch, *output)`, always discrete. A space may have a compact form of discrete outputs
    (tag indices in place of one-hot rows); its methods take either form. `mask`, `(batch, tokens)`, is True at the
    real positions of a batch of unequal sizes, and `None` where every instance has the same size; padding adds
    nothing to any sum.
    """

    num_labels: int
    #: The labels, and their namespace in the vocabulary.
    labels: list[str]
    namespace: str
    #: The L1 distance between discrete outputs that differ in one variable.
    l1_per_error: float = 1.0

    def relax(self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """The relaxed output, `(batch, 1, *structure)`, in [0, 1], differentiable; 0 at padding."""
        raise NotImplementedError

    def check_outputs(self, outputs: Any, logits: torch.Tensor) -> None:
        """
        Checks outputs that a user passes, for inputs with these `logits (batch, *structure)`. The base class checks the
        shape; spaces check the values as well.

        # Raises

        `ConfigurationError` if they are not outputs of this space.
        """
        batch, *structure = logits.shape
        check_shape(outputs, batch, [structure, structure[:-1]])

    def relax_candidates(self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """`relax` for the logits of several candidates, `(batch, samples, *structure)`; of the same shape."""
        samples = logits.shape[1]
        if mask is not None:
            mask = mask.repeat_interleave(samples, dim=0)
        return self.relax(logits.flatten(0, 1), mask).squeeze(1).unflatten(0, (-1, samples))

    def straight_through(self, relaxed: torch.Tensor) -> torch.Tensor:
        """The value of the discrete output nearest to each relaxed one, with the relaxed one's gradient; same shape."""
        raise NotImplementedError

    def sample(self, logits: torch.Tensor, num_samples: int, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """Independent draws from `P(y | x; Phi)`, discrete, without gradient: `(batch, num_samples, *output)`."""
        raise NotImplementedError

    def relaxed_sample(
        self,
        logits: torch.Tensor,
        num_samples: int,
        mask: Optional[torch.Tensor] = None,
        temperature: float = 0.5,
    ) -> torch.Tensor:
        """
        Draws from a continuous distribution that is near `P(y | x; Phi)` at low temperatures, differentiable in
        the logits: the concrete distribution (Maddison, Mnih & Teh 2017; Jang, Gu & Poole 2017). `(batch,
        num_samples, *structure)`, in (0, 1); 0 at padding.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no relaxed draws; take another way for gradients through draws."
        )

    def log_prob(
        self, logits: torch.Tensor, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        """`log P(y | x; Phi)` of each candidate in nats, `(batch, samples)`."""
        raise NotImplementedError

    def cross_entropy(
        self, logits: torch.Tensor, gold: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        """`-log P(gold | x; Phi)` in nats, summed over the structure: `(batch,)`."""
        return -self.log_prob(logits, gold.unsqueeze(1), mask).squeeze(1)

    def inner(self, scores: torch.Tensor, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """The inner product of `scores (batch, *structure)` with each candidate: `(batch, samples)`."""
        raise NotImplementedError

    def overlap(
        self, outputs: torch.Tensor, gold: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """
        `I = sum_i min(y'_i, y_i)` and `U = sum_i max(y'_i, y_i)` over all output variables, each
        `(batch, samples)`: soft F1, soft IoU and the L1 cost are functions of the two.
        """
        raise NotImplementedError

    def decode(self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """The best discrete output, `(batch, *output)`."""
        raise NotImplementedError

    def is_legal(self, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """Whether `decode` could return each of the discrete outputs, `(batch, samples)`; true in the base class."""
        return torch.ones(outputs.shape[:2], dtype=torch.bool, device=outputs.device)

    def stack(self, *outputs: torch.Tensor) -> torch.Tensor:
        """Joins candidates along `samples`, after converting them to one form."""
        return torch.cat(outputs, dim=1)

    def distinct(self, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> tuple[torch.Tensor, torch.Tensor]:
        """
        Merges equal candidates of an instance. A loss that sums over draws can use the distinct draws with the
        logarithms of their counts; the draws of a confident task-net are mostly equal.

        # Returns

        `(outputs, log_count)`, with as many samples as the instance with the most distinct ones has; the other
        instances are filled up with repeats whose `log_count` is `-inf`.
        """
        return outputs, outputs.new_zeros(outputs.shape[:2], dtype=torch.float)

    def sample_distinct(
        self, logits: torch.Tensor, num_samples: int, mask: Optional[torch.Tensor] = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """`distinct` of `num_samples` draws of `sample`."""
        return self.distinct(self.sample(logits, num_samples, mask), mask)

    def project(self, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """The relaxed outputs nearest to any points `outputs (batch, samples, *structure)`."""
        raise NotImplementedError(
            f"{type(self).__name__} has no projection onto its relaxed outputs, which gradient-based inference "
            "and Gaussian perturbation with space 'clip' need; the output spaces 'label_set', 'binary_mask' and "
            "'tag_sequence' have one."
        )

    def to_logits(self, relaxed: torch.Tensor) -> torch.Tensor:
        """Finite logits whose relaxation is close to `relaxed (batch, samples, *structure)`; of the same shape."""
        raise NotImplementedError(
            f"{type(self).__name__} has no way back from relaxed outputs to logits, which gradient-based "
            "inference with space 'logit' needs; the output spaces 'label_set', 'binary_mask' and 'tag_sequence' "
            "have one."
        )


def dot(outputs: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """
    `sum_i outputs[b, k, i] vectors[b, i]` over the variables, `(batch, samples)`. It is computed at least in single
    precision, under autocast as well: in half precision, a log-probability or a count of thousands of variables is off
    by whole units.
    """
    dtype = torch.promote_types(torch.promote_types(outputs.dtype, vectors.dtype), torch.float)
    with torch.autocast(outputs.device.type, enabled=False):
        return torch.einsum("bki,bi->bk", outputs.flatten(2).to(dtype), vectors.flatten(1).to(dtype))


class OverOutputs(torch.nn.Module):
    """
    The base of nets that keep their model's output space as an attribute. The space is registered as a submodule of the
    model only, so its parameters are not among the net's. Older weights, in which it was the net's submodule
    `output_space`, still load.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, OutputSpace):
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def _load_from_state_dict(self, state_dict, prefix, *others) -> None:
        for name in [name for name in state_dict if name.startswith(f"{prefix}output_space.")]:
            del state_dict[name]
        super()._load_from_state_dict(state_dict, prefix, *others)


#: For implicit gradients: the network of whose output a candidate is a function, or `CONSTANT`.
TASK_NET, COST_AUGMENTED_NET, CONSTANT = "task_net", "cost_augmented_net", "constant"


@dataclass
class Candidates:
    """
    The outputs that a loss-net learns to distinguish from gold. A sampler returns them as constants; `with_gradient`
    makes them functions of the task-net again.

    # Parameters

    outputs : `torch.Tensor`, `(batch, samples, *output)`
    noise_log_prob : `torch.Tensor`, `(batch, samples)`, optional
        `log P_N` of each candidate in nats, if the sampler can compute it.
    gold_noise_log_prob : `torch.Tensor`, `(batch,)`, optional
        `log P_N` of gold.
    log_count : `torch.Tensor`, `(batch, samples)`, optional
        The logarithm of the number of draws that equal a candidate; `-inf` for a filler. `None`: one draw each.
    sources : `tuple[str, ...]`, optional
        The source of each sample: `TASK_NET`, `COST_AUGMENTED_NET` or `CONSTANT`. `None`: `TASK_NET` for all.
    """

    outputs: torch.Tensor
    noise_log_prob: Optional[torch.Tensor] = None
    gold_noise_log_prob: Optional[torch.Tensor] = None
    log_count: Optional[torch.Tensor] = None
    sources: Optional[tuple[str, ...]] = None

    def source_of_each(self) -> tuple[str, ...]:
        """`sources`, or `TASK_NET` for each sample if it is `None`."""
        return self.sources or (TASK_NET,) * self.outputs.shape[1]

    def log_counts(self) -> torch.Tensor:
        """`log_count`, or zeros if it is `None`: `(batch, samples)`."""
        if self.log_count is not None:
            return self.log_count
        return torch.zeros(self.outputs.shape[:2], device=self.outputs.device)


_TRIES = 100


def merge_equal(keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """
    Merges the equal draws of each instance.

    # Parameters

    keys : `torch.LongTensor`, `(batch, samples, size)`
        Equal for equal draws, and different for different ones.

    # Returns

    `(chosen, log_count)`, each `(batch, width)` with as many columns as the instance with the most distinct draws
    needs: the index, in `[0, batch * samples)`, of one of the equal draws, and the logarithm of how many there are.
    The other instances are filled up with their first draw and a log-count of `-inf`.
    """
    batch, samples, size = keys.shape
    # Mix the high bits into the low ones: two differences in the highest bit alone would cancel in any sum of products.
    mixed = keys ^ ((keys >> 32) & 0xFFFFFFFF)
    for seed in range(_TRIES):
        # A draw's code is one number, which is cheap to sort; `torch.unique` over rows takes ten times as long.
        code = (mixed * _multipliers(size, seed, keys.device)).sum(dim=-1)
        code, order = code.sort(dim=1)
        first = torch.ones_like(code, dtype=torch.bool)
        first[:, 1:] = code[:, 1:] != code[:, :-1]
        # shape: (batch, samples), the column of each draw in the order of codes
        column = first.cumsum(dim=1) - 1
        draws = order + samples * torch.arange(batch, device=keys.device).unsqueeze(1)
        # Draws that are not the first of their code write to the last column.
        chosen = draws[:, :1].repeat(1, samples + 1)
        chosen.scatter_(1, torch.where(first, column, samples), draws)
        flat = keys.flatten(0, 1)
        same = (flat[draws] == flat[chosen.gather(1, column)]).all()
        # One transfer for both, as each waits for the GPU.
        width, same = torch.stack([column[:, -1].max() + 1, same]).tolist()
        if same:
            chosen = chosen[:, :width]
            counts = torch.zeros(batch, width, device=keys.device)
            counts.scatter_add_(1, column, torch.ones_like(column, dtype=counts.dtype))
            return chosen, counts.log()
        # Two different draws had the same code, which has a probability of about 2^-64 for each pair: try again.
    raise RuntimeError(f"merge_equal found no {_TRIES} random codes that tell the draws apart.")


@lru_cache(maxsize=64)
def _multipliers(size: int, seed: int, device: torch.device) -> torch.Tensor:
    """Random odd 64-bit integers, `(size,)`."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.randint(-(2**62), 2**62, (size,), generator=generator) * 2 + 1).to(device)


@dataclass(kw_only=True)
class RewardedCandidates(Candidates):
    """
    Candidates for a batch in which some rows have no gold. In each such row a reward `R(x, .)` determines the output
    `y+` that replaces gold, and the gap between its reward and each candidate's.

    # Parameters

    target : `torch.Tensor`, `(batch, *output)`
        Gold, or `y+` in a row without gold.
    labelled : `torch.BoolTensor`, `(batch,)`
        Whether the row has gold.
    reward_gap : `torch.Tensor`, `(batch, samples)`
        `R(x, y+) - R(x, y_k)`, at least 0; 0 in rows with gold.
    """

    target: torch.Tensor
    labelled: torch.Tensor
    reward_gap: torch.Tensor


#: How far a relaxed output may lie outside [0, 1], by rounding.
_TOLERANCE = 1e-4


def check_shape(outputs: Any, batch: int, shapes: Sequence[Sequence[int]]) -> None:
    """Raises if `outputs` is not `(batch, candidates, *shape)` for one of the shapes; the message names the first."""
    if not isinstance(outputs, torch.Tensor):
        raise ConfigurationError(f"outputs: a tensor of torch is needed, not {type(outputs).__name__}.")
    found = tuple(outputs.shape)
    if len(found) < 3 or found[0] != batch or list(found[2:]) not in [list(shape) for shape in shapes]:
        wanted = ", ".join(map(str, shapes[0]))
        raise ConfigurationError(
            f"outputs: ({batch}, candidates, {wanted}) is needed, not {found}; a single candidate needs its axis, too."
        )


def check_indices(outputs: torch.Tensor, number: int) -> None:
    """Raises if discrete outputs are not integer indices from 0 to `number - 1`."""
    if outputs.dtype not in (torch.int64, torch.int32):
        raise ConfigurationError(
            f"outputs: indices are needed as torch.int64, not {outputs.dtype}; call .long() on them."
        )
    _check_least_and_most(outputs, 0, number - 1, f"indices from 0 to {number - 1} are needed")


def check_relaxed(outputs: torch.Tensor) -> None:
    """Raises if a value is NaN or outside [0, 1]."""
    if outputs.is_complex():
        raise ConfigurationError(f"outputs: numbers from 0 to 1 are needed, not {outputs.dtype}.")
    if outputs.dtype != torch.bool:
        expected = "numbers from 0 to 1 are needed, such as probabilities"
        _check_least_and_most(outputs.detach(), -_TOLERANCE, 1 + _TOLERANCE, expected)


def check_floating(outputs: torch.Tensor, like: torch.Tensor) -> None:
    """Raises if outputs are not floating, or not of the type of `like`; autocast allows any floating type."""
    if not outputs.is_floating_point():
        raise ConfigurationError(
            f"outputs: one probability for each label of a token is needed as {like.dtype}, not {outputs.dtype}; call "
            ".to() on them, or give indices."
        )
    if outputs.dtype != like.dtype and not torch.is_autocast_enabled(like.device.type):
        raise ConfigurationError(
            f"outputs: {like.dtype} is needed, in which the model computes, not {outputs.dtype}; call .to() on them."
        )


def _check_least_and_most(outputs: torch.Tensor, least: float, most: float, expected: str) -> None:
    if outputs.numel() == 0:
        return
    for found, wrong in ((outputs.min(), outputs.min() < least), (outputs.max(), outputs.max() > most)):
        # No comparison with NaN is true.
        if bool(wrong) or bool(found.isnan()):
            raise ConfigurationError(f"outputs: {expected}, and there is {found.item():g}.")
