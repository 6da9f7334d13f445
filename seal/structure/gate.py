"""
The gate: which option a structure follows for a score, the task-net's own output or one that the structure chooses.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from seal.structure.gain_priors import PRIORS, UNKNOWN, Gains
from seal.structure.scores import Ratio

#: As many further groups of instances, whose scores differ as they did in earlier data sets, count in the error of a
#: gain: a handful of instances cannot tell how far its gain is by chance.
EARLIER_GROUPS = 10
#: By their names in reports; the others are called as they are.
_TITLES = {"f1": "F1", "micro_f1": "micro F1", "exact_match": "% exact", "subset_accuracy": "% exact"}


@dataclass
class Gain:
    """What is known of a gain over the task-net's own output: its mean and deviation, as shares of 1."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{100 * self.mean:+.1f} ± {100 * self.deviation:.1f}"


@dataclass
class Verdict:
    """
    What the gate chose, and why.

    # Parameters

    chosen : `str`
        The name of the option.
    values : `dict[str, float]`
        The score of each option on the validation data, 0 to 1.
    gains : `dict[str, Gain]`
        The expected test gain of each option over the task-net's own output, after the validation data have been seen.
    earlier : `dict[str, Gain]`
        The same by earlier data sets alone.
    observed : `dict[str, Gain]`
        The gain on the validation data, with its standard error.
    instances, groups : `int`
        How many validation instances there are, and how many groups of these.
    learned : `bool`
        Whether there was anything to choose: otherwise the others stand for nothing.
    """

    chosen: str
    values: dict[str, float]
    gains: dict[str, Gain]
    earlier: dict[str, Gain]
    observed: dict[str, Gain]
    instances: int
    groups: int
    learned: bool = True

    @property
    def reported(self) -> str:
        """The option whose gain is reported: the chosen one, or the best other one where none is followed."""
        return self.chosen if self.chosen in self.gains else max(self.gains, key=lambda name: self.gains[name].mean)

    def reasons(self) -> dict[str, Any]:
        """All but the name of what was chosen, as plain values; `gain` is the chosen option's."""
        followed = self.chosen in self.gains
        found: dict[str, Any] = {"values": self.values, "gain": self.gains[self.chosen].mean if followed else 0.0}
        if self.gains:
            found["of"] = self.reported
            sources = {"expected": self.gains, "earlier": self.earlier}
            if self.instances:
                sources["validation"] = self.observed
            for name, gains in sources.items():
                found[name] = {"gain": gains[self.reported].mean, "deviation": gains[self.reported].deviation}
        return {**found, "instances": self.instances, "groups": self.groups, "learned": self.learned}

    def describe(self, score: str, instances: str = "instances") -> str:
        """The choice in a sentence; `instances` is the plural of what a validation instance is."""
        if not self.learned:
            return "chosen: own, as nothing else was learned"
        name = self.reported
        of = "expected gain" if name == self.chosen else f"expected gain of {name}, the best other option,"
        seen = f"these {self.instances} validation {instances}"
        if self.groups < self.instances:
            seen += f" of {self.groups} inputs"
        seen = f"{seen}: {self.observed[name]}" if self.instances else "no validation data"
        title = _TITLES.get(score, score)
        return (
            f"{of} {self.gains[name]} {title} (earlier data sets: {self.earlier[name]}; {seen}); chosen: {self.chosen}"
        )


