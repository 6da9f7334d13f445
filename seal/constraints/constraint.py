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
    Outputs as a constraint sees them.

    # Parameters

    names : `dict[str, int]`
        What is counted, and its place: labels; of tags that encode spans, the labels of spans (roles, kinds of entity).
    counts : `torch.Tensor`, `(batch, samples, names)`
        How often each occurs: of a label set 0 or 1, or its probability; of spans, how many begin.
    tags : `dict[str, int]`, optional
        The names of the tags and their places, where outputs are sequences of them.
    make_one_hot : `Callable[[], torch.Tensor]`, optional
        Makes `one_hot`, which few constraints read.
    """

    names: dict[str, int]
    counts: torch.Tensor
    tags: Optional[dict[str, int]] = None
    make_one_hot: Optional[Callable[[], torch.Tensor]] = None

    @cached_property
    def one_hot(self) -> Optional[torch.Tensor]:
        """
        The probabilities of tags or, of discrete outputs, 0 and 1; 0 at padding: `(batch, samples, tokens, tags)`.
        `None` where outputs are no sequences.
        """
        return None if self.make_one_hot is None else self.make_one_hot()

    def columns(self, names: Sequence[str], what: str) -> list[int]:
        """
        The places of `names`.

        # Raises

        `ConfigurationError` if one is not among those that are counted.
        """
        return [place_of(name, self.names, what) for name in names]


class Constraint(nn.Module, Registrable):
    """
    A rule about an output. Its violation is 0 exactly where a discrete output keeps it, a whole number where not, and
    differentiable in a relaxed output.

    # Parameters

    name : `str`, optional
        What reports call it.
    """

    def __init__(self, name: Optional[str]) -> None:
        super().__init__()
        self.name = name or self.default_name()

    def default_name(self) -> str:
        """Its name where none is given."""
        raise NotImplementedError

    def forward(self, outputs: Outputs) -> torch.Tensor:
        """How far each output breaks the rule: `(batch, samples)`, at least 0."""
        raise NotImplementedError


def place_of(name: str, names: dict[str, int], what: str) -> int:
    if name not in names:
        some = ", ".join(sorted(names)[:8]) + (", ..." if len(names) > 8 else "")
        raise ConfigurationError(f"constraints: {what} names '{name}', which no output has; there are {some}.")
    return names[name]


@Constraint.register("count")
class Count(Constraint):
    """
    At least and at most so many of some labels, all together or of each one:

    `v(y) = max(least - n(y), 0) + max(n(y) - most, 0)`, `n(y)` how many `y` has.

    # Parameters

    labels : `list[str]`
        Labels; of tags that encode spans, the labels of spans.
    least : `int`, optional (default = `0`)
    most : `int`, optional
        `None`: any number.
    each : `bool`, optional (default = `False`)
        Whether each label has a count of its own; the violations are added.
    name : as for `Constraint`

    # Raises

    `ConfigurationError` if there is no label, or no count is left.
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
        # Also the numbers of labels, which `StructuredClassifier` calls by these.
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
    Labels of which an output has at most one; with `each`, none of them twice.

    # Parameters

    As for `Count`, except `least` and `most`.
    """

    def __init__(self, labels: list[str], each: bool = False, name: Optional[str] = None) -> None:
        super().__init__(labels, 0, 1, each, name)


@Constraint.register("exactly_one")
class ExactlyOne(Count):
    """
    Labels of which an output has exactly one; with `each`, one of each.

    # Parameters

    As for `Count`, except `least` and `most`.
    """

    def __init__(self, labels: list[str], each: bool = False, name: Optional[str] = None) -> None:
        super().__init__(labels, 1, 1, each, name)


@Constraint.register("at_least_one")
class AtLeastOne(Count):
    """
    Labels of which an output has at least one; with `each`, one or more of each.

    # Parameters

    As for `Count`, except `least` and `most`.
    """

    def __init__(self, labels: list[str], each: bool = False, name: Optional[str] = None) -> None:
        super().__init__(labels, 1, None, each, name)


@Constraint.register("implication")
class Implication(Constraint):
    """
    An output with one label has another one too, such as a label's parent in a taxonomy:

    `v(y) = sum_(a, b) max(min(n_a(y), 1) - n_b(y), 0)`,

    with the Lukasiewicz form of the implication where outputs are relaxed.

    # Parameters

    implies : `dict[str, Union[str, list[str]]]`
        For a label those that must come with it.
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
    Pairs of tags of which the second may not follow the first: `v(y) = sum_t sum_(a, b) y_{t-1, a} y_{t, b}`.

    # Parameters

    pairs : `list[tuple[str, str]]`
        Names of tags.
    name : as for `Constraint`

    # Raises

    `ConfigurationError` at the first output, if outputs are no tag sequences.
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
