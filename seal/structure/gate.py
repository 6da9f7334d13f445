from dataclasses import dataclass

from seal.structure.scores import Ratio


@dataclass
class Verdict:
    """
    What the gate chose, and why.

    # Parameters

    chosen : `str`
        The name of the option.
    values : `dict[str, float]`
        The score of each option on the validation data, 0 to 1.
    gain, standard_error : `float`
        Of the chosen option over the task-net's own prediction.
    learned : `bool`
        Whether there was anything to choose: otherwise the others stand for nothing.
    """

    chosen: str
    values: dict[str, float]
    gain: float = 0.0
    standard_error: float = 0.0
    learned: bool = True

    def reasons(self) -> dict:
        """All but the name of what was chosen, as plain values."""
        return {"values": self.values, "gain": self.gain, "standard_error": self.standard_error}

    def __str__(self) -> str:
        own = next(iter(self.values))
        if not self.learned:
            return f"'{own}' ({100 * self.values[own]:.2f}); nothing else was learned"
        if self.chosen == own:
            best = max(self.values, key=self.values.__getitem__)
            return f"'{own}' ({100 * self.values[own]:.2f}); nothing gains enough (best: '{best}', " + (
                f"{100 * self.values[best]:.2f})"
            )
        return (
            f"'{self.chosen}' ({100 * self.values[self.chosen]:.2f}), {100 * self.gain:+.2f} over '{own}' "
            f"(standard error {100 * self.standard_error:.2f})"
        )


def gate(options: dict[str, Ratio], margin: float = 0.5, learned: bool = True) -> Verdict:
    """
    Chooses the option of the best score, unless its gain over the first one, the task-net's own prediction, is below
    `margin` standard errors of the paired difference over instances, or the others were not `learned`. The `options`
    are scores of the same instances.
    """
    values = {name: ratio.value for name, ratio in options.items()}
    own = next(iter(options))
    best = own
    found = (0.0, 0.0)
    if not learned:
        return Verdict(own, values, learned=False)
    for name, ratio in options.items():
        gain, error = ratio.gain_over(options[own])
        if gain > found[0] and gain > margin * error:
            best, found = name, (gain, error)
    return Verdict(best, values, *found)
