"""scripts/benchmark.py --suite text: the table of a run with a tiny model."""

from scripts.measure import bench_text
from tests.scripts.benchmarks import table_of


def test_a_step_of_each_method_against_cross_entropy(tmp_path):
    arguments = ["--cases", "step", "--methods", "nce_20_mixed,nce_20_shared"]
    table = table_of(tmp_path, "text", *arguments, "--batches", "1", "--layers", "1", "--width", "32")
    table = table.set_index(["method", "metric"])
    for method in ("cross_entropy", "nce_20_mixed", "nce_20_shared"):
        for metric in ("seconds", "cpu_seconds"):
            row = table.loc[(method, metric)]
            assert row["value"] > 0 and (method != "cross_entropy" or row["ratio"] == 1)


def test_a_batch_and_its_parts_are_padded_alike(monkeypatch):
    monkeypatch.setattr(bench_text, "is_present", lambda name: name == "sample")
    monkeypatch.setattr(bench_text, "MAX_LENGTH", 12)
    made = bench_text.TextBenchmark(["implicit_cd_in_8_parts"], repeats=1, num_batches=2, layers=1, width=32)
    assert [len(instance["tokens"]) for instance in made._instances] == [12] * 64


def test_where_few_texts_are_long_the_others_follow():
    texts = [{"tokens": [name] * length} for name, length in (("a", 2), ("b", 5), ("c", 1), ("d", 6), ("e", 3))]
    for count, names in ((1, "b"), (2, "bd"), (4, "bdac"), (9, "bdace")):
        assert "".join(text["tokens"][0] for text in bench_text.longest(iter(texts), count, 5)) == names


def test_memory_of_a_batch_in_parts(tmp_path, memory_of_clean_forks):
    """An implicit gradient that is taken in parts needs fewer graphs in memory at once."""
    methods = "implicit_cd,implicit_cd_in_8_parts"
    table = table_of(tmp_path, "text", "--cases", "memory", "--methods", methods, "--layers", "1", "--width", "128")
    table = table.set_index(["method", "metric"])["value"]
    added = {name: table[name, "added_mib"] for name in ("cross_entropy", *methods.split(","))}
    assert 0 < added["implicit_cd_in_8_parts"] < 0.85 * added["implicit_cd"]
