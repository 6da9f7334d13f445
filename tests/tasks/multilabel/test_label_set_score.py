import warnings

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, average_precision_score, f1_score

from seal.structure.thresholds import best_label_thresholds, best_threshold
from seal.tasks.multilabel import MultilabelScore, example_f1
from seal.tasks.multilabel import label_set_score as multilabel_score


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


def test_a_pass_ends_with_its_scores():
    metric, thresholds = MultilabelScore(), {"tuned": 0.25}
    names = ("f1", "micro_f1", "macro_f1", "macro_f1_all", "subset_accuracy")
    nothing = dict.fromkeys([*names, *[f"{n}_tuned" for n in names], "mean_average_precision"], 0.0)
    first, second = rows_of(3), rows_of(4, rows=20, labels=4)
    assert metric.get_metric() == {"f1": 0.0, "micro_f1": 0.0}
    assert metric.get_metric(reset=True, thresholds=thresholds) == nothing
    for _ in range(3):
        metric(*first)
        # A progress bar's call changes nothing.
        assert metric.get_metric()["f1"] == pytest.approx(score(*first)["f1"])
    assert metric.get_metric(reset=True) == pytest.approx(score(*first))
    assert metric.get_metric() == {"f1": 0.0, "micro_f1": 0.0}
    assert metric.get_metric(reset=True, thresholds=thresholds) == nothing
    # The next one may have other labels, and be given up.
    metric(*second)
    metric.reset()
    assert metric.get_metric()["f1"] == 0.0
    rows = [tensor[:8] for tensor in second]
    metric(*rows)
    assert metric.get_metric(reset=True) == pytest.approx(score(*rows))


def test_a_function_tunes_on_the_pass_that_it_scores():
    probabilities, gold = rows_of(5, rows=200, dtype=torch.float64)
    # 0.7 * k / 16 is no single-precision number: labels must fall on the side they were tuned to.
    kept, given, given_gold = (probabilities * 0.7).float(), (probabilities * 0.7).requires_grad_(), gold.clone()
    thresholds = {"one": best_threshold(kept, gold), "each": best_label_thresholds(kept, gold, 0.5)}
    seen = []

    def tune(*rows):
        seen.append(rows)
        return {"one": best_threshold(*rows[:2]), "each": best_label_thresholds(*rows[:2], 0.5)}

    metric = MultilabelScore()
    assert "f1_one" not in metric.get_metric(reset=True, thresholds=tune) and not seen
    metric(given, given_gold)
    # It has copies.
    given.data.zero_()
    given_gold.fill_(False)
    metric.get_metric(thresholds=tune)
    assert not seen
    found = metric.get_metric(reset=True, thresholds=tune)
    (rows,) = seen
    assert all(torch.equal(*pair) for pair in zip(rows, (kept, gold, torch.zeros(len(gold), dtype=torch.long))))
    assert not rows[0].requires_grad
    assert found == pytest.approx(reference(kept, gold, thresholds=thresholds))
    assert found["f1_one"] > found["f1"] and found["macro_f1_each"] > found["macro_f1_one"]


@pytest.mark.parametrize("empty_f1", [-0.1, 1.5, float("nan")])
def test_refuses_an_f1_that_is_none(empty_f1):
    with pytest.raises(ConfigurationError, match="model.empty_f1"):
        MultilabelScore(empty_f1)


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
