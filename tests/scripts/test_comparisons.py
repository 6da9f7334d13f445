"""From the files of runs to the marks of a page: what is compared with what, and in which direction."""

import os
import random
import statistics

import numpy
import pandas
import pytest

from scripts.measure import cells, family_tables, results, significance, tables
from scripts.measure.files import write_json
from scripts.measure.significance import Comparison, UnlikeExamples
from scripts.measure.suite import Family, Method, Suite
from seal_inspect.significance import Statistic

MEAN = Statistic(("hit", "frame"), lambda sums: 100 * sums["hit"] / sums["frame"])
SUITE = Suite(
    name="made_up",
    dataset="here",
    title="made up",
    # The baseline is not the first, nor are the names in the order of the alphabet.
    methods={name: Method(name.upper(), lambda _: "") for name in ("zeta", "cross_entropy", "beta")},
    data=lambda: {"train": "a", "dev": "b", "test": "c"},
    epochs=1,
    metrics={"hits": "Hits", "misses": "Misses", "duplicates": "Duplicates"},
    key=("source", "nth"),
    statistics={"hits": MEAN, "misses": Statistic(MEAN.columns, lambda sums: 100 - MEAN.value(sums))},
    score=lambda *_: ({}, {}),
)
KEY = SUITE.key


def examples(hits):
    """Two examples from each source."""
    rows = [(f"file:{index // 2:02}", index % 2, hit, 1) for index, hit in enumerate(hits)]
    return pandas.DataFrame(rows, columns=["source", "nth", "hit", "frame"])


def drawn(seed, rate, count=40):
    generator = random.Random(seed)
    return [int(generator.random() < rate) for _ in range(count)]


def add_run(out, method, seed, hits, splits=("dev",)):
    """Writes the files of a scored run; a hit on dev is a miss on test, and the other way round."""
    folder = out / "runs" / f"made_up-{method}-{seed}"
    folder.mkdir(parents=True)
    metrics = {"train": {"seconds_per_epoch": 1.0, "epochs": 9, "best_epoch": 4, "parameters": 2e6}}
    for split in splits:
        found = hits if split == "dev" else [1 - hit for hit in hits]
        examples(found).to_csv(folder / f"frames_{split}.csv.gz", index=False)
        value = 100 * sum(found) / len(found)
        metrics[split] = {"hits": value, "misses": 100 - value, "duplicates": value / 7}
    identity = {"suite": "made_up", "dataset": "here", "method": method, "seed": seed}
    write_json(folder / "result.json", {**identity, "metrics": metrics})
    return folder


def compared(out):
    return results.compare(out, SUITE, results.collect(out))


# The test.


def test_p_is_the_share_of_the_draws_that_are_as_far_off():
    """Compared with single draws by the definition; also where the parts of the draws have unequal sizes."""
    first, second = drawn(0, 0.5), drawn(2, 0.6)
    for resamples in (1, 99, 301):
        found = significance.paired_bootstrap(examples(first), examples(second), KEY, MEAN, resamples, seed=3)
        observed = 100 * (sum(second) - sum(first)) / 40
        counts = numpy.random.default_rng(3).multinomial(40, [1 / 40] * 40, size=resamples)
        differences = [100 * sum(n * (b - a) for n, a, b in zip(row, first, second)) / 40 for row in counts]
        extreme = sum(abs(difference - observed) >= abs(observed) - 1e-9 for difference in differences)
        assert found == (pytest.approx(observed), (1 + extreme) / (1 + resamples))
    assert observed > 0 and 0 < extreme < resamples
    # Two-sided: exchanging the runs changes nothing but the sign.
    turned = significance.paired_bootstrap(examples(second), examples(first), KEY, MEAN, resamples, seed=3)
    assert turned == (pytest.approx(-observed), found.p_value)


def test_a_draw_that_is_exactly_as_far_off_counts():
    """One example decides: drawn 0 or 2 times, it puts a draw as far from the observed difference as that is from 0."""
    first, second = [0] * 10, [1] + [0] * 9
    found = significance.paired_bootstrap(examples(first), examples(second), KEY, MEAN, 500, seed=0)
    times = numpy.random.default_rng(0).multinomial(10, [0.1] * 10, size=500)[:, 0]
    assert found.p_value == (1 + (times != 1).sum()) / 501


