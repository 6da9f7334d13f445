"""What all metrics have in common: a config can name them, and two processes score as one that sees all."""

import random

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.training.metrics import Metric

from seal.common.linear_trees import linearised
from seal.common.tag_encodings import spans_to_bio
from seal.tasks.base.running_means import gathered
from seal.tasks.multilabel import LabelSetScore, MultilabelScore
from seal.tasks.parsing import BracketScore
from seal.tasks.segmentation import MaskScore
from seal.tasks.srl import SrlScore
from seal.tasks.tagging import TaggingScore
from tests.tasks.multilabel.test_label_set_score import rows_of
from tests.tasks.parsing.test_bracket_score import random_trees
from tests.tasks.segmentation.test_mask_score import example
from tests.tasks.srl.test_srl_score import random_frame
from tests.tasks.tagging.test_tagging_score import random_pair
from tests.training.runs import on_workers


@pytest.mark.parametrize(
    "name, settings, kind",
    [
        ("tagging_score", {"by_label": True}, TaggingScore),
        ("srl_score", {"by_role": True}, SrlScore),
        ("multilabel_score", {"empty_f1": 0.0}, MultilabelScore),
        ("mask_score", {"empty_iou": 0.0}, MaskScore),
        ("bracket_score", {}, BracketScore),
    ],
)
def test_a_config_can_name_it(name, settings, kind):
    metric = Metric.from_params(Params({"type": name, **settings}))
    assert isinstance(metric, kind) and metric.supports_distributed


TREE = ["(S", "XX", ")"]


@pytest.mark.parametrize(
    "metric, arguments",
    [
        (TaggingScore(), ([["O"]], [])),
        (SrlScore(), ([["O"]], [])),
        (SrlScore(), ([["O"]], [["O"]], [0, 1])),
        (BracketScore(), ([TREE, TREE], [TREE], [["NN"]])),
        (MaskScore(), (torch.zeros(1, 2, 3), torch.zeros(1, 3, 2))),
        (MultilabelScore(), (torch.zeros(2, 3), torch.zeros(2, 4))),
        (MultilabelScore(), (torch.zeros(3), torch.zeros(3))),
    ],
)
def test_sizes_that_do_not_agree(metric, arguments):
    with pytest.raises((ConfigurationError, ValueError)):
        metric(*arguments)


def tags_of(rank):
    """A label that the other worker does not have."""
    rng = random.Random(rank)
    for _ in range(10 + 20 * rank):
        predicted, gold = random_pair(rng)
        yield [predicted], [gold]
    yield [["O", f"B-{rank}"]], [[f"B-{rank}", "O"]]


def frames_of(rank):
    """A role that the other worker does not have."""
    rng = random.Random(rank)
    frames = [random_frame(rng) for _ in range(20 + 30 * rank)]
    extra = (2, 0, [("V", 0, 0), (f"ARG{3 + rank}", 1, 1)], [(f"ARG{3 + rank}", 0, 1)])
    for length, _, gold, predicted in [*frames, extra]:
        yield [spans_to_bio(predicted, length)], [spans_to_bio(gold, length)]


def trees_of(rank):
    """The first worker sees none."""
    for predicted, gold in random_trees(7, 30 * rank):
        yield [linearised(predicted)], [linearised(gold)], [[tag for _, tag in gold.pos()]]


def masks_of(rank):
    yield example(rank, images=2 + 3 * rank)


def sets_of(rank):
    for _ in range(1 + rank):
        probabilities, gold = rows_of(rank)
        yield probabilities >= 0.5, gold


@pytest.mark.parametrize(
    "make, batches, names",
    [
        (lambda: TaggingScore(by_label=True), tags_of, {"f1-0", "f1-1", "f1-A"}),
        (lambda: SrlScore(by_role=True), frames_of, {"f1-ARG3", "f1-ARG4", "duplicates"}),
        (BracketScore, trees_of, {"f1", "exact_match"}),
        (MaskScore, masks_of, {"mean_iou", "global_iou", "pixel_accuracy"}),
        (lambda: LabelSetScore("micro_f1"), sets_of, None),
    ],
    ids=["tags", "frames", "trees", "masks", "label sets"],
)
def test_two_processes_score_as_one(make, batches, names, tmp_path):
    def scored(*ranks):
        metric = make()
        for rank in ranks:
            for batch in batches(rank):
                metric(*batch)
        return metric

    def work(rank):
        metric = scored(rank)
        return metric.get_metric(), metric.get_metric(reset=True), metric.get_metric()

    expected = scored(0, 1).get_metric()
    assert scored(0).get_metric() != expected and (names is None or names <= expected.keys())
    for rank, (running, found, after) in enumerate(on_workers(work, tmp_path)):
        assert running == scored(rank).get_metric() and found == pytest.approx(expected)
        assert set(after.values() if names else [after]) == {0.0}


def test_values_of_two_processes_may_differ_in_type_and_size(tmp_path):
    value = object()
    assert gathered(value) == [value]
    both = [{"a": [1, 2, 3]}, None]
    assert on_workers(lambda rank: gathered(both[rank]), tmp_path) == [both, both]


def test_two_processes_keep_the_rows_of_both(tmp_path):
    """They have different numbers of rows and batches; in the second pass one of them has none."""
    passes = [[rows_of(7, rows=30), rows_of(8, rows=51)], [rows_of(9), None]]
    thresholds = {"tuned": 0.25}

    def scored(*parts):
        metric = MultilabelScore()
        metric(*[torch.cat(part) for part in zip(*parts)])
        return metric.get_metric(reset=True, thresholds=thresholds)

    def work(rank):
        metric = MultilabelScore()
        results = [metric.get_metric(reset=True)]
        for parts in passes:
            if parts[rank] is not None:
                for batch in zip(*(tensor.split(20 + rank) for tensor in parts[rank])):
                    metric(*batch)
            results.append((metric.get_metric(), metric.get_metric(True, thresholds)))
        # Another reset says nothing new.
        return [*results, metric.get_metric(reset=True)]

    for rank, results in enumerate(on_workers(work, tmp_path)):
        assert set(results[0].values()) == set(results[3].values()) == {0.0}
        for parts, (running, found) in zip(passes, results[1:3]):
            own = parts[rank]
            assert running["f1"] == (pytest.approx(scored(own)["f1"]) if own is not None else 0.0)
            assert found == pytest.approx(scored(*(part for part in parts if part is not None)))
