from dataclasses import dataclass

import torch

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
    p : `float`
        That of the test by which it was chosen, or of the best of the tests that came to nothing, in (0, 1].
    """

    chosen: str
    values: dict[str, float]
    gain: float = 0.0
    standard_error: float = 0.0
    learned: bool = True
    p: float = 1.0

    def reasons(self) -> dict:
        """All but the name of what was chosen, as plain values."""
        return {"values": self.values, "gain": self.gain, "standard_error": self.standard_error, "p": self.p}

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


def gate(options: dict[str, Ratio], level: float = 0.1, learned: bool = True, prior: str | None = None) -> Verdict:
    """
    Chooses one of some options by their scores of the same instances, of which the first is the task-net's own
    prediction. One is chosen beforehand, and left for another one only where validation speaks for that: of those that
    are significantly better in a paired test that counts the options (`p_values`), the best one.

    # Parameters

    options : `dict[str, Ratio]`
    level : `float`, optional (default = `0.1`)
        Of the test: how often, at most, what is chosen beforehand is left where no other option is better.
    learned : `bool`, optional (default = `True`)
        Whether the others were learned; if not, the task-net's own prediction is chosen.
    prior : `str`, optional
        The option that is chosen beforehand, by default the first.
    """
    values = {name: ratio.value for name, ratio in options.items()}
    own = next(iter(options))
    if not learned:
        return Verdict(own, values, learned=False)
    chosen = start = prior or own
    others = [name for name in options if name != start]
    tested = dict(zip(others, p_values([options[name] for name in others], options[start])))
    better = [name for name in others if tested[name] <= level and values[name] > values[start]]
    if better:
        chosen = max(better, key=values.__getitem__)
    gain, error = (0.0, 0.0) if chosen == own else options[chosen].gain_over(options[own])
    p = tested[chosen] if better else min(tested.values(), default=1.0)
    return Verdict(chosen, values, gain, error, p=p)


def p_values(options: list[Ratio], start: Ratio, draws: int = 1000) -> list[float]:
    """
    Of each option the probability that, were none better than `start`, one of them would seem as much better as it
    does: a paired test by random signs of the differences, of the largest of the options' t (max-t; Westfall & Young
    1993), which counts how many they are and how much they have in common. The same every time.
    """
    if not options:
        return []
    differences = torch.stack([ratio.influence() - start.influence() + ratio.value - start.value for ratio in options])
    # Instances in which nothing differs do not matter.
    differences = differences[:, (differences != 0).any(dim=0)].float().cpu()
    if differences.shape[1] == 0:
        return [1.0] * len(options)
    scaled = differences / differences.square().sum(dim=1, keepdim=True).sqrt().clamp(min=1e-12)
    generator = torch.Generator().manual_seed(0)
    exceeded = torch.zeros(len(options))
    # A few draws at a time, which bounds memory.
    for size in torch.arange(draws).split(max(2**22 // scaled.shape[1], 1)):
        signs = torch.empty(len(size), scaled.shape[1]).bernoulli_(0.5, generator=generator) * 2 - 1
        largest = (signs @ scaled.T).amax(dim=1, keepdim=True)
        exceeded += (largest >= scaled.sum(dim=1) - 1e-5).sum(dim=0)
    return ((exceeded + 1) / (draws + 1)).tolist()