@pytest.mark.parametrize("wrong", ["longer", "order", "source", "nth"])
def test_examples_that_are_not_the_same_are_not_compared(wrong):
    first = examples(drawn(0, 0.4))
    second = examples(drawn(1, 0.6))
    if wrong == "longer":
        second = examples(drawn(1, 0.6, count=41))
    elif wrong == "order":
        second = second.iloc[::-1]
    else:
        second.loc[17, wrong] = {"source": "file:99", "nth": 5}[wrong]
    with pytest.raises(UnlikeExamples):
        significance.paired_bootstrap(first, second, KEY, MEAN)
    if wrong == "order":
        # The order of the examples is made the same in each.
        pooled = significance.pooled({1: first, 2: second}, KEY)
        expected = [a + b for a, b in zip(drawn(0, 0.4), drawn(1, 0.6))]
        assert (pooled["frame"] == 2).all() and pooled["hit"].tolist() == expected
    else:
        for frames in ({1: first, 2: second}, {1: first, 2: first, 3: second}):
            with pytest.raises(UnlikeExamples):
                significance.pooled(frames, KEY)


# From the runs' files.


def test_a_comparison_is_of_the_seeds_that_both_have(tmp_path):
    hits = {
        ("cross_entropy", 1): drawn(1, 0.3),
        ("cross_entropy", 2): drawn(2, 0.4),
        ("beta", 2): drawn(3, 0.7),
        ("beta", 3): drawn(4, 0.1),
        ("zeta", 3): drawn(5, 0.5),
    }
    for (method, seed), found in hits.items():
        add_run(tmp_path, method, seed, found)
    # Scored on test by one seed more than the baseline was.
    add_run(tmp_path, "cross_entropy", 4, drawn(6, 0.4), splits=("dev", "test"))
    add_run(tmp_path, "beta", 4, drawn(7, 0.6), splits=("dev", "test"))
    found, unlike = compared(tmp_path)
    assert unlike == [] and {key[:2] for key in found} == {("dev", "beta"), ("test", "beta")}
    base, ours = ([*hits["cross_entropy", 2], *drawn(6, 0.4)], [*hits["beta", 2], *drawn(7, 0.6)])
    gain = 100 * (statistics.mean(ours) - statistics.mean(base))
    assert gain > 0
    assert found["dev", "beta", "hits"].difference == pytest.approx(gain)
    assert found["dev", "beta", "misses"].difference == pytest.approx(-gain)
    gain = 100 * (statistics.mean(drawn(7, 0.6)) - statistics.mean(drawn(6, 0.4)))
    assert found["test", "beta", "hits"].difference == pytest.approx(-gain)


def test_a_run_that_is_scored_anew_is_compared_anew(tmp_path):
    add_run(tmp_path, "cross_entropy", 1, [0, 1] * 20)
    folder = add_run(tmp_path, "beta", 1, [0, 1] * 20)
    assert compared(tmp_path)[0]["dev", "beta", "hits"].difference == 0
    path = folder / "frames_dev.csv.gz"
    examples([1] * 40).to_csv(path, index=False)
    os.utime(path, (1, 1))
    assert compared(tmp_path)[0]["dev", "beta", "hits"].difference == 50


def test_runs_on_other_examples_are_named_and_the_rest_is_compared(tmp_path):
    add_run(tmp_path, "cross_entropy", 1, drawn(0, 0.5))
    add_run(tmp_path, "beta", 1, drawn(1, 0.5))
    add_run(tmp_path, "zeta", 1, drawn(2, 0.5, count=38))
    for _ in range(2):  # The second time from what is known.
        found, unlike = compared(tmp_path)
        assert {key[1] for key in found} == {"beta"}
        reason = "the same examples are needed, found 40 and 38"
        assert unlike == [f"made_up, dev: zeta is not tested against cross_entropy: {reason}."]
    table = results.collect(tmp_path)
    page = tables.page({"made_up": SUITE}, table, {"made_up": found}, [], {"a": "b"}, warnings=unlike)
    assert page.startswith(f"# Results\n\n- a: b\n\n## Beware\n\n- {unlike[0]}\n\n## made_up")


# Tables.


def table_of(values):
    """`values`: by method and seed."""
    rows = []
    for (method, seed), value in values.items():
        run = ("made_up", "here", method, seed)
        for split, more in (("dev", 0), ("test", 100)):
            rows += [(*run, split, "hits", value + more), (*run, split, "duplicates", value + more + 0.25)]
        facts = {"seconds_per_epoch": 2.0, "epochs": 9, "best_epoch": 4, "parameters": 2e6}
        rows += [(*run, "train", name, fact) for name, fact in facts.items()]
    return pandas.DataFrame(rows, columns=results.COLUMNS)


