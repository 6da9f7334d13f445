"""
The gate: which option a structure follows for a score, the task-net's own output or one that the structure chooses.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from seal.structure.gain_priors import CORRELATION, PRIORS, UNKNOWN, Gains
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
    def told(self) -> str:
        """The option whose gain is told: the chosen one, or the best other one where none is followed."""
        return self.chosen if self.chosen in self.gains else max(self.gains, key=lambda name: self.gains[name].mean)

    def reasons(self) -> dict[str, Any]:
        """All but the name of what was chosen, as plain values; `gain` is the chosen option's."""
        followed = self.chosen in self.gains
        found: dict[str, Any] = {"values": self.values, "gain": self.gains[self.chosen].mean if followed else 0.0}
        if self.gains:
            found["of"] = self.told
            for name, gains in (("expected", self.gains), ("earlier", self.earlier), ("validation", self.observed)):
                found[name] = {"gain": gains[self.told].mean, "deviation": gains[self.told].deviation}
        return {**found, "instances": self.instances, "groups": self.groups, "learned": self.learned}

    def told_as(self, score: str, instances: str = "instances") -> str:
        """The choice in a sentence; `instances` is the plural of what a validation instance is."""
        if not self.learned:
            return "chosen: own, as nothing else was learned"
        name = self.told
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

    The gains `g` of the others over it have the prior `N(m, C)`, by earlier data sets. Their differences on the
    validation data are `d ~ N(g, S)`, where `S` is the covariance of the influence functions, summed by group, and of
    what differed between validation and test data before. So

    `g | d ~ N(m + C (C + S)^-1 (d - m), C - C (C + S)^-1 C)`.

    The posterior mean of the best option is no overestimate for being the best one, where the prior holds.

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
    if not others:
        return Verdict(own, values, {}, {}, {}, 0, 0, False)
    mean = torch.tensor([earlier[name].mean for name in others], dtype=torch.double)
    covariance = _covariance([earlier[name].spread for name in others])
    gains, errors, number = paired(
        [options[name] for name in others], options[own], [earlier[n] for n in others], groups
    )
    after, spread = (mean, covariance) if number == 0 else posterior(mean, covariance, gains, errors)
    best = int(after.argmax())
    return Verdict(
        others[best] if learned and after[best] > 0 else own,
        values,
        _named(others, after, spread),
        _named(others, mean, covariance),
        _named(others, gains, errors),
        len(options[own].numerators),
        number,
        learned,
    )


def _named(names: list[str], means: torch.Tensor, covariance: torch.Tensor) -> dict[str, Gain]:
    deviations = covariance.diagonal().clamp(min=0).sqrt()
    return {name: Gain(*both) for name, *both in zip(names, means.tolist(), deviations.tolist())}


def posterior(
    mean: torch.Tensor, covariance: torch.Tensor, observed: torch.Tensor, errors: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """
    Mean and covariance of `g` given `observed = g + e`, `e ~ N(0, errors)`, where `g ~ N(mean, covariance)` before:
    `(options,)` and `(options, options)`.
    """
    weights = torch.linalg.solve(covariance + errors, covariance).T
    return mean + weights @ (observed - mean), covariance - weights @ covariance


def paired(
    options: list[Ratio], own: Ratio, earlier: list[Gains], groups: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor, int]:
    """
    The gains of some options over `own` on the same instances, `(options,)`, the covariance of their errors, `(options,
    options)`, and the number of groups. The covariance is that of the sums of the influence functions over the groups,
    with `EARLIER_GROUPS` further ones whose deviation is that of earlier data sets; and of their `transfer`.
    """
    gains = torch.tensor([option.value - own.value for option in options], dtype=torch.double)
    instances = len(own.numerators)
    if not instances:
        return gains, torch.full((len(options), len(options)), torch.inf), 0
    base = own.influence()
    sums = torch.stack([option.influence() - base for option in options], dim=1).double().cpu()
    if groups is not None:
        _, number = groups.cpu().unique(return_inverse=True)
        sums = sums.new_zeros(int(number.max()) + 1, len(options)).index_add(0, number, sums)
    size = instances / len(sums)
    further = EARLIER_GROUPS * size**2 * _covariance([one.deviation for one in earlier])
    of_group = (sums.T @ sums + further) / (len(sums) - 1 + EARLIER_GROUPS)
    transfer = _covariance([one.transfer for one in earlier])
    return gains, of_group * len(sums) / instances**2 + transfer, len(sums)


def _covariance(deviations: list[float]) -> torch.Tensor:
    """Of options with these deviations, each two of which have the same correlation: `(options, options)`."""
    found = torch.tensor(deviations, dtype=torch.double)
    correlations = torch.full((len(found), len(found)), CORRELATION, dtype=torch.double).fill_diagonal_(1.0)
    return correlations * found * found.unsqueeze(1)


def gains_before(family: str, score: str, options: list[str]) -> dict[str, Gains]:
    """What earlier data sets of the family say of each option's gain; `UNKNOWN` of those of which they say nothing."""
    known = PRIORS.get((family, score), {})
    return {name: known.get(name, UNKNOWN) for name in options}
