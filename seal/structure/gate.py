"""
The gate: chooses for each score between the task-net's own output and the outputs that a structure chooses.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from seal.structure.gain_priors import PRIORS, UNKNOWN, Earlier, Gains
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

    def over(self, other: "Gain") -> "Gain":
        """The difference to an independent gain over the same option."""
        return Gain(self.mean - other.mean, math.hypot(self.deviation, other.deviation))

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
        return f"{subject} {self.gains[name]} {_TITLES.get(score, score)} over own ({sources}); chosen: {self.chosen}"


def gate(
    options: Mapping[str, Ratio],
    earlier: Mapping[str, Gains],
    groups: torch.Tensor | None = None,
    learned: bool = True,
) -> Verdict:
    """
    Chooses the option of the highest expected test score. All options are scored on the same validation instances. The
    first option is the task-net's own output.

    Each option's score is compared with that of one option, the start, which was the best on the mean of earlier data
    sets. The difference `g` of the two scores on test data has a Laplace prior of mean `m` and standard deviation `s`,
    by earlier data sets: it is small on most of them, and large on a few. The difference on the validation data is
    `d ~ N(g, e^2)`, where `e^2` is the variance of the influence functions, summed by group. The option of the highest
    `E[g | d]` is chosen; the start has 0. See `posterior`.

    No option gains more over the start, nor the start over the task-net's own output, than 1 less the score of these on
    the validation data.

    # Parameters

    options : `Mapping[str, Ratio]`
    earlier : `Mapping[str, Gains]`
        The prior of each option but the start, by `gains_before`. The start is the first option without a prior.
    groups : `torch.LongTensor`, `(instances,)`, optional
        The number of each instance's group: its sentence, or a group of equal inputs. By default each instance is a
        group.
    learned : `bool`, optional (default = `True`)
        Whether the other options were learned; if not, the task-net's own output is chosen.
    """
    own, *others = options
    start = next(name for name in options if name not in earlier)
    values = {name: ratio.value for name, ratio in options.items()}
    before, after = {start: Gain(0.0, 0.0)}, {start: Gain(0.0, 0.0)}
    known = {name: earlier[name] for name in options if name != start}
    seen, number = paired(
        [options[name] for name in known], options[start], [prior.deviation for prior in known.values()], groups
    )
    for (name, prior), found in zip(known.items(), seen):
        before[name] = Gain(prior.mean, prior.spread)
        least = values[own] - 1.0 if name == own else -1.0
        after[name] = posterior(before[name], found, least, 1.0 - values[start])
    chosen = max(options, key=lambda name: after[name].mean) if learned and others else own
    deviations = [known.get(own, known.get(name, UNKNOWN)).deviation for name in others]
    observed, _ = paired([options[name] for name in others], options[own], deviations, groups)
    return Verdict(
        chosen,
        values,
        {name: after[name].over(after[own]) for name in others},
        {name: before[name].over(before[own]) for name in others},
        dict(zip(others, observed)),
        len(options[own].numerators),
        number,
        learned and bool(others),
    )


def posterior(before: Gain, observed: Gain, least: float = -1.0, most: float = 1.0) -> Gain:
    """
    The mean and deviation of a gain `g` between `least` and `most` whose prior is a Laplace distribution, given an
    observation `d ~ N(g, v)`; `before`, if `v` is infinite. With `a = sqrt(2) / s` of the prior's mean `m` and
    deviation `s`, the density is

    `exp(-a |g - m| - (g - d)^2 / 2 v)`,

    which is that of `N(d + a v, v)` below `m` and of `N(d - a v, v)` above, up to factors.
    """
    variance = observed.deviation**2
    if before.deviation == 0.0 or math.isinf(variance):
        return before
    if variance == 0.0:
        return Gain(min(max(observed.mean, least), most), 0.0)
    rate = 2**0.5 / before.deviation
    turn = min(max(before.mean, least), most)
    pieces = []
    for sign, low, high in ((1, least, turn), (-1, turn, most)):
        if low < high:
            log_mass, mean, spread = _between(observed.mean + sign * rate * variance, observed.deviation, low, high)
            pieces.append((log_mass + sign * rate * (observed.mean - before.mean), mean, spread))
    if not pieces:
        return Gain(turn, 0.0)
    largest = max(log_mass for log_mass, _, _ in pieces)
    masses = [math.exp(log_mass - largest) for log_mass, _, _ in pieces]
    shares = [mass / sum(masses) for mass in masses]
    mean = sum(share * found for share, (_, found, _) in zip(shares, pieces))
    second = sum(share * (spread + (found - mean) ** 2) for share, (_, found, spread) in zip(shares, pieces))
    return Gain(mean, second**0.5)


def _between(mean: float, deviation: float, low: float, high: float) -> tuple[float, float, float]:
    """The log mass of a normal distribution between two bounds, and its mean and variance there."""
    if mean > (low + high) / 2:
        log_mass, found, variance = _between(-mean, deviation, -high, -low)
        return log_mass, -found, variance
    ends = (torch.tensor([low, high], dtype=torch.double) - mean) / deviation
    # The mass above each bound: the upper tail, which is the smaller one.
    above_low, above_high = torch.special.log_ndtr(-ends).tolist()
    log_mass = above_low + math.log1p(-math.exp(min(above_high - above_low, -1e-15)))
    heights = (-ends.square() / 2 - log_mass).exp() / (2 * math.pi) ** 0.5
    shift = float(heights[0] - heights[1])
    share = 1 + float((ends * heights)[0] - (ends * heights)[1]) - shift**2
    found = min(max(mean + deviation * shift, low), high)
    return log_mass, found, deviation**2 * max(share, 0.0)


def paired(
    options: list[Ratio], base: Ratio, deviations: list[float], groups: torch.Tensor | None = None
) -> tuple[list[Gain], int]:
    """
    The gain of each option over `base` on the same instances, with its standard error, and the number of groups. The
    error is that of a sum over groups of the influence functions. `EARLIER_GROUPS` further groups count in it, with the
    deviation of earlier data sets.
    """
    instances = len(base.numerators)
    if not instances:
        return [Gain(0.0, math.inf) for _ in options], 0
    reference, number = base.influence(), groups
    if groups is not None:
        _, number = groups.cpu().unique(return_inverse=True)
    gains, count = [], instances if number is None else int(number.max()) + 1
    for option, deviation in zip(options, deviations):
        sums = (option.influence() - reference).double().cpu()
        if number is not None:
            sums = sums.new_zeros(count).index_add(0, number, sums)
        further = EARLIER_GROUPS * (deviation * instances / count) ** 2
        group_variance = (float(sums.square().sum()) + further) / (count - 1 + EARLIER_GROUPS)
        gains.append(Gain(option.value - base.value, (group_variance * count) ** 0.5 / instances))
    return gains, count


def gains_before(
    family: str, score: str, options: Sequence[str], priors: Mapping[tuple[str, str], Earlier] = PRIORS
) -> dict[str, Gains]:
    """
    The prior of each option but the start by earlier data sets of the family. An option that these lack has the prior
    of `own`, the first option. Of an unknown family `own` is the start, and all others are `UNKNOWN`.
    """
    own, *others = options
    known = priors.get((family, score))
    if known is None or known.start not in options:
        return dict.fromkeys(others, UNKNOWN)
    return {name: known.gains.get(name, known.gains.get(own, UNKNOWN)) for name in options if name != known.start}