VALUES = {("zeta", 1): 3.0, ("cross_entropy", 1): 1.0, ("cross_entropy", 2): 5.0}
VALUES.update({("beta", 2): 4.5, ("beta", 3): 9.5})


def test_the_deviation_is_the_samples():
    assert cells.mean_and_deviation([]) == "–"
    assert cells.mean_and_deviation([81.234]) == "81.23"
    values = [1.0, 2.0, 4.0, 9.0]
    assert cells.mean_and_deviation(values) == f"4.00 ± {statistics.stdev(values):.2f}" == "4.00 ± 3.56"


def test_a_table_of_scores():
    """One table for each split, the methods in the suite's order, a dash where nothing was measured."""
    assert cells.split_table(SUITE, table_of(VALUES), "test").splitlines() == [
        "| method | seeds | Hits | Misses | Duplicates |",
        "| :-- | --: | --: | --: | --: |",
        "| ZETA | 1 | 103.00 | – | 103.2 |",
        "| CROSS_ENTROPY | 2 | 103.00 ± 2.83 | – | 103.2 ± 2.8 |",
        "| BETA | 2 | 107.00 ± 3.54 | – | 107.2 ± 3.5 |",
    ]


def test_gains_are_of_the_same_seeds_and_marked_where_chance_is_unlikely():
    """Beta is better than the baseline on the mean of all seeds, and worse with the same one."""
    table = table_of(VALUES)
    extra = table[table["metric"] == "hits"].assign(metric="misses")
    extra["value"] *= -2
    table = pandas.concat([table, extra], ignore_index=True)
    comparisons = {
        ("dev", "beta", "hits"): Comparison(-0.5, 0.0499),
        ("dev", "beta", "misses"): Comparison(1.0, 0.05),
        ("test", "zeta", "hits"): Comparison(2.0, 0.001),
        ("test", "zeta", "misses"): Comparison(-4.0, 0.9),
    }
    header = ["| method | Hits difference | p | Misses difference | p |", "| :-- | --: | --: | --: | --: |"]
    assert tables.comparison_table(SUITE, table, comparisons, "dev").splitlines() == [
        *header,
        "| BETA | -0.50 † | 0.0499 | +1.00 | 0.0500 |",
    ]
    assert tables.comparison_table(SUITE, table, comparisons, "test").splitlines() == [
        *header,
        "| ZETA | +2.00 † | 0.0010 | -4.00 | 0.9000 |",
    ]
    assert tables.comparison_table(SUITE, table, {}, "dev") == ""


def test_a_family_marks_what_is_unlikely_and_leaves_out_what_cannot_be_paired():
    family = Family("made", "a family", "here", {"hits": "Hits"})
    suites = {}
    parts = []
    for dataset, values in (("here", VALUES), ("there", {**VALUES, ("zeta", 1): 7.0})):
        suites[dataset] = Suite(**{**vars(SUITE), "name": dataset, "dataset": dataset, "family": "made"})
        parts.append(table_of(values).assign(suite=dataset, dataset=dataset))
    table = pandas.concat(parts, ignore_index=True)
    # On the second data set, beta has no seed in common with the baseline.
    table = table[~((table["dataset"] == "there") & (table["method"] == "beta") & (table["seed"] == 2))]
    found = {"zeta": Comparison(2.0, 0.0499), "beta": Comparison(-0.5, 0.05)}
    comparisons = {"here": {("dev", method, "hits"): comparison for method, comparison in found.items()}}
    facts = table[table["split"] == "train"].drop_duplicates(["dataset", "method", "seed"])
    more = [facts.assign(metric=name, value=1.0) for name in ("prediction_parameters", "examples_per_second")]
    table = pandas.concat([table, *more], ignore_index=True)
    lines = family_tables.sections(family, suites, table, comparisons)
    assert lines[lines.index("### dev: Hits") + 1].splitlines()[2:] == [
        "| ZETA | 3.00 † | 7.00 | +4.00 |",
        "| CROSS_ENTROPY | 3.00 ± 2.83 | 3.00 ± 2.83 | – |",
        "| BETA | 7.00 ± 3.54 | 9.50 | – |",
    ]
