"""scripts/benchmark.py --suite growth: a run with small sizes, and the slope."""

import math

import pytest

from scripts.measure import bench_growth as bench
from tests.scripts.benchmarks import table_of


def test_a_run(tmp_path, monkeypatch):
    few = {name: growth._replace(sizes=(32, 64)) for name, growth in bench.CASES.items()}
    monkeypatch.setattr(bench, "CASES", few)
    monkeypatch.setattr(bench, "LAYERS", 1)
    monkeypatch.setattr(bench, "WIDTH", 32)
    table = table_of(tmp_path, "growth", "--batches", "1")
    timed = table[table["metric"] == "cpu_seconds"]
    assert timed.groupby("case")["method"].agg(list).to_dict() == {
        growth.title: ["32", "64"] for growth in few.values()
    }
    slopes = table[table["metric"] == "slope"].set_index("case")
    for growth in few.values():
        small, large = timed[timed["case"] == growth.title]["value"]
        # From 32 to 64, cost grows by twice to the power of the slope.
        assert slopes["value"][growth.title] == pytest.approx(math.log2(large / small))
        assert slopes["baseline"][growth.title] == growth.power


@pytest.mark.parametrize(
    "case, key", [("labels", "labels"), ("rows", "features"), ("tags", "tags"), ("pieces", "tokens")]
)
def test_a_size_is_that_of_the_batches(case, key, monkeypatch):
    """Or the table would be of something else."""
    built = {}
    monkeypatch.setattr(bench, "LAYERS", 1)
    monkeypatch.setattr(bench, "WIDTH", 32)
    benchmark_of = bench.GrowthBenchmark(repeats=1, num_batches=1)
    monkeypatch.setattr(benchmark_of, "_grown", lambda name, build: built.setdefault(name, build(48)))
    getattr(benchmark_of, case)()
    trainer = built[case]
    (batch,) = trainer.data_loader
    found = {
        "labels": lambda: batch["labels"].shape[1],
        "features": lambda: len(batch["features"]),
        "tags": lambda: trainer.model.vocab.get_vocab_size("tags"),
        "tokens": lambda: batch["tokens"]["tokens"]["token_ids"].shape[1],
    }
    assert found[key]() == 48
