from typing import Any, Optional

import torch

from seal.output_spaces.given_outputs import check_shape
from seal.registry import Registrable


class OutputSpace(torch.nn.Module, Registrable):
    """
    A kind of output: its relaxation, its distribution `P(y | x; Phi)` under the task-net's logits, its comparison with
    gold and its decoding (SEAL, NeurIPS 2022, section 2, has what the methods share).

    Energies, samplers, scores and losses handle outputs only through this class, so each of them works with label
    sets, tag sequences and images alike.

    Shapes. `logits` is `(batch, *structure)`. *Outputs* are candidates `(batch, samples, *output)`. Gold is one
    output an instance, `(batch, *output)`, always discrete. A space may hold discrete outputs in a compact form
    (tag indices in place of one-hot rows); its methods take either form. `mask`, `(batch, tokens)`, is True at the
    real positions of a batch of unequal sizes, and `None` where every instance has the same size; padding adds
    nothing to any sum.
    """

    num_labels: int
    #: The labels, and the vocabulary's namespace they are from.
    labels: list[str]
    namespace: str
    #: The L1 distance that one wrong variable makes between discrete outputs.
    l1_per_error: float = 1.0

    def relax(self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """The relaxed output, `(batch, 1, *structure)`, in [0, 1], differentiable; 0 at padding."""
        raise NotImplementedError

    def check_outputs(self, outputs: Any, logits: torch.Tensor) -> None:
        """
        Checks outputs that a caller gives: here only their shape, in a space their values, too.

        # Raises

        `ConfigurationError` if they are no outputs of inputs with these `logits (batch, *structure)`.
        """
        batch, *structure = logits.shape
        check_shape(outputs, batch, [structure, structure[:-1]])

    def relax_candidates(self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """`relax` of the logits of several candidates an instance: `(batch, samples, *structure)` to the same shape."""
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
        """`log P(y | x; Phi)` of each candidate in nats, `(batch, samples)`; computed from logits."""
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

    def stack(self, *outputs: torch.Tensor) -> torch.Tensor:
        """Joins sets of candidates along `samples`, brought to one form."""
        return torch.cat(outputs, dim=1)

    def distinct(self, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> tuple[torch.Tensor, torch.Tensor]:
        """
        Merges equal candidates of an instance. A loss that sums over draws is unchanged when each distinct draw
        carries the logarithm of its count, and a confident task-net repeats itself often.

        # Returns

        `(outputs, log_count)`, with as many samples as the instance with the most distinct ones has; the other
        instances are filled up with repeats whose `log_count` is `-inf`.
        """
        return outputs, outputs.new_zeros(outputs.shape[:2], dtype=torch.float)

    def sample_distinct(
        self, logits: torch.Tensor, num_samples: int, mask: Optional[torch.Tensor] = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """`distinct` of as many draws as `sample` gives."""
        return self.distinct(self.sample(logits, num_samples, mask), mask)

    def project(self, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """The relaxed outputs nearest to `outputs (batch, samples, *structure)`, which may lie anywhere."""
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
    `sum_i outputs[b, k, i] vectors[b, i]` over the variables: `(batch, samples)`. At least in single precision, also
    in mixed precision: in half precision, a log-probability or a count of thousands of variables is off by whole units.
    """
    dtype = torch.promote_types(torch.promote_types(outputs.dtype, vectors.dtype), torch.float)
    with torch.autocast(outputs.device.type, enabled=False):
        return torch.einsum("bki,bi->bk", outputs.flatten(2).to(dtype), vectors.flatten(1).to(dtype))


class OverOutputs(torch.nn.Module):
    """
    A net, or a term of one, that may keep its model's output space as an attribute. The space is a submodule of the
    model alone, so that its parameters are in no net. Weights that were saved when it was a submodule of the net, as
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
