"""
The gate: chooses for each score between the task-net's own output and the outputs that a structure chooses.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from seal.structure.gain_priors import PRIORS, UNKNOWN, Gains
from seal.structure.scores import Ratio

#: The error of a gain counts so many further groups, with the deviation of earlier data sets: a few instances cannot
#: estimate their own deviation.
EARLIER_GROUPS = 10
#: The titles of scores in reports; by default a score's name.
_TITLES = {"f1": "F1", "micro_f1": "micro F1", "exact_match": "% exact", "subset_accuracy": "% exact"}


@dataclass
class Gain:
    """The distribution of a gain over the task-net's own output: its mean and standard deviation, as shares of 1."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{100 * self.mean:+.1f} ± {100 * self.deviation:.1f}"


@dataclass
class Verdict:
    """
    The gate's choice for a score, and the numbers behind it.

    # Parameters

    chosen : `str`
        The name of the chosen option.
    values : `dict[str, float]`
        The score of each option on the validation data, 0 to 1.
    gains : `dict[str, Gain]`
        The posterior of each option's test gain over the task-net's own output, given the validation data.
    earlier : `dict[str, Gain]`
        The prior of each gain, by earlier data sets.
    observed : `dict[str, Gain]`
        The gain on the validation data, with its standard error.
    instances, groups : `int`
        The numbers of validation instances and of their groups.
    learned : `bool`
        Whether there was an option other than the task-net's own output. If not, the gains mean nothing.
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
        """The option whose gain is reported: the chosen one or, if that is `own`, the best other option."""
        return self.chosen if self.chosen in self.gains else max(self.gains, key=lambda name: self.gains[name].mean)

    def reasons(self) -> dict[str, Any]:
        """The verdict for the report, as plain values, without `chosen`; `gain` is the chosen option's."""
        followed = self.chosen in self.gains
        report: dict[str, Any] = {"values": self.values, "gain": self.gains[self.chosen].mean if followed else 0.0}
        if self.gains:
            report["of"] = self.reported
            sources = {"expected": self.gains, "earlier": self.earlier}
            if self.instances:
                sources["validation"] = self.observed
            for name, gains in sources.items():
                report[name] = {"gain": gains[self.reported].mean, "deviation": gains[self.reported].deviation}
        return {**report, "instances": self.instances, "groups": self.groups, "learned": self.learned}

    def describe(self, score: str, instances: str = "instances") -> str:
        """The choice in a sentence; `instances` is the plural of the name of an instance."""
        if not self.learned:
            return "chosen: own, as nothing else was learned"
        name = self.reported
        subject = "expected gain" if name == self.chosen else f"expected gain of {name}, the best other option,"
        data = f"these {self.instances} validation {instances}"
        if self.groups < self.instances:
            data += f" of {self.groups} inputs"
        data = f"{data}: {self.observed[name]}" if self.instances else "no validation data"
        sources = f"earlier data sets: {self.earlier[name]}; {data}"
        return f"{subject} {self.gains[name]} {_TITLES.get(score, score)} ({sources}); chosen: {self.chosen}"


def gate(
    options: Mapping[str, Ratio],
    earlier: Mapping[str, Gains],
    groups: torch.Tensor | None = None,
    learned: bool = True,
) -> Verdict:
    """
    Chooses the option of the highest expected test score. All options are scored on the same validation instances. The
    first option is the task-net's own output, whose gain is 0.

    The gain `g` of another option over it has the prior `N(m, s^2)`, by earlier data sets. The difference of the scores
    on the validation data is `d ~ N(g, e^2)`, where `e^2` is the variance of the influence functions, summed by group.
    The posterior mean is

    `E[g | d] = (m / s^2 + d / e^2) / (1 / s^2 + 1 / e^2)`.

    `g` is at most 1 minus the score of the task-net's own output: where there are validation data, the posterior is the
    normal distribution truncated at this bound.

    Each option has a posterior of its own. A joint normal distribution of all options was no better over many data
    sets, and an unusual gain of one option then changes the expected gain of the others.

    # Parameters

    options : `Mapping[str, Ratio]`
    earlier : `Mapping[str, Gains]`
        The prior of each option but the first, by `gains_before`.
    groups : `torch.LongTensor`, `(instances,)`, optional
        The number of each instance's group: its sentence, or a group of equal inputs. By default each instance is a
        group.
    learned : `bool`, optional (default = `True`)
        Whether the other options were learned; if not, the task-net's own output is chosen.
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
    """The gain given an observed one, whose deviation is its standard error, infinite without observations."""
    weight = before.deviation**2 / (before.deviation**2 + observed.deviation**2)
    if weight == 0.0:
        return before
    mean = before.mean + weight * (observed.mean - before.mean)
    return Gain(mean, before.deviation * (1 - weight) ** 0.5)


def at_most(gain: Gain, most: float) -> Gain:
    """
    The mean and deviation of `N(mean, deviation^2)` truncated to values below `most`: `mean - deviation r` and
    `deviation sqrt(1 - a r - r^2)`, with `a = (most - mean) / deviation` and `r = phi(a) / Phi(a)`.
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
    The gain of each option over `own` on the same instances, with its standard error, and the number of groups. The
    error is that of a sum over groups of the influence functions. `EARLIER_GROUPS` further groups count in it, with the
    deviation of earlier data sets.
    """
    instances = len(own.numerators)
    if not instances:
        return [Gain(0.0, math.inf) for _ in options], 0
    base, number = own.influence(), groups
    if groups is not None:
        _, number = groups.cpu().unique(return_inverse=True)
    gains, count = [], instances if number is None else int(number.max()) + 1
    for option, before in zip(options, earlier):
        sums = (option.influence() - base).double().cpu()
        if number is not None:
            sums = sums.new_zeros(count).index_add(0, number, sums)
        further = EARLIER_GROUPS * (before.deviation * instances / count) ** 2
        group_variance = (float(sums.square().sum()) + further) / (count - 1 + EARLIER_GROUPS)
        gains.append(Gain(option.value - own.value, (group_variance * count) ** 0.5 / instances))
    return gains, count


def gains_before(family: str, score: str, options: list[str]) -> dict[str, Gains]:
    """The prior of each option's gain by earlier data sets of the family; `UNKNOWN` where there were none."""
    known = PRIORS.get((family, score), {})
    return {name: known.get(name, UNKNOWN) for name in options}
