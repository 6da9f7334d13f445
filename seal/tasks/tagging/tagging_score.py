"""
Token accuracy and entity F1 for sequence labelling.
"""

from collections import Counter
from collections.abc import Sequence

from allennlp.common.checks import ConfigurationError
from allennlp.training.metrics import Metric

from seal.common.tag_encodings import tags_to_spans
from seal.tasks.base.running_means import SummedScore, f1_by_name, f1_scores, percent


def tagging_sums(predicted: Sequence[str], gold: Sequence[str], spans: bool) -> dict[str, int]:
    """
    The counts that a test of significance sums over sentences: the tags that are `right`, the `tokens`, whether all are
    `exact`, 1 for the `sentence`; and with `spans` the entities that are `correct`, `predicted` and `gold`.
    """
    right = sum(one == other for one, other in zip(predicted, gold, strict=True))
    sums = {"right": right, "tokens": len(gold), "exact": int(list(predicted) == list(gold)), "sentence": 1}
    if spans:
        found, wanted = set(tags_to_spans(predicted)), set(tags_to_spans(gold))
        sums.update(correct=len(found & wanted), predicted=len(found), gold=len(wanted))
    return sums


@Metric.register("tagging_score")
class TaggingScore(SummedScore):
    """
    The share of tokens with the right tag, and precision, recall and F1 of entities as the CoNLL program `conlleval`
    counts them: an entity is correct where its label and both borders are. Illegal sequences are read leniently, as
    the program does.

    Tags are strings. AllenNLP's `SpanBasedF1Measure`, which counts in the same way and which the tests compare with,
    takes vocabulary indices, and knows no `E-` and `S-`.

    In percent: `accuracy` of tokens; `exact_match`, the share of sentences all of whose tags are right; with `spans`,
    `precision`, `recall` and `f1`; and with `by_label` `f1-<label>`, for every label that was predicted or is in the
    gold tags. A ratio with nothing in its denominator is 0. It is an error if no sentence had tags, as zeros would be
    taken for scores.

    # Parameters

    spans : `bool`, optional (default = `True`)
        Whether the tags encode entities, as `IOB1`, `BIO` or `BIOES`. If not, as with parts of speech, `f1` is the
        accuracy, which is the micro-averaged F1 of tags that each token has one of.
    by_label : `bool`, optional (default = `False`)
        Whether to report the F1 of each label too.
    """

    def __init__(self, spans: bool = True, by_label: bool = False) -> None:
        super().__init__()
        self._spans, self._by_label = spans, by_label

    def __call__(  # type: ignore[override]
        self, predicted: Sequence[Sequence[str]], gold: Sequence[Sequence[str]]
    ) -> None:
        """
        # Parameters

        predicted, gold : `Sequence[Sequence[str]]`
            The tags of each sentence, one a token.

        # Raises

        `ValueError` where the two differ in size.
        """
        for ours, theirs in zip(predicted, gold, strict=True):
            self._sums.update(tagging_sums(ours, theirs, self._spans))
            if self._spans and self._by_label:
                found, wanted = set(tags_to_spans(ours)), set(tags_to_spans(theirs))
                for name, spans in (("correct", found & wanted), ("predicted", found), ("gold", wanted)):
                    self._sums.update((name, span[0]) for span in spans)

    def _scores(self, sums: Counter, reset: bool) -> dict[str, float]:
        if reset and not sums["tokens"]:
            raise ConfigurationError(
                "no sentence with tags was scored: give validation and evaluation data with tags, and leave 'labelled' "
                "out of the reader of that data (validation_dataset_reader)."
            )
        shares = {
            "accuracy": percent(sums["right"], sums["tokens"]),
            "exact_match": percent(sums["exact"], sums["sentence"]),
        }
        if not self._spans:
            return {**shares, "f1": shares["accuracy"]}
        return {**shares, **f1_scores(sums), **f1_by_name(sums)}
