import math
from typing import Any, Optional, TypeVar

import torch
from torch.nn import functional as F

from seal.common.precision import in_full_precision, without_autocast
from seal.common.setting_checks import check_range
from seal.constraints import Constraint, Declared
from seal.output_spaces import BinaryMask, LabelSet, OutputSpace, OverOutputs, TagSequence
from seal.registry import ConfigurationError, Registrable

Space = TypeVar("Space", bound=OutputSpace)


class Energy(OverOutputs, Registrable):
    """
    One term of the loss-net's energy `E_Theta(x, y)`. Low is good. The energy of a loss-net is the sum of its terms.

    A term works in two steps, so that everything that depends on the input alone is computed once a batch and
    shared by every candidate: `condition` reads the input, `forward` the outputs.

    # Parameters

    input_dim : `int`
        The size of the loss-net's hidden vectors. Given by the loss-net.
    output_space : `OutputSpace`
        Given by the model.
    """

    def condition(
        self,
        hidden: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
        inputs: Optional[dict[str, Any]] = None,
    ) -> Any:
        """
        Computes the term's features of the input.

        # Parameters

        hidden : `torch.Tensor`
            `T_E(x)`: `(batch, input_dim)` for label sets, `(batch, tokens, input_dim)` for tag sequences,
            `(batch, H, W, input_dim)` for masks.
        mask : `torch.BoolTensor`, optional
            `(batch, tokens)`, True at real tokens; `None` where all instances have one size.
        inputs : `dict[str, Any]`, optional
            The model's input tensors by name.

        # Returns

        What `forward` is given as `condition`; `None` where the term reads the output alone.
        """
        return None

    def forward(self, condition: Any, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """
        The energy of each candidate.

        # Parameters

        condition : what `condition` returned.
        outputs : `torch.Tensor`, `(batch, samples, *output)`
            Relaxed or discrete candidates, as the output space defines them.
        mask : `torch.BoolTensor`, optional
            `(batch, tokens)`, True at real tokens; `None` where all instances have one size.

        # Returns

        `torch.Tensor`, `(batch, samples)`
        """
        raise NotImplementedError


def check_output_space(name: str, output_space: OutputSpace, kind: type[Space], what: str) -> Space:
    """
    The output space, which is of the kind that the energy called `name` is for.

    # Raises

    `ConfigurationError` if they are not; it describes the kind by `what`.
    """
    if not isinstance(output_space, kind):
        raise ConfigurationError(
            f"loss_net.energies: '{name}' is an energy of {what}; the output_space is a {type(output_space).__name__}."
        )
    return output_space


def declared_for(what: str, constraints: list[Constraint], output_space: OutputSpace) -> Declared:
    """
    The rules, about outputs of the space.

    # Raises

    `ConfigurationError` if outputs are masks, which it says of `what`, or a rule names a label that is not there.
    """
    if isinstance(output_space, BinaryMask):
        raise ConfigurationError(f"{what} are about labels and tags; masks have none.")
    sequences = isinstance(output_space, TagSequence)
    encoding = output_space.encoding if isinstance(output_space, TagSequence) else None
    return Declared(constraints, output_space.labels, sequences, encoding)


@Energy.register("local")
class LocalEnergy(Energy):
    """
    The local energy `E_local(x, y) = sum_i y_i b_i^T T_E(x)` (SEAL, NeurIPS 2022, Eq. 2, first term). For tag
    sequences the sum runs over tokens as well: `sum_t y_t^T B T_E(x)_t`. It is linear in `y`, so a set of candidates
    costs one product.

    It has no bias, in agreement with the parameter counts that the authors print.

    # Parameters

    input_dim, output_space : given by the loss-net.
    """

    def __init__(self, input_dim: int, output_space: OutputSpace) -> None:
        super().__init__()
        self.output_space = output_space
        self.label_embeddings = torch.nn.Linear(input_dim, output_space.num_labels, bias=False)

    def condition(self, hidden: torch.Tensor, mask=None, inputs=None) -> torch.Tensor:
        return in_full_precision(self.label_embeddings, hidden)

    def forward(
        self, condition: torch.Tensor, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        return self.output_space.inner(condition, outputs, mask)


@Energy.register("label_interaction")
class LabelInteractionEnergy(Energy):
    """
    The global energy of label sets, `E_global(y) = v^T softplus(M y + c)` (SEAL, NeurIPS 2022, Eq. 2, second
    term). It reads the labels alone; each of the `m` rows of `M` is a pattern of labels that are likely or,
    where its `v` is positive, unlikely together.

    With the bias `c` there are `m (L + 2)` parameters, as in the counts that the authors print; their equation
    shows no `c`.

    # Parameters

    input_dim, output_space : given by the loss-net.
    hidden_dim : `int`
        `m`, the number of patterns.
    bias : `bool`, optional (default = `True`)
        Whether there is a `c`.

    # Raises

    `ConfigurationError` if the outputs are not label sets, or `hidden_dim` is below 1.
    """

    def __init__(self, input_dim: int, output_space: OutputSpace, hidden_dim: int, bias: bool = True) -> None:
        super().__init__()
        check_output_space("label_interaction", output_space, LabelSet, "label sets")
        check_range("loss_net.energies: hidden_dim of 'label_interaction'", hidden_dim, least=1)
        self.patterns = torch.nn.Linear(output_space.num_labels, hidden_dim, bias=bias)
        self.weights = torch.nn.Linear(hidden_dim, 1, bias=False)

    @without_autocast
    def forward(self, condition: None, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        # Gold may be integer.
        outputs = outputs.to(self.patterns.weight.dtype)
        return self.weights(F.softplus(self.patterns(outputs))).squeeze(-1)


@Energy.register("linear_chain")
class LinearChainEnergy(Energy):
    """
    The pair term of the sequence energy, `-sum_t y_{t-1}^T W y_t` (Tu, Pang & Gimpel 2020, Eq. 7): a large
    `W[a, b]` makes tag `b` after tag `a` likely. The sum runs over `t = 2 .. T`.

    # Parameters

    input_dim, output_space : given by the loss-net.
    with_start : `bool`, optional (default = `False`)
        Whether there is also a learned score of each tag at the start of the sequence.

    # Raises

    `ConfigurationError` if the outputs are not tag sequences.
    """

    def __init__(self, input_dim: int, output_space: OutputSpace, with_start: bool = False) -> None:
        super().__init__()
        check_output_space("linear_chain", output_space, TagSequence, "tag sequences")
        self.output_space = output_space
        labels = output_space.num_labels
        self.transitions = torch.nn.Parameter(torch.empty(labels, labels))
        torch.nn.init.xavier_normal_(self.transitions)
        self.starts = torch.nn.Parameter(torch.zeros(labels)) if with_start else None

    @without_autocast
    def forward(self, condition: None, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        before, after = outputs[:, :, :-1], outputs[:, :, 1:]
        if outputs.is_floating_point():
            pairs = ((before @ self.transitions) * after).sum(dim=-1)
        else:
            # index_select's backward adds rows up; indexing by two tensors would sort every pair first.
            pair = before * self.output_space.num_labels + after
            pairs = self.transitions.flatten().index_select(0, pair.flatten()).view_as(pair)
        if mask is not None:
            # Padding comes last: the pair (t-1, t) is real where t is.
            pairs = pairs * mask[:, 1:].unsqueeze(1)
        score = pairs.sum(dim=-1)
        if self.starts is not None:
            first = outputs[:, :, 0]
            score = score + (first @ self.starts if outputs.is_floating_point() else self.starts[first])
        return -score


@Energy.register("log_partition")
class LogPartitionEnergy(Energy):
    """
    A learned estimate of the logarithm of the partition function, which reads the input alone:

        tau(x) = L log 2 (1 + v^T softplus(W T_E(x) + b) + a)

    for the other terms' `log Z(x) = log sum_y exp(-E(x, y))` over the `2^L` label sets (Sander, Roulet, Liu & Blondel
    2025, "Joint learning of energy-based models and their partition function"). With the energy loss `partition` it is
    learned beside these; then `exp(-E(x, y) - tau(x))` is the probability of `y`. `v` and `a` start at 0, which is
    exact where all sets have energy 0.

    # Parameters

    input_dim, output_space : given by the loss-net.
    hidden_dim : `int`, optional (default = `100`)
        The rows of `W`.

    # Raises

    `ConfigurationError` if the outputs are not label sets, or `hidden_dim` is below 1.
    """

    def __init__(self, input_dim: int, output_space: OutputSpace, hidden_dim: int = 100) -> None:
        super().__init__()
        check_output_space("log_partition", output_space, LabelSet, "label sets")
        check_range("loss_net.energies: hidden_dim of 'log_partition'", hidden_dim, least=1)
        self._log_number = output_space.num_labels * math.log(2)
        self.hidden = torch.nn.Linear(input_dim, hidden_dim)
        self.weights = torch.nn.Linear(hidden_dim, 1)
        torch.nn.init.zeros_(self.weights.weight)
        torch.nn.init.zeros_(self.weights.bias)

    def condition(self, hidden: torch.Tensor, mask=None, inputs=None) -> torch.Tensor:
        """`tau(x)`: `(batch, 1)`."""
        change = in_full_precision(self.weights, F.softplus(in_full_precision(self.hidden, hidden)))
        return self._log_number * (1 + change)

    def forward(
        self, condition: torch.Tensor, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        return condition.expand(outputs.shape[:2])


@Energy.register("constraints")
class ConstraintsEnergy(Energy):
    """
    Declared rules as a term of the energy, with nothing to learn: `E(y) = weight * sum_c v_c(y)`, where the violation
    `v_c` is 0 exactly where a discrete output keeps the rule, and differentiable in a relaxed one.

    # Parameters

    input_dim, output_space : given by the loss-net.
    constraints : `list[Constraint]`
    weight : `float`, optional (default = `1.0`)
        In units of the energy, for each violation.

    # Raises

    `ConfigurationError` if outputs are masks, a rule names a label that is not there, or the weight is negative.
    """

    def __init__(
        self, input_dim: int, output_space: OutputSpace, constraints: list[Constraint], weight: float = 1.0
    ) -> None:
        super().__init__()
        check_range("energies.weight", weight, least=0)
        self.declared = declared_for("loss_net.energies: 'constraints'", constraints, output_space)
        self.weight = weight

    @without_autocast
    def forward(self, condition: None, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        return self.weight * self.declared(outputs, mask).sum(dim=-1)
