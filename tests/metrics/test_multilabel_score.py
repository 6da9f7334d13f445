import warnings

import numpy
import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.training.metrics import Metric
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, average_precision_score, f1_score

from seal.metrics import MultilabelScore, best_label_thresholds, best_threshold, example_f1, multilabel_score
from tests.training.runs import on_workers


def rows_of(seed, rows=60, labels=9, dtype=torch.float32):
    """
    Rows with many equal probabilities. Rows 0 to 2 have no gold label, 2 to 4 no predicted one; the first
    label is never in gold or predicted, the second only predicted, the third only in gold.
    """
    generator = torch.Generator().manual_seed(seed)
    gold = torch.rand(rows, labels, generator=generator) < 0.25
    steps = torch.randint(0, 17, (rows, labels), generator=generator, dtype=torch.int64)
    probabilities = (steps + 6 * gold.long()).clamp(max=16).to(dtype) / 16
    gold[:3] = False
    gold[:, :2] = False
    probabilities[2:5] *= 0.25
    probabilities[:, 0] *= 0.25
    probabilities[:, 2] *= 0.25
    gold[5, 2] = True
    return probabilities, gold


def reference(probabilities, gold, empty_f1=1.0, thresholds=()):
    """The scores as sklearn has them."""
    scores = {}
    for suffix, threshold in [("", 0.5), *[(f"_{name}", value) for name, value in dict(thresholds).items()]]:
        predicted = probabilities >= threshold
        scores[f"f1{suffix}"] = f1_score(gold, predicted, average="samples", zero_division=empty_f1)
        scores[f"micro_f1{suffix}"] = f1_score(gold, predicted, average="micro", zero_division=0.0)
        scores[f"macro_f1{suffix}"] = f1_score(gold, predicted, average="macro", zero_division=numpy.nan)
        scores[f"macro_f1_all{suffix}"] = f1_score(gold, predicted, average="macro", zero_division=0.0)
        scores[f"subset_accuracy{suffix}"] = accuracy_score(gold, predicted)
    labelled = gold.any(dim=1)
    scores["mean_average_precision"] = average_precision_score(
        gold[labelled].numpy(), probabilities[labelled].float().numpy(), average="samples"
    )
    return {name: 100 * value for name, value in scores.items()}


def score(probabilities, gold, thresholds=None, **kwargs):
    metric = MultilabelScore(**kwargs)
    metric(probabilities, gold)
    return metric.get_metric(reset=True, thresholds=thresholds)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("empty_f1", [0.0, 1.0])
def test_agrees_with_sklearn(dtype, empty_f1):
    probabilities, gold = rows_of(1, dtype=dtype)
    predicted = probabilities >= 0.5
    # The comparison is worth something only where all of these occur.
    assert (~gold.any(dim=1) & ~predicted.any(dim=1)).any()
    assert (~gold.any(dim=1) & predicted.any(dim=1)).any()
    assert (gold.any(dim=1) & ~predicted.any(dim=1)).any()
    assert (~gold.any(dim=0)).sum() == 2 and (~predicted.any(dim=0)).sum() == 2
    assert (probabilities == 0.5).any() and len(probabilities.unique()) < 80

    thresholds = {"low": 0.1875, "labels": torch.linspace(0.1, 0.9, 9)}
    found = score(probabilities, gold, thresholds, empty_f1=empty_f1)
    assert found == pytest.approx(reference(probabilities, gold, empty_f1, thresholds), abs=1e-9)
    assert len(found) == 16 and len({round(value, 6) for value in found.values()}) >= 11
    assert found["macro_f1_all"] < found["macro_f1"]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.integers(2, 6), st.data())
def test_agrees_with_sklearn_on_small_tables(rows, labels, data):
    size = rows * labels
    values = data.draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=size, max_size=size))
    flags = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    probabilities, gold = torch.tensor(values).view(rows, labels), torch.tensor(flags).view(rows, labels)
    # Without any label sklearn's figures are undefined.
    gold[0, 0] |= not gold.any()
    found = score(probabilities, gold, {"low": 0.25})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = reference(probabilities, gold, thresholds={"low": 0.25})
    assert found == pytest.approx(expected, abs=1e-9)


