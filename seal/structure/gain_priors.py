"""
The gains of structures over the task-net's own output on the test data of earlier data sets, which are the gate's
prior. `scripts/gates.py` writes them; it lists the data sets, and how they were scored.
"""

from typing import NamedTuple


class Gains(NamedTuple):
    """
    The gains of an option over the task-net's own output, as shares of 1.

    # Parameters

    mean : the mean over data sets
    spread : the standard deviation over data sets, without the error of the test data
    deviation : the standard deviation of one instance's difference
    """

    mean: float
    spread: float
    deviation: float


#: The prior of an option that no earlier data set had.
UNKNOWN = Gains(0.0, 0.03, 0.3)
#: The gains of each option, by family of tasks and score.
PRIORS: dict[tuple[str, str], dict[str, Gains]] = {
    ("label sets", "f1"): {
        "blend 0.25": Gains(0.0168, 0.0308, 0.1129),
        "blend 0.5": Gains(0.027, 0.0396, 0.1417),
        "blend 0.75": Gains(0.0301, 0.0449, 0.1654),
        "blend 1": Gains(0.0258, 0.0517, 0.1871),
        "likeliest": Gains(-0.0243, 0.1063, 0.2416),
        "expected_score": Gains(0.0043, 0.0952, 0.2174),
        "predict": Gains(-0.1128, 0.1186, 0.2615),
    },
    ("label sets", "micro_f1"): {
        "blend 0.25": Gains(0.0189, 0.0316, 0.1122),
        "blend 0.5": Gains(0.028, 0.0397, 0.1448),
        "blend 0.75": Gains(0.0333, 0.0437, 0.1718),
        "blend 1": Gains(0.027, 0.0508, 0.1976),
        "likeliest": Gains(-0.0215, 0.1042, 0.2536),
        "expected_score": Gains(0.0015, 0.0893, 0.229),
        "predict": Gains(-0.0849, 0.113, 0.2311),
    },
    ("label sets", "subset_accuracy"): {
        "blend 0.25": Gains(0.0206, 0.0277, 0.1657),
        "blend 0.5": Gains(0.0302, 0.0383, 0.2048),
        "blend 0.75": Gains(0.035, 0.0456, 0.2373),
        "blend 1": Gains(0.0355, 0.052, 0.2609),
        "likeliest": Gains(0.0484, 0.062, 0.2798),
        "expected_score": Gains(0.039, 0.0488, 0.2753),
        "powerset": Gains(0.0316, 0.0677, 0.2823),
        "predict": Gains(-0.06, 0.1062, 0.239),
    },
    ("spans", "f1"): {
        "likeliest": Gains(0.0344, 0.0676, 0.2678),
        "expected_score": Gains(0.0372, 0.0679, 0.2661),
    },
    ("spans", "exact_match"): {
        "likeliest": Gains(0.056, 0.0561, 0.2813),
        "expected_score": Gains(0.0546, 0.0562, 0.2827),
    },
    ("words", "accuracy"): {
        "likeliest": Gains(0.0067, 0.0085, 0.0511),
        "expected_score": Gains(0.0068, 0.0085, 0.0452),
    },
    ("words", "exact_match"): {
        "likeliest": Gains(0.0449, 0.0143, 0.2896),
        "expected_score": Gains(0.0437, 0.0146, 0.2757),
    },
}
