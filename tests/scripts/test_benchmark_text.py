"""scripts/benchmark.py --suite text: the table of a run of no size."""

import pandas

from scripts import benchmark


def test_a_step_of_each_method_against_cross_entropy(tmp_path):
    arguments = ["--suite", "text", "--methods", "nce_20,nce_20_shared", "--repeats", "1", "--batches", "1"]
    assert benchmark.main([*arguments, "--layers", "1", "--width", "32", "--out", str(tmp_path)]) == 0
    table = pandas.read_csv(tmp_path / "benchmark.csv").set_index(["method", "metric"])
    for method in ("cross_entropy", "nce_20", "nce_20_shared"):
        for metric in ("seconds", "cpu_seconds"):
            row = table.loc[(method, metric)]
            assert row["value"] > 0 and (method != "cross_entropy" or row["ratio"] == 1)
    assert (tmp_path / "benchmark.png").stat().st_size > 1000


def test_mistakes_are_told(tmp_path, capsys):
    cases = ((["--dataset", "reuters"], "text takes none"), (["--cases", "memory"], "there is no 'memory'"))
    for arguments, message in cases:
        assert benchmark.main(["--suite", "text", *arguments, "--out", str(tmp_path)]) == 2
        assert message in capsys.readouterr().err