def gate(
    options: Mapping[str, Ratio],
    earlier: Mapping[str, Gains],
    groups: torch.Tensor | None = None,
    learned: bool = True,
) -> Verdict:
    """
    Chooses the option of the highest expected test score, of some options scored on the same validation instances. The
    first option is the task-net's own output, whose gain is 0.

    The gain `g` of each other option over it has the prior `N(m, s^2)`, by earlier data sets. Its difference on the
    validation data is `d ~ N(g, e^2)`, where `e^2` is the variance of the influence functions, summed by group. So the
    expected gain is their mean, weighed by how sure each is:

    `E[g | d] = (m / s^2 + d / e^2) / (1 / s^2 + 1 / e^2)`

    Where there are validation data, `g` is at most what the own output leaves, 1 less its score: the expected gain is
    that of the normal distribution below this bound.

    Options are weighed one by one. All of them at once, as one normal distribution, were no better over many data sets,
    and an option that gains much more than it ever did then changes what is expected of the others.

    # Parameters

    options : `Mapping[str, Ratio]`
    earlier : `Mapping[str, Gains]`
        Of each option but the first, as of `gains_before`.
    groups : `torch.LongTensor`, `(instances,)`, optional
        The number of each instance's group: its sentence, or those of equal input. By default each is alone.
    learned : `bool`, optional (default = `True`)
        Whether the others were learned; if not, the task-net's own output is chosen.
    """
    own, *others = options
    values = {name: ratio.value for name, ratio in options.items()}
    instances = len(options[own].numerators)
    before = {name: Gain(earlier[name].mean, earlier[name].spread) for name in others}
    observed, number = paired([options[name] for name in others], options[own], [earlier[n] for n in others], groups)
    seen = dict(zip(others, observed))
    most = 1.0 - values[own] if instances else math.inf
    after = {name: at_most(posterior(before[name], seen[name]), most) for name in others}
    chosen = max(others, key=lambda name: after[name].mean, default=own)
    if not learned or not others or after[chosen].mean <= 0:
        chosen = own
    return Verdict(chosen, values, after, before, seen, instances, number, learned and bool(others))


def posterior(before: Gain, observed: Gain) -> Gain:
    """The gain after `observed`, of which the deviation is the standard error; infinite where nothing was."""
    weight = before.deviation**2 / (before.deviation**2 + observed.deviation**2)
    if weight == 0.0:
        return before
    mean = before.mean + weight * (observed.mean - before.mean)
    return Gain(mean, before.deviation * (1 - weight) ** 0.5)


def at_most(gain: Gain, most: float) -> Gain:
    """
    The mean and deviation of `N(mean, deviation^2)` below `most`: with `a = (most - mean) / deviation` and
    `r = phi(a) / Phi(a)`, `mean - deviation r` and `deviation sqrt(1 - a r - r^2)`.
    """
    if gain.deviation == 0.0 or math.isinf(most):
        return Gain(min(gain.mean, most), gain.deviation)
    place = torch.tensor((most - gain.mean) / gain.deviation, dtype=torch.double)
    ratio = float((-place.square() / 2 - torch.special.log_ndtr(place)).exp() / (2 * math.pi) ** 0.5)
    share = 1 - float(place) * ratio - ratio**2
    return Gain(gain.mean - gain.deviation * ratio, gain.deviation * max(share, 0.0) ** 0.5)


def paired(
    options: list[Ratio], own: Ratio, earlier: list[Gains], groups: torch.Tensor | None = None
) -> tuple[list[Gain], int]:
    """
    The gains of some options over `own` on the same instances, with their standard errors, and the number of groups.
    The errors are those of the sums of the influence functions over the groups, with `EARLIER_GROUPS` further ones
    whose deviation is that of earlier data sets.
    """
    instances = len(own.numerators)
    if not instances:
        return [Gain(0.0, math.inf) for _ in options], 0
    base, number = own.influence(), groups
    if groups is not None:
        _, number = groups.cpu().unique(return_inverse=True)
    found, count = [], instances if number is None else int(number.max()) + 1
    for option, before in zip(options, earlier):
        sums = (option.influence() - base).double().cpu()
        if number is not None:
            sums = sums.new_zeros(count).index_add(0, number, sums)
        further = EARLIER_GROUPS * (before.deviation * instances / count) ** 2
        of_group = (float(sums.square().sum()) + further) / (count - 1 + EARLIER_GROUPS)
        found.append(Gain(option.value - own.value, (of_group * count) ** 0.5 / instances))
    return found, count


def gains_before(family: str, score: str, options: list[str]) -> dict[str, Gains]:
    """What earlier data sets of the family say of each option's gain; `UNKNOWN` of those of which they say nothing."""
    known = PRIORS.get((family, score), {})
    return {name: known.get(name, UNKNOWN) for name in options}
