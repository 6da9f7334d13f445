"""Constraints on label sets and tag sequences: counts of labels, implications, forbidden transitions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Optional, Union

import torch
from torch import nn

from seal.registry import ConfigurationError, Registrable


@dataclass
class Outputs:
    """
    The input of a constraint: counts of labels or spans in each output and, for sequences, their tags.

    # Parameters

    names : `dict[str, int]`
        The index in `counts` of each label; for tags that encode spans, of each label of spans (role, type of entity).
    counts : `torch.Tensor`, `(batch, samples, names)`
        The number of occurrences: 0, 1 or a probability for the labels of a set; the number of spans for tags.
    tags : `dict[str, int]`, optional
        The index of each tag, if outputs are tag sequences.
    make_one_hot : `Callable[[], torch.Tensor]`, optional
        Returns `one_hot`. It is a function, as few constraints read it.
    """

    names: dict[str, int]
    counts: torch.Tensor
    tags: Optional[dict[str, int]] = None
    make_one_hot: Optional[Callable[[], torch.Tensor]] = None

    @cached_property
    def one_hot(self) -> Optional[torch.Tensor]:
        """
        The probabilities of tags, or 0 and 1 for discrete outputs: `(batch, samples, tokens, tags)`, 0 at padding.
        `None` if outputs are label sets.
        """
        return None if self.make_one_hot is None else self.make_one_hot()

    def columns(self, names: Sequence[str], what: str) -> list[int]:
        """
        The indices of `names` in `counts`.

        # Raises

        `ConfigurationError` if a name is unknown; `what` names the constraint in the message.
        """
        return [place_of(name, self.names, what) for name in names]


class Constraint(nn.Module, Registrable):
    """
    A rule about an output. The violation of a discrete output is 0 if it keeps the rule, else a positive whole number;
    it is differentiable in a relaxed output.

    # Parameters

    name : `str`, optional
        The name in reports.
    """

    def __init__(self, name: Optional[str]) -> None:
        super().__init__()
        self.name = name or self.default_name()

    def default_name(self) -> str:
        """The name of a constraint without `name`."""
        raise NotImplementedError

    def forward(self, outputs: Outputs) -> torch.Tensor:
        """The violation of each output, `(batch, samples)`, at least 0."""
        raise NotImplementedError


def place_of(name: str, names: dict[str, int], what: str) -> int:
    """The index of a name. Raises `ConfigurationError` if it is unknown; `what` names the constraint."""
    if name not in names:
        some = ", ".join(sorted(names)[:8]) + (", ..." if len(names) > 8 else "")
        raise ConfigurationError(f"constraints: {what} names '{name}', which no output has; there are {some}.")
    return names[name]


@Constraint.register("count")
class Count(Constraint):
    """
    An output has at least `least` and at most `most` of some labels. With the number `n(y)` of these labels in `y`, the
    violation is

    `v(y) = max(least - n(y), 0) + max(n(y) - most, 0)`.

    # Parameters

    labels : `list[str]`
        Labels; for tags that encode spans, the labels of spans.
    least : `int`, optional (default = `0`)
    most : `int`, optional
        `None`: no upper bound.
    each : `bool`, optional (default = `False`)
        If true, each label is counted separately, and the violations are added; else `n(y)` is the sum over labels.
    name : as for `Constraint`

    # Raises

    `ConfigurationError` if there is no label, or no number meets both bounds.
    """

    def __init__(
        self,
        labels: list[str],
        least: int = 0,
        most: Optional[int] = None,
        each: bool = False,
        name: Optional[str] = None,
    ) -> None:
        if not labels or isinstance(labels, str):
            raise ConfigurationError(f"constraints: 'labels' must be a list of at least one label, found {labels!r}.")
        if least < 0 or most is not None and most < least:
            raise ConfigurationError(f"constraints: no number is at least {least} and at most {most}.")
        # `StructuredClassifier` has numbers as names of labels.
        self.labels, self.least, self.most, self.each = list(map(str, labels)), least, most, each
        super().__init__(name)

    def default_name(self) -> str:
        least = [f"at_least_{self.least}"] if self.least else []
        most = [f"at_most_{self.most}"] if self.most is not None else []
        return "_".join([*least, *most, *(["of_each"] if self.each else []), *self.labels[:3]])

    def forward(self, outputs: Outputs) -> torch.Tensor:
        counts = outputs.counts[..., outputs.columns(self.labels, "'count'")]
        if not self.each:
            counts = counts.sum(dim=-1, keepdim=True)
        broken = (self.least - counts).clamp(min=0)
        if self.most is not None:
            broken = broken + (counts - self.most).clamp(min=0)
        return broken.sum(dim=-1)


@Constraint.register("at_most_one")
class AtMostOne(Count):
    """
    An output has at most one of some labels; with `each`, at most one of each.

    # Parameters

    As for `Count`, except `least` and `most`.
    """

    def __init__(self, labels: list[str], each: bool = False, name: Optional[str] = None) -> None:
        super().__init__(labels, 0, 1, each, name)


@Constraint.register("exactly_one")
class ExactlyOne(Count):
    """
    An output has exactly one of some labels; with `each`, exactly one of each.

    # Parameters

    As for `Count`, except `least` and `most`.
    """

    def __init__(self, labels: list[str], each: bool = False, name: Optional[str] = None) -> None:
        super().__init__(labels, 1, 1, each, name)


@Constraint.register("at_least_one")
class AtLeastOne(Count):
    """
    An output has at least one of some labels; with `each`, at least one of each.

    # Parameters

    As for `Count`, except `least` and `most`.
    """

    def __init__(self, labels: list[str], each: bool = False, name: Optional[str] = None) -> None:
        super().__init__(labels, 1, None, each, name)


@Constraint.register("implication")
class Implication(Constraint):
    """
    An output with the label `a` has the label `b` as well, such as the parent of `a` in a taxonomy. With the numbers
    `n_a(y)` and `n_b(y)` of these labels in `y`, the violation is

    `v(y) = sum_(a, b) max(min(n_a(y), 1) - n_b(y), 0)`.

    For relaxed outputs this is the Lukasiewicz implication.

    # Parameters

    implies : `dict[str, Union[str, list[str]]]`
        For each label `a` its label `b`, or a list of them.
    name : as for `Constraint`
    """

    def __init__(self, implies: dict[str, Union[str, list[str]]], name: Optional[str] = None) -> None:
        self.implies = dict(implies)
        several = ((a, [all_b] if isinstance(all_b, (str, int)) else all_b) for a, all_b in implies.items())
        self.pairs = [(str(a), str(b)) for a, all_b in several for b in all_b]
        super().__init__(name)

    def default_name(self) -> str:
        return "_".join(["implication", *(f"{a}_{b}" for a, b in self.pairs[:2])])

    def forward(self, outputs: Outputs) -> torch.Tensor:
        causes, effects = (outputs.columns(names, "'implication'") for names in zip(*self.pairs))
        counts = outputs.counts
        return (counts[..., causes].clamp(max=1) - counts[..., effects]).clamp(min=0).sum(dim=-1)


@Constraint.register("forbidden_transitions")
class ForbiddenTransitions(Constraint):
    """
    The tag `b` does not follow the tag `a`: `v(y) = sum_t sum_(a, b) y_{t-1, a} y_{t, b}`.

    # Parameters

    pairs : `list[tuple[str, str]]`
        The names of `a` and `b`.
    name : as for `Constraint`

    # Raises

    `ConfigurationError` at the first output, if outputs are not tag sequences.
    """

    def __init__(self, pairs: list[tuple[str, str]], name: Optional[str] = None) -> None:
        self.pairs = [tuple(pair) for pair in pairs]
        for pair in self.pairs:
            if len(pair) != 2:
                raise ConfigurationError(f"constraints: 'forbidden_transitions' has pairs of tags, found {list(pair)}.")
        super().__init__(name)

    def default_name(self) -> str:
        return "_".join(["forbidden", *(f"{a}_{b}" for a, b in self.pairs[:2])])

    def forward(self, outputs: Outputs) -> torch.Tensor:
        tags, one_hot = outputs.tags, outputs.one_hot
        if tags is None or one_hot is None:
            raise ConfigurationError("constraints: 'forbidden_transitions' is for tag sequences.")
        before, after = ([place_of(tag, tags, "'forbidden_transitions'") for tag in pair] for pair in zip(*self.pairs))
        return (one_hot[:, :, :-1, before] * one_hot[:, :, 1:, after]).sum(dim=(-1, -2))