def test_by_hand():
    probabilities = torch.tensor([[0.9, 0.5, 0.1], [0.2, 0.8, 0.4]])
    gold = torch.tensor([[1, 0, 0], [0, 1, 1]])
    found = score(probabilities, gold, {"third": 0.3, "none": 0.95})
    # Rows 2/3 and 2/3; in all 2 correct of 3 predicted and 3 gold; labels 1, 2/3 and 0.
    assert found["f1"] == pytest.approx(200 / 3)
    assert found["micro_f1"] == pytest.approx(200 / 3)
    assert found["macro_f1"] == pytest.approx(500 / 9)
    assert found["mean_average_precision"] == pytest.approx(100.0)
    assert found["f1_third"] == pytest.approx(100 * (2 / 3 + 1) / 2)
    assert found["f1_none"] == found["micro_f1_none"] == found["macro_f1_none"] == 0.0


def test_equal_probabilities_share_a_rank():
    found = score(torch.tensor([[0.5, 0.5, 0.5, 0.5]]), torch.tensor([[True, False, False, False]]))
    assert found["mean_average_precision"] == 25.0


def test_rows_without_any_label():
    probabilities, gold = torch.full((2, 3), 0.25), torch.zeros(2, 3)
    found = score(probabilities, gold, {"low": 0.125}, empty_f1=0.75)
    assert found.pop("f1") == 75.0
    assert found.pop("subset_accuracy") == 100.0
    assert set(found.values()) == {0.0}


def test_compares_in_the_precision_given():
    below = torch.tensor([[0.5 - 1e-12]], dtype=torch.float64)
    assert below.float() >= 0.5
    assert score(below, torch.ones(1, 1))["f1"] == 0.0
    assert score(torch.tensor([[0.5]], dtype=torch.float16), torch.ones(1, 1))["f1"] == 100.0


def test_thresholds_are_compared_in_single_precision():
    probabilities = torch.tensor([[0.7]])
    assert probabilities.double() < 0.7
    for threshold in (0.7, torch.tensor([0.7], dtype=torch.float64)):
        assert score(probabilities, torch.ones(1, 1), {"same": threshold})["f1_same"] == 100.0


@pytest.mark.parametrize("chunk", [1, 7, 2048])
def test_batches_and_chunks_score_as_one(monkeypatch, chunk):
    probabilities, gold = rows_of(2)
    thresholds = {"low": 0.25, "labels": torch.linspace(0.1, 0.9, 9)}
    expected = score(probabilities, gold, thresholds)
    monkeypatch.setattr(multilabel_score, "CHUNK", chunk)
    metric = MultilabelScore()
    for batch, wanted in zip(probabilities.split(13), gold.float().split(13)):
        metric(batch, wanted)
    assert metric.get_metric() == pytest.approx({name: expected[name] for name in ("f1", "micro_f1")})
    assert metric.get_metric(reset=True, thresholds=thresholds) == pytest.approx(expected)
    kept, kept_gold = metric.last_pass()
    assert torch.equal(kept, probabilities) and torch.equal(kept_gold, gold)


@pytest.mark.parametrize("empty_f1", [0.0, 1.0])
def test_labels_without_a_column_are_missed(empty_f1):
    """As sklearn scores a table that has columns for them, where nothing is ever predicted."""
    probabilities, gold = rows_of(7)
    names = ["x", "y", "z"]
    extra = torch.rand(60, 3, generator=torch.Generator().manual_seed(8)) < 0.1
    extra[0], extra[1:3] = torch.tensor([True, False, True]), False
    missed = [[name for name, flag in zip(names, row) if flag] for row in extra.tolist()]
    thresholds = {"low": 0.1875}
    metric = MultilabelScore(empty_f1)
    for start in range(0, 60, 13):
        metric(probabilities[start : start + 13], gold[start : start + 13], missed[start : start + 13])
    running = metric.get_metric()
    found = metric.get_metric(reset=True, thresholds=thresholds)
    wide, wide_gold = torch.cat([probabilities, torch.full((60, 3), -1.0)], dim=1), torch.cat([gold, extra], dim=1)
    expected = reference(wide, wide_gold, empty_f1, thresholds)
    # sklearn has no label that is nowhere in a ranking: there its precision would be above 0.
    with_gold = wide_gold.any(dim=1)
    precisions = [
        average_precision_score(row_gold, row) * row_gold.sum() / (row_gold.sum() + lost) if row_gold.any() else 0.0
        for row, row_gold, lost in zip(
            probabilities[with_gold].numpy(), gold[with_gold].numpy(), extra[with_gold].sum(dim=1).numpy()
        )
    ]
    expected["mean_average_precision"] = 100 * sum(precisions) / len(precisions)
    assert found == pytest.approx(expected, abs=1e-9)
    assert running == {name: pytest.approx(expected[name]) for name in ("f1", "micro_f1")}
    assert found["micro_f1"] < score(probabilities, gold)["micro_f1"]
    # And the next pass begins without them.
    metric(probabilities, gold)
    assert metric.get_metric(reset=True) == pytest.approx(score(probabilities, gold, empty_f1=empty_f1))


