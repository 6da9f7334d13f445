"""
Span F1 and uniqueness of core roles for semantic role labelling.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, Optional

from allennlp.training.metrics import Metric

from seal.common.tag_encodings import arguments_of, tags_to_spans
from seal.structure.energies.roles import CORE_ROLES
from seal.tasks.base.running_means import SummedScore, f1_by_name, f1_scores, percent

#: The counts of which precision, recall and F1 are ratios.
PARTS = ("correct", "predicted", "gold")


class FrameCounts(NamedTuple):
    """
    The counts of one frame for `SrlScore`: its arguments by role, and the number of core roles that occur repeatedly.
    """

    correct: Counter
    predicted: Counter
    gold: Counter
    duplicates: int

    @property
    def exact(self) -> bool:
        """Whether all arguments are right, and none is missing."""
        return self.correct == self.predicted == self.gold

    def sums(self) -> dict[str, int]:
        """The counts of one frame that a test of significance sums over frames."""
        columns = {name: getattr(self, name).total() for name in PARTS}
        return {**columns, "duplicate": int(self.duplicates > 0), "exact": int(self.exact)}


def frame_counts(predicted_tags: Sequence[str], gold_tags: Sequence[str]) -> FrameCounts:
    """The counts of one frame for `SrlScore`, from its BIO tags, one per word."""
    spans = tags_to_spans(predicted_tags)
    core = Counter(span[0] for span in spans if span[0] in CORE_ROLES)
    predicted = arguments_of(spans)
    gold = arguments_of(tags_to_spans(gold_tags))
    # Arguments of one frame never share their first token, so none is lost in the sets.
    correct = set(predicted).intersection(gold)
    by_role = [Counter(argument[0] for argument in arguments) for arguments in (correct, predicted, gold)]
    return FrameCounts(by_role[0], by_role[1], by_role[2], sum(count > 1 for count in core.values()))


@Metric.register("srl_score")
class SrlScore(SummedScore):
    """
    Precision, recall and F1 of arguments as the CoNLL-2005 program `srl-eval.pl` counts them, and the share
    of predicates that violate the uniqueness of core roles (UCR).

    An argument is correct where its role, its borders and, for an argument in several pieces, the borders of
    every piece are those of a gold argument of the same predicate. A span `C-X` is a further piece of the
    last argument `X` to its left; without one it is itself an argument `X`. `R-X` is a role of its own. The
    predicate itself (`V`, with its `C-V`) is not counted.

    UCR is the percentage of predicates whose predicted tags contain some core role (`ARG0` to `ARG5`, `ARGA`;
    also `A0` to `A5`, `AA`) in more than one span. `C-` and `R-` spans and longer names such as `ARG1-DSP` do
    not count. The denominator, which the literature does not state, is the number of predicates.

    - `precision`, `recall`, `f1`: over all roles but `V`, in percent.
    - `ucr`: the predicates that violate the uniqueness of core roles, in percent.
    - `duplicates`: the number of core roles used more than once, summed over predicates; a role that one predicate uses
      three times counts once.
    - `exact_match`: the predicates all of whose arguments are right, none missing, in percent.
    - `f1-<role>` with `by_role`, in percent, for every role that was predicted or is in the gold tags.

    A ratio with nothing in its denominator is 0.

    # Parameters

    by_role : `bool`, optional (default = `False`)
        Whether to report the F1 of every role too.
    """

    def __init__(self, by_role: bool = False) -> None:
        super().__init__()
        self._by_role = by_role

    def __call__(  # type: ignore[override]
        self,
        predicted: Sequence[Sequence[str]],
        gold: Sequence[Sequence[str]],
        predicate: Optional[Sequence[Optional[int]]] = None,
    ) -> None:
        """
        Count a batch of frames.

        # Parameters

        predicted : `Sequence[Sequence[str]]`
            The predicted BIO tags of each frame, without padding. An `I-X` that continues nothing starts a
            span.
        gold : `Sequence[Sequence[str]]`
            The gold BIO tags of each frame.
        predicate : `Optional[Sequence[Optional[int]]]`
            The index of each frame's predicate. Entries with `None` are no frames (a reader's sentence
            instances) and are not counted. By default every entry is a frame.

        # Raises

        `ValueError` where the arguments differ in length.
        """
        marks = [0] * len(gold) if predicate is None else predicate
        for predicted_tags, gold_tags, mark in zip(predicted, gold, marks, strict=True):
            if mark is not None:
                counts = frame_counts(predicted_tags, gold_tags)
                self._sums.update(counts.sums(), frames=1, duplicates=counts.duplicates)
                for name in PARTS if self._by_role else ():
                    self._sums.update({(name, role): count for role, count in getattr(counts, name).items()})

    def _scores(self, sums: Counter, reset: bool) -> dict[str, float]:
        return {
            **f1_scores(sums),
            "ucr": percent(sums["duplicate"], sums["frames"]),
            "duplicates": float(sums["duplicates"]),
            "exact_match": percent(sums["exact"], sums["frames"]),
            **f1_by_name(sums),
        }
