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
UNKNOWN = Gains(0.0, 0.03, 0.3)
#: By family of tasks and score.
PRIORS: dict[tuple[str, str], dict[str, Gains]] = {
    ("label sets", "f1"): {
        "blend 0.25": Gains(0.0157, 0.0258, 0.0999),
        "blend 0.5": Gains(0.023, 0.0352, 0.1306),
        "blend 0.75": Gains(0.0275, 0.0392, 0.1513),
        "blend 1": Gains(0.0238, 0.0438, 0.1741),
        "likeliest": Gains(-0.0321, 0.1044, 0.2264),
        "expected_score": Gains(0.0004, 0.0882, 0.2083),
    },
    ("label sets", "micro_f1"): {
        "blend 0.25": Gains(0.017, 0.0305, 0.1089),
        "blend 0.5": Gains(0.0253, 0.0342, 0.1402),
        "blend 0.75": Gains(0.0298, 0.0346, 0.1664),
        "blend 1": Gains(0.0259, 0.0409, 0.1846),
        "likeliest": Gains(-0.0253, 0.0989, 0.2413),
        "expected_score": Gains(0.0006, 0.081, 0.2194),
    },
    ("label sets", "subset_accuracy"): {
        "blend 0.25": Gains(0.0157, 0.0215, 0.138),
        "blend 0.5": Gains(0.0248, 0.0299, 0.1791),
        "blend 0.75": Gains(0.0295, 0.0357, 0.2084),
        "blend 1": Gains(0.0284, 0.0375, 0.226),
        "likeliest": Gains(0.0437, 0.0449, 0.2423),
        "expected_score": Gains(0.0316, 0.0345, 0.2448),
        "powerset": Gains(0.024, 0.0749, 0.2423),
    },
    ("spans", "f1"): {
        "likeliest": Gains(0.0298, 0.0625, 0.26),
        "expected_score": Gains(0.0307, 0.0608, 0.2619),
    },
    ("spans", "exact_match"): {
        "likeliest": Gains(0.0549, 0.056, 0.2703),
        "expected_score": Gains(0.0538, 0.0566, 0.2729),
    },
    ("words", "accuracy"): {
        "likeliest": Gains(0.0066, 0.0083, 0.0518),
        "expected_score": Gains(0.0067, 0.0084, 0.0455),
    },
    ("words", "exact_match"): {
        "likeliest": Gains(0.0448, 0.0148, 0.2934),
        "expected_score": Gains(0.0421, 0.0158, 0.2792),
    },
}
