"""scripts/benchmark.py --suite sklearn, on a few made-up rows."""

import numpy

from scripts.measure import bench_sklearn, classifiers
from scripts.measure.suite import UserError
from tests.scripts.benchmarks import table_of


def test_a_small_benchmark(tmp_path, monkeypatch):
    generator = numpy.random.default_rng(0)
    gold = generator.random((60, 3)) < 0.5
    x = gold + generator.standard_normal(gold.shape)

    def read(name):
        if name != "sample":
            raise UserError("not here")
        return classifiers.Data(x[:40], gold[:40], x[40:], gold[40:])

    monkeypatch.setattr(bench_sklearn.classifiers, "read", read)
    table = table_of(tmp_path, "sklearn")
    assert set(table["case"]) == {"fit, sample", "prediction, sample"}
    fits = table[(table["case"] == "fit, sample") & (table["metric"] == "cpu_seconds")].set_index("method")
    # Four fits of the classifier are a part of it.
    assert fits.loc["structured", "ratio"] > 2 and fits.loc["classifier", "ratio"] == 1
