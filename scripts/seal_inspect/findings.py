"""
What a report says about a trained model on data with gold: examples, mistakes, counts by label, and how far its
probabilities can be trusted.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, Optional, Union

import numpy

from seal_inspect.significance import Statistic

#: What stands for an argument, a span or a label that the other side lacks.
NOTHING = "(nothing)"
#: What is counted of trees.
CONSTITUENT = "constituent"


class Choice(NamedTuple):
    """
    What a structure made of the task-net's own output. Its energies are low where it finds an output good; `None` is
    that of one that did not compete.
    """

    #: The task-net's own output.
    own: str
    #: How near to gold it and the chosen output are: F1, or accuracy of tags that are no spans, in percent.
    own_score: float
    score: float
    #: Whether gold was among the outputs that competed.
    competes: bool
    energy_of_gold: Optional[float] = None
    energy_of_own: Optional[float] = None
    energy_of_predicted: Optional[float] = None


class Example(NamedTuple):
    """An instance of the data."""

    #: `file:line`.
    source: str
    #: Empty where `gold` has all its words.
    text: str
    gold: str
    predicted: str
    #: Whether all of the prediction is.
    right: bool
    #: Cross-entropy of the task-net, in nats; `None` where the energy predicts.
    loss: Optional[float] = None
    #: Of the loss-net; `None` without one.
    energy_of_gold: Optional[float] = None
    energy_of_predicted: Optional[float] = None
    #: `None` without a structure that has been learned.
    choice: Optional[Choice] = None


class Picture(NamedTuple):
    """
    An image, `(H, W, 3)` in [0, 1], with the masks `(H, W)` of gold and of the prediction, their IoU in percent, and
    the energies of both, `None` without a loss-net.
    """

    source: str
    image: numpy.ndarray
    gold: numpy.ndarray
    predicted: numpy.ndarray
    iou: float
    energy_of_gold: Optional[float] = None
    energy_of_predicted: Optional[float] = None


class LabelCounts(NamedTuple):
    """How often a label or role is in gold and in predictions, and how often both agree on it."""

    gold: int
    predicted: int
    correct: int

    @property
    def precision(self) -> float:
        """In percent, as `recall` and `f1`; each is 0 where it would divide by 0."""
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
        What `by_label` counts: a role, an entity, a tag, a constituent or a label. Empty of masks.

    examples : `list[Example]`
        In the order of the data.
    confusions : `Counter`
        How often gold `a` was predicted as `b`, by `(a, b)`, where these differ.
    confidences, hits : `list[numpy.ndarray]`
        The probability of each decision, and whether it was right: of a whole tag sequence, or of each label or pixel.
    f1_at : `dict[float, float]`
        Of label sets: the mean F1 of rows, in percent, by the least probability of a predicted label.
    pictures : `list[Picture]`
        Of masks: the images with the least overlap of gold and prediction, that one first.
    preferred : `list[Picture]`
        Of masks: the images whose prediction has an energy below gold's, the furthest below first.
    why : `str`
        With a structure: how it chooses. Otherwise empty.
    statistics : `dict[str, Statistic]`
        The scores that another run on the same examples may be compared in, by name, and what they are of `counts`.
    counts : `list[dict[str, float]]`
        What each example adds to the scores.
    own_counts : `list[dict[str, float]]`
        With a structure: the same of the task-net's own outputs. Otherwise empty.
    keys : `list[str]`
        What tells whether another run has the same examples: the line and gold of each.
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
        """Adds what an example adds to the scores."""
        self.keys.append(f"{str(source).rpartition(':')[2]} {gold}")
        self.counts.append(counts)

    def count_labels(self, gold: Iterable[str], predicted: Iterable[str], correct: Iterable[str]) -> None:
        """Adds the labels of gold and of a prediction, and those on which both agree, each as often as it is there."""
        for counter, labels in zip(self._of_label, (gold, predicted, correct)):
            counter.update(labels)

    def by_label(self) -> dict[str, LabelCounts]:
        """The counts of each label that is in gold or in a prediction, the most frequent in gold first."""
        gold, predicted, correct = self._of_label
        names = sorted(gold.keys() | predicted.keys(), key=lambda name: (-gold[name], -predicted[name], name))
        return {name: LabelCounts(gold[name], predicted[name], correct[name]) for name in names}

    def calibration(self, bins: int = 10) -> tuple[list[tuple[float, float, int]], float]:
        """
        How far confidences can be trusted: for each of `bins` equal parts of [0, 1] that has decisions, their mean
        confidence, the share that was right and their number; and the expected calibration error (ECE), the mean of the
        differences over all decisions, 0 to 1.
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
        """The examples with the largest loss, that one first."""
        scored = [example for example in self.examples if example.loss is not None]
        return sorted(scored, key=lambda example: -example.loss)[:number]

    def misjudged(self, number: int) -> list[Example]:
        """Wrong predictions whose energy is below gold's, the furthest below first: the loss-net is wrong, too."""
        gaps = {place: energy_gap(one) for place, one in enumerate(self.examples) if not one.right}
        return self._below(gaps)[:number]

    def misjudged_by_structure(self, number: int) -> list[Example]:
        """The same of the structure's energy, where gold competed."""
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
        """Where the structure chose another output than the task-net's own, that which it mended most first."""
        there = [one for one in self.examples if one.choice is not None and one.choice.own != one.predicted]
        return sorted(there, key=lambda one: one.choice.own_score - one.choice.score)


def energy_gap(one: Union[Example, Choice, Picture]) -> Optional[float]:
    """How far the energy of the prediction is above gold's; `None` without both."""
    if one.energy_of_gold is None or one.energy_of_predicted is None:
        return None
    return one.energy_of_predicted - one.energy_of_gold