def test_passes():
    metric = MultilabelScore()
    thresholds = {"tuned": 0.25}
    names = ("f1", "micro_f1", "macro_f1", "macro_f1_all", "subset_accuracy")
    nothing = dict.fromkeys([*names, *[f"{n}_tuned" for n in names], "mean_average_precision"], 0.0)
    assert metric.get_metric() == {"f1": 0.0, "micro_f1": 0.0}
    assert metric.get_metric(reset=True, thresholds=thresholds) == nothing
    assert [tensor.shape for tensor in metric.last_pass()] == [(0, 0), (0, 0)]

    first, first_gold = rows_of(3)
    metric(first, first_gold)
    assert metric.get_metric()["f1"] > 0
    # A progress bar's call changes nothing.
    metric(first, first_gold)
    assert len(metric.last_pass()[0]) == 120
    # Rows can be looked at while the pass goes on.
    metric(first, first_gold)
    assert metric.get_metric(reset=True) == pytest.approx(score(first, first_gold))
    # The pass is over: nothing to score, but its rows are there, however often one asks.
    for _ in range(2):
        assert len(metric.last_pass()[0]) == 180
        assert metric.get_metric() == {"f1": 0.0, "micro_f1": 0.0}
        assert metric.get_metric(reset=True, thresholds=thresholds) == nothing

    second, second_gold = rows_of(4, rows=20, labels=4)
    metric(second, second_gold)
    assert torch.equal(metric.last_pass()[0], second)
    metric.reset()
    assert torch.equal(metric.last_pass()[0], second) and metric.get_metric()["f1"] == 0.0
    metric(second[:8], second_gold[:8])
    assert metric.get_metric(reset=True) == pytest.approx(score(second[:8], second_gold[:8]))
    assert torch.equal(metric.last_pass()[1], second_gold[:8])


def test_what_is_kept_is_a_copy():
    probabilities = torch.tensor([[0.75, 0.25]], requires_grad=True)
    gold = torch.tensor([[True, False]])
    metric = MultilabelScore()
    metric(probabilities, gold)
    probabilities.data.zero_()
    gold.fill_(False)
    kept, kept_gold = metric.last_pass()
    assert kept.tolist() == [[0.75, 0.25]] and not kept.requires_grad
    assert kept_gold.tolist() == [[True, False]]


def test_thresholds_tuned_on_the_last_pass():
    probabilities, gold = rows_of(5, rows=200, dtype=torch.float64)
    probabilities = probabilities * 0.7
    metric = MultilabelScore()
    metric(probabilities, gold)
    before = metric.get_metric(reset=True)
    kept = metric.last_pass()
    thresholds = {"one": best_threshold(*kept), "each": best_label_thresholds(*kept, 0.5)}
    metric(probabilities, gold)
    after = metric.get_metric(reset=True, thresholds=thresholds)
    assert after["f1"] == before["f1"]
    assert after["f1_one"] > after["f1"] and after["macro_f1_each"] > after["macro_f1_one"]
    # 0.7 * k / 16 is no single-precision number: labels must fall on the side they were tuned to.
    expected = reference(kept[0], gold, thresholds=thresholds)
    assert after == pytest.approx(expected)


