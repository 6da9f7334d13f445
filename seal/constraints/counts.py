from typing import Optional

import torch

from seal.constraints.constraint import Constraint, Outputs
from seal.registry import ConfigurationError


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
        self.labels, self.least, self.most, self.each = list(labels), least, most, each
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

    labels : `list[str]`
    each : `bool`, optional (default = `False`)
    name : as for `Constraint`
    """

    def __init__(self, labels: list[str], each: bool = False, name: Optional[str] = None) -> None:
        super().__init__(labels, 0, 1, each, name)


@Constraint.register("exactly_one")
class ExactlyOne(Count):
    """
    Labels of which an output has exactly one; with `each`, one of each.

    # Parameters

    labels : `list[str]`
    each : `bool`, optional (default = `False`)
    name : as for `Constraint`
    """

    def __init__(self, labels: list[str], each: bool = False, name: Optional[str] = None) -> None:
        super().__init__(labels, 1, 1, each, name)


@Constraint.register("at_least_one")
class AtLeastOne(Count):
    """
    Labels of which an output has at least one; with `each`, one or more of each.

    # Parameters

    labels : `list[str]`
    each : `bool`, optional (default = `False`)
    name : as for `Constraint`
    """

    def __init__(self, labels: list[str], each: bool = False, name: Optional[str] = None) -> None:
        super().__init__(labels, 1, None, each, name)
