"""scripts/benchmark.py --suite chains: what it compares, and a run with the smallest settings."""

from scripts.measure import bench_chains as bench
from tests.scripts.benchmarks import table_of


def test_a_run(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "LABELS", 3)
    monkeypatch.setattr(bench, "TOKENS", 4)
    monkeypatch.setattr(bench, "PREDICTION_BATCH", 8)
    table = table_of(tmp_path, "chains", "--batches", "1")
    timed = table[table["metric"] == "cpu_seconds"].groupby("case")["method"].agg(list)
    learned = {"learning from 8 frames": ["passes over the data", "a sparse matrix"]}
    assert timed.to_dict() == {**{case: list(bench.SPACES) for case in ("step", *bench.WORK)}, **learned}
    predicted = table[table["metric"] == "frames_per_cpu_second"]
    assert predicted["method"].tolist() == [
        f"{over}, {structure}" for over in ("cross_entropy", "crf") for structure in ("without", "structure")
    ]
    assert (predicted["value"] > 0).all()
