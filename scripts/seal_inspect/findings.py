"""
The results of a trained model on data with gold, for a report: examples, mistakes, counts by label, and the calibration
of probabilities.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, Optional, Union

import numpy

from seal_inspect.significance import Statistic

#: The entry for an argument, a span or a label that the other side lacks.
NOTHING = "(nothing)"
#: The unit of counts for trees.
CONSTITUENT = "constituent"


class Choice(NamedTuple):
    """
    The choice of a structure for one input. Low energies are good; the energy of an output that was not a candidate is
    `None`.
    """

    #: The task-net's own output.
    own: str
    #: The scores of the own and of the chosen output: F1, or accuracy for tags without spans, in percent.
    own_score: float
    score: float
    #: Whether gold was among the candidates.
    competes: bool
    energy_of_gold: Optional[float] = None
    energy_of_own: Optional[float] = None
    energy_of_predicted: Optional[float] = None


class Example(NamedTuple):
    """An instance of the data."""

    #: `file:line`.
    source: str
    #: Empty if `gold` contains all words.
    text: str
    gold: str
    predicted: str
    #: Whether the whole prediction is right.
    right: bool
    #: The task-net's cross-entropy, in nats; `None` if the energy predicts.
    loss: Optional[float] = None
    #: Energies of the loss-net; `None` without one.
    energy_of_gold: Optional[float] = None
    energy_of_predicted: Optional[float] = None
    #: `None` without a learned structure.
    choice: Optional[Choice] = None


class Picture(NamedTuple):
    """
    An image, `(H, W, 3)` in [0, 1], with the masks `(H, W)` of gold and prediction, their IoU in percent, and their
    energies, which are `None` without a loss-net.
    """

    source: str
    image: numpy.ndarray
    gold: numpy.ndarray
    predicted: numpy.ndarray
    iou: float
    energy_of_gold: Optional[float] = None
    energy_of_predicted: Optional[float] = None


class LabelCounts(NamedTuple):
    """The numbers of occurrences of a label or role in gold, in predictions, and in both."""

    gold: int
    predicted: int
    correct: int

    @property
    def precision(self) -> float:
        """In percent, like `recall` and `f1`; 0 instead of a division by 0."""
        return 100 * self.correct / max(self.predicted, 1)

    @property
    def recall(self) -> float:
        return 100 * self.correct / max(self.gold, 1)

    @property
    def f1(self) -> float:
        return 200 * self.correct / max(self.predicted + self.gold, 1)


class Findings:
    """
    # Attributes

    unit : `str`
        The unit of the counts of `by_label`: a role, an entity, a tag, a constituent or a label. Empty for masks.
    examples : `list[Example]`
        In the order of the data.
    confusions : `Counter`
        The number of times that gold `a` was predicted as another label `b`, by `(a, b)`.
    confidences, hits : `list[numpy.ndarray]`
        The probability of each decision, and whether the decision was right. A decision is a whole tag sequence, a
        label or a pixel.
    f1_at : `dict[float, float]`
        For label sets: the mean F1 of rows, in percent, by the threshold of a label's probability.
    pictures : `list[Picture]`
        For masks: the images with the least overlap of gold and prediction, the least first.
    preferred : `list[Picture]`
        For masks: the images whose prediction has a lower energy than gold, the largest difference first.
    why : `str`
        The explanation of a structure's choices; empty without a structure.
    statistics : `dict[str, Statistic]`
        The scores for comparisons with another run on the same examples, by name, as functions of `counts`.
    counts : `list[dict[str, float]]`
        The contribution of each example to the scores.
    own_counts : `list[dict[str, float]]`
        The same for the task-net's own outputs; empty without a structure.
    keys : `list[str]`
        The line and gold of each example, which identify the examples of a run.
    """

    def __init__(self) -> None:
        self.unit = ""
        self._of_label: tuple[Counter, Counter, Counter] = (Counter(), Counter(), Counter())
        self.examples: list[Example] = []
        self.confusions: Counter = Counter()
        self.confidences: list[numpy.ndarray] = []
        self.hits: list[numpy.ndarray] = []
        self.f1_at: dict[float, float] = {}
        self.pictures: list[Picture] = []
        self.preferred: list[Picture] = []
        self.why = ""
        self.statistics: dict[str, Statistic] = {}
        self.counts: list[dict[str, float]] = []
        self.own_counts: list[dict[str, float]] = []
        self.keys: list[str] = []

    def count(self, source: str, gold: str, /, **counts: float) -> None:
        """Adds the contribution of an example to the scores."""
        self.keys.append(f"{str(source).rpartition(':')[2]} {gold}")
        self.counts.append(counts)

    def count_labels(self, gold: Iterable[str], predicted: Iterable[str], correct: Iterable[str]) -> None:
        """Adds the labels of gold, of a prediction, and of both, once for each occurrence."""
        for counter, labels in zip(self._of_label, (gold, predicted, correct)):
            counter.update(labels)

    def by_label(self) -> dict[str, LabelCounts]:
        """The counts of each label of gold and predictions, the most frequent label of gold first."""
        gold, predicted, correct = self._of_label
        names = sorted(gold.keys() | predicted.keys(), key=lambda name: (-gold[name], -predicted[name], name))
        return {name: LabelCounts(gold[name], predicted[name], correct[name]) for name in names}

    def calibration(self, bins: int = 10) -> tuple[list[tuple[float, float, int]], float]:
        """
        The calibration of confidences: for each of `bins` equal parts of [0, 1] with decisions, their mean confidence,
        the share of right decisions and their number; and the expected calibration error (ECE), the mean difference
        over all decisions, from 0 to 1.
        """
        confidences, hits = (numpy.concatenate([*parts, numpy.zeros(0)]) for parts in (self.confidences, self.hits))
        places = numpy.minimum((confidences * bins).astype(int), bins - 1)
        found = [
            (float(confidences[inside].mean()), float(hits[inside].mean()), int(inside.sum()))
            for inside in (places == place for place in range(bins))
            if inside.any()
        ]
        error = sum(abs(confidence - share) * count for confidence, share, count in found)
        return found, error / max(len(confidences), 1)

    def hardest(self, number: int) -> list[Example]:
        """The examples with the largest losses, the largest first."""
        scored = [example for example in self.examples if example.loss is not None]
        return sorted(scored, key=lambda example: -example.loss)[:number]

    def misjudged(self, number: int) -> list[Example]:
        """Wrong predictions with a lower energy than gold, the largest difference first: the loss-net is wrong, too."""
        gaps = {place: energy_gap(one) for place, one in enumerate(self.examples) if not one.right}
        return self._below(gaps)[:number]

    def misjudged_by_structure(self, number: int) -> list[Example]:
        """Wrong predictions with a lower energy of the structure than gold, if gold was a candidate."""
        gaps = {
            place: energy_gap(one.choice)
            for place, one in enumerate(self.examples)
            if not one.right and one.choice is not None and one.choice.competes
        }
        return self._below(gaps)[:number]

    def _below(self, gaps: dict[int, Optional[float]]) -> list[Example]:
        places = [place for place, gap in gaps.items() if gap is not None and gap < 0]
        return [self.examples[place] for place in sorted(places, key=gaps.__getitem__)]

    @property
    def has_trees(self) -> bool:
        """Whether outputs are trees in brackets."""
        return self.unit == CONSTITUENT

    def changed(self) -> list[Example]:
        """The examples for which the structure changed the output, the largest improvement first."""
        there = [one for one in self.examples if one.choice is not None and one.choice.own != one.predicted]
        return sorted(there, key=lambda one: one.choice.own_score - one.choice.score)


def energy_gap(one: Union[Example, Choice, Picture]) -> Optional[float]:
    """The energy of the prediction minus that of gold; `None` if one is missing."""
    if one.energy_of_gold is None or one.energy_of_predicted is None:
        return None
    return one.energy_of_predicted - one.energy_of_gold