def test_a_function_tunes_on_the_pass_that_it_scores():
    probabilities, gold = rows_of(6)
    seen = []

    def tune(*rows):
        seen.append(rows)
        return {"tuned": best_threshold(*rows[:2])}

    metric = MultilabelScore()
    assert "f1_tuned" not in metric.get_metric(reset=True, thresholds=tune) and not seen
    metric(probabilities, gold)
    metric.get_metric(thresholds=tune)
    assert not seen
    found = metric.get_metric(reset=True, thresholds=tune)
    assert found == pytest.approx(score(probabilities, gold, {"tuned": best_threshold(probabilities, gold)}))
    assert torch.equal(seen[0][0], probabilities) and torch.equal(seen[0][1], gold)
    assert torch.equal(seen[0][2], torch.zeros(len(gold), dtype=torch.long))


def test_refuses_sizes_that_do_not_agree():
    metric = MultilabelScore()
    with pytest.raises(ConfigurationError, match=r"\(2, 3\) and \(2, 4\)"):
        metric(torch.zeros(2, 3), torch.zeros(2, 4))
    with pytest.raises(ConfigurationError, match=r"\(batch, labels\)"):
        metric(torch.zeros(3), torch.zeros(3))
    metric(torch.ones(2, 3), torch.ones(2, 3))
    with pytest.raises(ConfigurationError, match="4 labels after batches of 3"):
        metric(torch.zeros(2, 4), torch.zeros(2, 4))
    with pytest.raises(ConfigurationError, match="'odd'.*3, one for each label"):
        metric.get_metric(reset=True, thresholds={"odd": torch.zeros(4)})
    # Nothing is lost by a refusal.
    assert metric.get_metric(reset=True)["f1"] == 100.0


@pytest.mark.parametrize("empty_f1", [-0.1, 1.5, float("nan")])
def test_refuses_an_f1_that_is_none(empty_f1):
    with pytest.raises(ConfigurationError, match="model.empty_f1"):
        MultilabelScore(empty_f1)


def test_is_registered():
    metric = Metric.from_params(Params({"type": "multilabel_score", "empty_f1": 0.0}))
    assert isinstance(metric, MultilabelScore) and metric.supports_distributed
    metric(torch.zeros(1, 2), torch.zeros(1, 2))
    assert metric.get_metric()["f1"] == 0.0


def test_two_processes_score_as_one(tmp_path):
    """They have different numbers of rows and batches; in the second pass one of them has none."""
    passes = [[rows_of(7, rows=30), rows_of(8, rows=51)], [rows_of(9), None]]

    def work(rank):
        metric = MultilabelScore()
        results = [metric.get_metric(reset=True)]
        for parts in passes:
            if parts[rank] is not None:
                for batch in zip(*(tensor.split(20 + rank) for tensor in parts[rank])):
                    metric(*batch)
            thresholds = {"tuned": 0.25}
            running = metric.get_metric()
            results.append((running, metric.get_metric(True, thresholds), metric.last_pass()))
        # Another reset says nothing new, and does not touch the rows.
        return [*results, metric.get_metric(reset=True), metric.last_pass()]

    for rank, results in enumerate(on_workers(work, tmp_path)):
        assert set(results[0].values()) == set(results[3].values()) == {0.0}
        for parts, (running, found, kept) in zip(passes, results[1:3]):
            own = parts[rank]
            assert running["f1"] == (pytest.approx(score(*own)["f1"]) if own is not None else 0.0)
            joint = [torch.cat(part) for part in zip(*(p for p in parts if p is not None))]
            assert found == pytest.approx(score(*joint, {"tuned": 0.25}))
            assert all(torch.equal(*pair) for pair in zip(kept, joint))
        assert all(torch.equal(*pair) for pair in zip(results[4], passes[1][0]))


def test_example_f1_is_that_of_the_sets():
    generator = torch.Generator().manual_seed(0)
    predicted, gold = (torch.rand(50, 4, generator=generator) < 0.4 for _ in range(2))
    for empty in (0.0, 1.0):
        expected = []
        for row, truth in zip(predicted, gold):
            ours, theirs = set(row.nonzero().flatten().tolist()), set(truth.nonzero().flatten().tolist())
            total = len(ours) + len(theirs)
            expected.append(2 * len(ours & theirs) / total if total else empty)
        assert example_f1(predicted, gold, empty).tolist() == pytest.approx(expected)
