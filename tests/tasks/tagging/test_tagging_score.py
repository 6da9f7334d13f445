import random

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.data.dataset_readers.dataset_utils import bioul_tags_to_spans
from allennlp.training.metrics import SpanBasedF1Measure

from seal.common.tag_encodings import convert_tags, tags_to_spans
from seal.tasks.tagging import TaggingScore

BIO = ["O", "B-A", "I-A", "B-B", "I-B"]


def random_tags(rng, length):
    """Any tags, legal or not."""
    return [rng.choice(BIO + ["I-A", "I-B"]) for _ in range(length)]


def random_pair(rng):
    gold = random_tags(rng, rng.randint(1, 12))
    return [tag if rng.random() < 0.7 else rng.choice(BIO) for tag in gold], gold


def legal(tags):
    before = ["O", *tags]
    return ["B" + tag[1:] if tag[0] == "I" and last[2:] != tag[2:] else tag for last, tag in zip(before, tags)]


def conlleval(predicted, gold):
    """
    The counts of the CoNLL program, by its own walk along the tokens: a chunk is right where it starts and ends with a
    gold chunk of its type and nothing in between started or ended apart.
    """
    right = found = wanted = 0
    inside = False
    last = [("O", ""), ("O", "")]

    def starts(before, now):
        return now[0] != "O" and (now[0] in "BS" or before[0] in "OES" or before[1] != now[1])

    def ends(before, now):
        return before[0] != "O" and (before[0] in "ES" or now[0] in "OBS" or before[1] != now[1])

    for tags in [*zip(predicted, gold), ("O", "O")]:
        now = [(tag[0], tag[2:]) for tag in tags]
        ended = [ends(before, after) for before, after in zip(last, now)]
        if inside and ended[0] and ended[1]:
            right, inside = right + 1, False
        elif inside and ended[0] != ended[1]:
            inside = False
        started = [starts(before, after) for before, after in zip(last, now)]
        found, wanted = found + started[0], wanted + started[1]
        if started[0] and started[1] and now[0][1] == now[1][1]:
            inside = True
        elif started[0] or started[1]:
            inside = False
        last = now
    return right, found, wanted


def of(metric):
    scores = metric.get_metric()
    return [scores[name] / 100 for name in ("precision", "recall", "f1")]


@pytest.mark.parametrize("encoding", ["BIO", "BIO with illegal tags", "BIOES"])
def test_counts_as_conlleval(encoding):
    rng = random.Random(7)
    metric, right, found, wanted = TaggingScore(), 0, 0, 0
    for _ in range(400):
        pair = random_pair(rng)
        if encoding != "BIO with illegal tags":
            pair = [legal(tags) for tags in pair]
        if encoding == "BIOES":
            pair = [convert_tags(tags, "BIO", "BIOES") for tags in pair]
        metric([pair[0]], [pair[1]])
        counts = conlleval(*pair)
        right, found, wanted = right + counts[0], found + counts[1], wanted + counts[2]
    assert 100 < right < min(found, wanted)
    precision, recall = right / found, right / wanted
    assert of(metric) == pytest.approx([precision, recall, 2 * precision * recall / (precision + recall)])


def test_counts_as_allennlp_does():
    vocab = Vocabulary(tokens_to_add={"tags": BIO})
    theirs, ours = SpanBasedF1Measure(vocab, "tags", label_encoding="BIO"), TaggingScore(by_label=True)
    rng = random.Random(3)
    for _ in range(300):
        predicted, gold = random_pair(rng)
        ours([predicted], [gold])
        indices = [torch.tensor([[vocab.get_token_index(tag, "tags") for tag in tags]]) for tags in (predicted, gold)]
        theirs(torch.eye(len(BIO))[indices[0]], indices[1], torch.ones_like(indices[1], dtype=torch.bool))
    expected = theirs.get_metric()
    overall = [expected[f"{name}-overall"] for name in ("precision", "recall", "f1-measure")]
    assert of(ours) == pytest.approx(overall) and 0 < overall[2] < 1
    for label in "AB":
        assert ours.get_metric()[f"f1-{label}"] == pytest.approx(100 * expected[f"f1-measure-{label}"])


def test_spans_of_bioes_are_those_of_allennlp():
    """AllenNLP reads BIOES under the names BIOUL: L for E, U for S."""
    rng, found = random.Random(5), 0
    for _ in range(300):
        tags = convert_tags(legal(random_pair(rng)[0]), "BIO", "BIOES")
        theirs = bioul_tags_to_spans([{"E": "L", "S": "U"}.get(tag[0], tag[0]) + tag[1:] for tag in tags])
        assert tags_to_spans(tags) == sorted(((label, *ends) for label, ends in theirs), key=lambda span: span[1])
        found += len(theirs)
    assert found > 300


def test_by_hand():
    metric = TaggingScore(by_label=True)
    assert set(metric.get_metric().values()) == {0.0}
    # A is right, B has a wrong border, C stands where nothing is.
    metric([["B-A", "I-A", "O", "B-B"], ["S-C"]], [["B-A", "I-A", "B-B", "I-B"], ["O"]])
    scores = metric.get_metric(reset=True)
    assert scores == pytest.approx(
        {
            **{"accuracy": 40, "exact_match": 0, "precision": 100 / 3, "recall": 50, "f1": 40},
            **{"f1-A": 100, "f1-B": 0, "f1-C": 0},
        }
    )
    assert metric.get_metric()["f1"] == 0


def test_f1_of_parts_of_speech_is_their_accuracy():
    metric = TaggingScore(spans=False)
    metric([["N", "V", "~"], ["V"]], [["N", "N", "~"], ["V"]])
    assert metric.get_metric() == {"accuracy": 75, "exact_match": 50, "f1": 75}


def test_data_without_tags_has_no_score():
    metric = TaggingScore()
    assert metric.get_metric()["accuracy"] == 0.0  # While it counts, as for a progress bar.
    with pytest.raises(ConfigurationError, match="labelled"):
        metric.get_metric(reset=True)
