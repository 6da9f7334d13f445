"""
Precision, recall and F1 of the constituents of trees.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from allennlp.training.metrics import Metric

from seal.common.linear_trees import PUNCTUATION, counted_brackets
from seal.tasks.base.running_means import SummedScore, f1_scores, percent


class BracketCounts(NamedTuple):
    """
    The counts of one tree for `BracketScore`: its correct, predicted and gold constituents, and its words without
    punctuation.
    """

    correct: int
    predicted: int
    gold: int
    words: int

    @property
    def exact(self) -> bool:
        """Whether all constituents are right, and none is missing."""
        return self.correct == self.predicted == self.gold

    def sums(self) -> dict[str, int]:
        """The counts that a test of significance sums over trees. A tree of punctuation alone has `sentence` 0."""
        counted = self.words > 0
        columns = {"correct": self.correct, "predicted": self.predicted, "gold": self.gold}
        return {**columns, "exact": int(self.exact and counted), "sentence": int(counted)}


def bracket_counts(predicted: Sequence[str], gold: Sequence[str], tags: Sequence[str]) -> BracketCounts:
    """
    The counts of one tree, as `BracketScore` has them.

    # Parameters

    predicted, gold : `Sequence[str]`
        Symbols, as `seal.common.linear_trees` has them.
    tags : `Sequence[str]`
        The gold part of speech of each word.

    # Raises

    `ValueError` where one of the two is not a tree over as many words as there are parts of speech.
    """
    found, wanted = (counted_brackets(symbols, tags) for symbols in (predicted, gold))
    words = sum(tag not in PUNCTUATION for tag in tags)
    return BracketCounts((found & wanted).total(), found.total(), wanted.total(), words)


@Metric.register("bracket_score")
class BracketScore(SummedScore):
    """
    Precision, recall and F1 of labelled brackets as the program `evalb` counts them with its parameters `COLLINS.prm`
    (S. Sekine and M. Collins, 1997), which the tests compare with.

    A predicted constituent is correct where there is a gold one with its label, its first and its last word. Where a
    label has the same words several times, each of them counts. Punctuation, by the gold parts of speech `,` `:` `.`
    and quotes, is taken out of both trees first. `ADVP` and `PRT` are equal. Not counted are parts of speech, the root
    `TOP`, `S1` or `ROOT`, and trees of punctuation alone.

    In percent: `precision`, `recall` and `f1` of constituents, and `exact_match`, the share of trees all of whose
    constituents are right, none missing (`Complete match` in `evalb`). A ratio with nothing in its denominator is 0.
    """

    def __call__(  # type: ignore[override]
        self, predicted: Sequence[Sequence[str]], gold: Sequence[Sequence[str]], tags: Sequence[Sequence[str]]
    ) -> None:
        """
        Count a batch of trees.

        # Parameters

        predicted, gold : `Sequence[Sequence[str]]`
            The symbols of each tree, as `seal.common.linear_trees` has them, without padding.
        tags : `Sequence[Sequence[str]]`
            The gold part of speech of each word.

        # Raises

        `ValueError` where the three differ in size, or one of the two is not a tree over the words.
        """
        for sentence in zip(predicted, gold, tags, strict=True):
            counts = bracket_counts(*sentence)
            if counts.words:
                self._sums.update(counts.sums())

    def _scores(self, sums: Counter, reset: bool) -> dict[str, float]:
        return {**f1_scores(sums), "exact_match": percent(sums["exact"], sums["sentence"])}
