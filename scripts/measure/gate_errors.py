"""How often the gate opens where no option is better: what `scripts/structure.py --noise` prints."""

from collections.abc import Callable

import torch

from scripts.measure.cells import markdown_table
from seal.structure.gate import gate
from seal.structure.scores import Ratio

KINDS = ("f1", "micro_f1", "exact_match")
OPTIONS = ("blend", "blend more", "blend most", "marginals", "expected_score", "likeliest")
#: By the rule of versions to 0.9: the best option is chosen if it gains half a standard error.
HALF_AN_ERROR = "half a standard error"


def noise(kind: str, rows: int, generator: torch.Generator) -> dict[str, Ratio]:
    """
    Scores of the task-net's own outputs and of options that are no better: on a third of the rows each has a draw of
    its own from the same distribution as the task-net, on another third they have one in common.
    """

    def draw(number: int) -> torch.Tensor:
        if kind == "exact_match":
            return (torch.rand(number, rows, generator=generator) < 0.4).double()
        return torch.randint(0, 7, (number, rows), generator=generator).double() / 6

    size = torch.randint(2, 9, (rows,), generator=generator).double() if kind == "micro_f1" else torch.ones(rows)
    own, shared, alone = draw(1)[0], draw(1)[0], draw(len(OPTIONS))
    part = torch.randint(0, 3, (rows,), generator=generator)
    values = torch.where(part == 0, own, torch.where(part == 1, shared, alone))
    return {"own": Ratio(own * size, size), **{name: Ratio(v * size, size) for name, v in zip(OPTIONS, values)}}


def half_an_error(options: dict[str, Ratio]) -> bool:
    own, *others = options.values()
    return any(gain > 0.5 * error for gain, error in (other.gain_over(own) for other in others))


def false_openings(trials: int, kind: str, rows: int, opens: Callable[[dict[str, Ratio]], bool] | None = None) -> float:
    """The share of `trials` in which the gate, or a rule in its place, leaves what it would choose without data."""
    generator = torch.Generator().manual_seed(0)
    prior = "likeliest" if kind == "exact_match" else None
    opens = opens or (lambda options: gate(options, prior=prior).chosen != (prior or "own"))
    return sum(opens(noise(kind, rows, generator)) for _ in range(trials)) / trials


def table(trials: int) -> str:
    rows = [
        [
            kind,
            str(number),
            *(f"{100 * false_openings(trials, kind, number, rule):.1f} %" for rule in (None, half_an_error)),
        ]
        for kind in KINDS
        for number in (50, 150, 500)
    ]
    return markdown_table(["score", "rows", "the gate", f"a gain of {HALF_AN_ERROR}"], rows)
