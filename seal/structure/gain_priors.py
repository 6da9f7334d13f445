"""
How the options of a structure did on the test data of earlier data sets, which is the gate's prior. `scripts/gates.py`
writes it; it lists the data sets, and how they were scored.
"""

from typing import NamedTuple


class Gains(NamedTuple):
    """
    The differences of an option's score to that of another option, the start, as shares of 1.

    # Parameters

    mean : the mean over data sets
    spread : the standard deviation over data sets, without the error of the test data
    deviation : the standard deviation of one instance's difference
    """

    mean: float
    spread: float
    deviation: float


class Earlier(NamedTuple):
    """The option that was best on the mean of earlier data sets, and the differences of all others to it."""

    start: str
    gains: dict[str, Gains]


#: The prior of an option over the task-net's own output where there are no earlier data sets.
UNKNOWN = Gains(0.0, 0.03, 0.3)
#: By family of tasks and score.
PRIORS: dict[tuple[str, str], Earlier] = {
    ("label sets", "f1"): Earlier(
        "blend 0.75",
        {
            "own": Gains(-0.0298, 0.045, 0.1655),
            "blend 0.25": Gains(-0.0131, 0.0204, 0.1303),
            "blend 0.5": Gains(-0.0032, 0.0098, 0.0996),
            "blend 1": Gains(-0.0045, 0.0139, 0.1066),
            "likeliest": Gains(-0.0548, 0.0857, 0.1996),
            "expected_score": Gains(-0.0263, 0.0711, 0.164),
            "predict": Gains(-0.1426, 0.1403, 0.2791),
        },
    ),
    ("label sets", "micro_f1"): Earlier(
        "blend 0.75",
        {
            "own": Gains(-0.0328, 0.0438, 0.1711),
            "blend 0.25": Gains(-0.0142, 0.0213, 0.1321),
            "blend 0.5": Gains(-0.0053, 0.0097, 0.0943),
            "blend 1": Gains(-0.0066, 0.0137, 0.0971),
            "likeliest": Gains(-0.0551, 0.0824, 0.1987),
            "expected_score": Gains(-0.0324, 0.0652, 0.1664),
            "predict": Gains(-0.1178, 0.1247, 0.2474),
        },
    ),
    ("label sets", "subset_accuracy"): Earlier(
        "likeliest",
        {
            "own": Gains(-0.0478, 0.0617, 0.2804),
            "blend 0.25": Gains(-0.0284, 0.05, 0.2486),
            "blend 0.5": Gains(-0.0193, 0.0388, 0.2272),
            "blend 0.75": Gains(-0.0136, 0.0271, 0.2048),
            "blend 1": Gains(-0.0126, 0.0205, 0.1771),
            "expected_score": Gains(-0.01, 0.0227, 0.1546),
            "powerset": Gains(-0.016, 0.0165, 0.2067),
            "predict": Gains(-0.1078, 0.1351, 0.3289),
        },
    ),
    ("spans", "f1"): Earlier(
        "expected_score",
        {
            "own": Gains(-0.0372, 0.0679, 0.2662),
            "likeliest": Gains(-0.0045, 0.0053, 0.1077),
        },
    ),
    ("spans", "exact_match"): Earlier(
        "likeliest",
        {
            "own": Gains(-0.056, 0.0561, 0.2817),
            "expected_score": Gains(-0.0024, 0.0021, 0.054),
        },
    ),
    ("words", "accuracy"): Earlier(
        "expected_score",
        {
            "own": Gains(-0.0068, 0.0085, 0.0452),
            "likeliest": Gains(-0.0002, 0.0012, 0.0259),
        },
    ),
    ("words", "exact_match"): Earlier(
        "likeliest",
        {
            "own": Gains(-0.0449, 0.0143, 0.2896),
            "expected_score": Gains(-0.0018, 0.0017, 0.1103),
        },
    ),
}
