"""
What structures gained on the test data of earlier data sets, over the task-net's own output. Written by
`scripts/gates.py`, which has the data sets and how they were scored.
"""

from typing import NamedTuple


class Gains(NamedTuple):
    """
    The gains of an option over the task-net's own output, as shares of 1: their mean over data sets, their spread
    without the error of the test data, and the deviation of a single instance's difference.
    """

    mean: float
    spread: float
    deviation: float


#: Of an option that no earlier data set had.
UNKNOWN = Gains(0.0, 0.02, 0.3)
#: The correlation of any two options' gains over data sets.
CORRELATION = 0.8
#: By family of tasks and score.
PRIORS: dict[tuple[str, str], dict[str, Gains]] = {
    ("label sets", "f1"): {
        "blend 0.25": Gains(0.008, 0.01, 0.12),
        "blend 0.5": Gains(0.015, 0.015, 0.15),
        "blend 0.75": Gains(0.02, 0.02, 0.2),
        "blend 1": Gains(0.015, 0.03, 0.25),
        "likeliest": Gains(0.01, 0.03, 0.3),
        "expected_score": Gains(0.02, 0.03, 0.25),
    },
    ("label sets", "micro_f1"): {
        "blend 0.25": Gains(0.008, 0.01, 0.12),
        "blend 0.5": Gains(0.012, 0.015, 0.15),
        "blend 0.75": Gains(0.015, 0.02, 0.2),
        "blend 1": Gains(0.01, 0.03, 0.25),
        "likeliest": Gains(-0.01, 0.03, 0.3),
        "expected_score": Gains(0.0, 0.03, 0.25),
    },
    ("label sets", "subset_accuracy"): {
        "blend 0.25": Gains(0.005, 0.01, 0.12),
        "blend 0.5": Gains(0.01, 0.015, 0.15),
        "blend 0.75": Gains(0.02, 0.02, 0.2),
        "blend 1": Gains(0.03, 0.03, 0.25),
        "likeliest": Gains(0.05, 0.04, 0.3),
        "expected_score": Gains(0.03, 0.04, 0.3),
        "powerset": Gains(0.04, 0.05, 0.35),
    },
    **{
        (family, score): {"likeliest": Gains(mean, 0.02, 0.3), "expected_score": Gains(other, 0.02, 0.3)}
        for family in ("spans", "words", "trees")
        for score, mean, other in (("f1", 0.015, 0.02), ("accuracy", 0.002, 0.003), ("exact_match", 0.03, 0.02))
    },
}
