"""
Token accuracy and entity F1 for sequence labelling.
"""

from collections import Counter
from collections.abc import Sequence

from allennlp.common.checks import ConfigurationError
from allennlp.training.metrics import Metric

from seal.common.tag_encodings import tags_to_spans
from seal.metrics.workers import gathered


def tagging_sums(predicted: Sequence[str], gold: Sequence[str], spans: bool) -> dict[str, int]:
    """
    What a test of significance sums over sentences: the tags that are `right`, the `tokens`, whether all are `exact`, 1
    for the `sentence`; and with `spans` the entities that are `correct`, `predicted` and `gold`.
    """
    right = sum(one == other for one, other in zip(predicted, gold))
    sums = {"right": right, "tokens": len(gold), "exact": int(list(predicted) == list(gold)), "sentence": 1}
    if spans:
        found, wanted = set(tags_to_spans(predicted)), set(tags_to_spans(gold))
        sums.update(correct=len(found & wanted), predicted=len(found), gold=len(wanted))
    return sums


@Metric.register("tagging_score")
class TaggingScore(Metric):
    """
    The share of tokens with the right tag, and precision, recall and F1 of entities as the CoNLL program `conlleval`
    counts them: an entity is correct where its label and both borders are. Illegal sequences are read leniently, as
    the program does.

    Tags are strings. AllenNLP's `SpanBasedF1Measure`, which counts in the same way and which the tests compare with,
    takes vocabulary indices, and knows no `E-` and `S-`.

    # Parameters

    spans : `bool`, optional (default = `True`)
        Whether the tags encode entities, as `IOB1`, `BIO` or `BIOES`. If not, as with parts of speech, only the
        accuracy is reported.
    by_label : `bool`, optional (default = `False`)
        Whether to report the F1 of each label too.
    """

    supports_distributed = True

    def __init__(self, spans: bool = True, by_label: bool = False) -> None:
        self._spans = spans
        self._by_label = by_label
        self.reset()

    def reset(self) -> None:
        self._tokens = self._right = self._sentences = self._exact = 0
        # Entities by label.
        self._correct: Counter = Counter()
        self._predicted: Counter = Counter()
        self._gold: Counter = Counter()

    def __call__(  # type: ignore[override]
        self, predicted: Sequence[Sequence[str]], gold: Sequence[Sequence[str]]
    ) -> None:
        """
        # Parameters

        predicted, gold : `Sequence[Sequence[str]]`
            The tags of each sentence, one a token.

        # Raises

        `ConfigurationError` where the two differ in size.
        """
        if len(predicted) != len(gold):
            raise ConfigurationError(f"TaggingScore found {len(predicted)} predicted and {len(gold)} gold sentences.")
        for index, (ours, theirs) in enumerate(zip(predicted, gold)):
            if len(ours) != len(theirs):
                raise ConfigurationError(
                    f"TaggingScore found {len(ours)} predicted and {len(theirs)} gold tags for sentence {index} of "
                    "the batch."
                )
            self._sentences += 1
            self._exact += list(ours) == list(theirs)
            self._tokens += len(theirs)
            self._right += sum(one == other for one, other in zip(ours, theirs))
            if self._spans:
                found, wanted = set(tags_to_spans(ours)), set(tags_to_spans(theirs))
                for counter, spans in (
                    (self._correct, found & wanted),
                    (self._predicted, found),
                    (self._gold, wanted),
                ):
                    counter.update(span[0] for span in spans)

    def get_metric(self, reset: bool = False) -> dict[str, float]:
        """
        The scores of all sentences since the last reset.

        # Parameters

        reset : `bool`, optional (default = `False`)
            Whether to sum over all distributed workers, which must all call this, and to forget the counts
            afterwards.

        # Returns

        `dict[str, float]`
            In percent (0 to 100): `accuracy` of tokens; `exact_match`, the share of sentences all of whose tags are
            right; with `spans`, `precision`, `recall` and `f1`; and `f1-<label>` with
            `by_label`, for every label that was predicted or is in the gold tags. A ratio with nothing in its
            denominator is 0.

        # Raises

        `ConfigurationError` at a reset if no sentence had tags: its zeros would be taken for scores.
        """
        mine = (self._right, self._tokens, self._exact, self._sentences), (self._correct, self._predicted, self._gold)
        workers = gathered(mine) if reset else [mine]
        totals = tuple(map(sum, zip(*(worker[0] for worker in workers))))
        by_label = tuple(sum(counts, Counter()) for counts in zip(*(worker[1] for worker in workers)))
        correct, predicted, gold = by_label
        if reset and totals[1] == 0:
            raise ConfigurationError(
                "no sentence with tags was scored: give validation and evaluation data with tags, and leave 'labelled' "
                "out of the reader of that data (validation_dataset_reader)."
            )
        metrics = {"accuracy": _percent(*totals[:2]), "exact_match": _percent(*totals[2:])}
        if self._spans:
            counts = [sum(counter.values()) for counter in by_label]
            metrics["precision"] = _percent(counts[0], counts[1])
            metrics["recall"] = _percent(counts[0], counts[2])
            metrics["f1"] = _percent(2 * counts[0], counts[1] + counts[2])
            if self._by_label:
                for label in sorted(predicted.keys() | gold.keys()):
                    metrics[f"f1-{label}"] = _percent(2 * correct[label], predicted[label] + gold[label])
        if reset:
            self.reset()
        return metrics


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0
