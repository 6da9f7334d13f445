"""scripts/benchmark.py --suite processes: a run with small nets, and what a worker that ends says."""

import pytest

import seal  # noqa: F401
from scripts.measure import bench_processes as bench
from scripts.measure.bench_processes_worker import Worker
from tests.scripts.benchmarks import table_of


def test_a_run(tmp_path):
    nets = ["--cases", "srl_cross_entropy,tagging_nce", "--layers", "1", "--width", "32"]
    sizes = ["--methods", "2,2_nodes,2_at_the_end,2_in_parts,2_apart", "--batches", "2"]
    table = table_of(tmp_path, "processes", *nets, *sizes)
    for case in ("srl_cross_entropy", "tagging_nce"):
        rows = table[table["case"] == bench.CASES[case]]
        found = rows.pivot(index="method", columns="metric", values="value")
        ratios = rows.pivot(index="method", columns="metric", values="ratio")
        assert list(found.index) == ["1", "2", "2_apart", "2_at_the_end", "2_in_parts", "2_nodes"]
        assert (found["seconds"] > found["waiting_seconds"]).all()
        assert ratios["examples_per_second"]["2"] == pytest.approx(2 / ratios["seconds"]["2"])
        # Of Adam's states, two numbers for each gradient.
        whole = found["exchanged_mib"]["2"]
        assert found["exchanged_mib"].tolist() == pytest.approx([0, whole, 0, whole, 2 * whole, whole], rel=0.01)
        assert found["states_mib"]["1"] == pytest.approx(2 * whole, rel=0.01)
        # Nearly all of such a transformer are the embeddings of its pieces, which one worker has.
        assert ratios["states_mib"]["2"] == 1 > ratios["states_mib"]["2_in_parts"] > 0.49
    assert ratios["states_mib"]["2_in_parts"] < 0.7


def test_a_worker_that_ends_is_told(monkeypatch):
    def end(self, *_):
        if self._rank == 1:
            raise RuntimeError("as an example")
        return original(self, *_)

    original = Worker.measure
    monkeypatch.setattr(Worker, "measure", end)
    with pytest.raises(RuntimeError, match="(?s)a worker ended: .*as an example"):
        bench.ProcessesBenchmark(["2"], repeats=1, num_batches=1).tagging_cross_entropy()
