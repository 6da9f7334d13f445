"""
scripts/benchmark.py --suite tagging: that it times what it says, and a run with the smallest settings.
"""

import pandas
import pytest
import torch

from scripts import benchmark
from scripts.measure import bench_tagging as bench
from scripts.measure import bench_tagging_parts as parts
from scripts.measure.bench_timing import train_epoch


def test_batches_are_of_twitters_sizes():
    batches = parts.random_batches(6, 10)
    lengths = torch.cat([(batch["tokens"]["tokens"]["tokens"] > 0).sum(dim=1) for batch in batches])
    assert len(lengths) == 60 and 14 <= lengths.float().mean() <= 16
    assert lengths.min() >= parts.SHORTEST and lengths.max() <= parts.LONGEST
    for batch in batches:
        words = batch["tokens"]["tokens"]["tokens"]
        assert words.shape == batch["tags"].shape and words[words > 0].min() >= 2
        for row, tags, meta in zip(words, batch["tags"], batch["metadata"]):
            assert meta["tags"] == [f"t{tag}" for tag in tags[row > 0].tolist()]
    vocab = parts.vocabulary()
    assert vocab.get_vocab_size("tags") == parts.TAGS and vocab.get_token_index("t7", "tags") == 7
    assert vocab.get_vocab_size("tokens") == parts.WORDS + 2


@pytest.mark.parametrize("method", parts.METHODS)
def test_timed_steps_are_updates_that_change_nothing(method):
    trainer = parts.build_trainer(method, parts.random_batches(2, 3))
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    train_epoch(trainer)
    steps = {
        name: {float(state["step"]) for state in player.state_dict()["state"].values()}
        for name, player in trainer.optimizer.players.items()
    }
    # An update a batch of each net that there is.
    nets = [name for name in ("task_net", "loss_net") if getattr(trainer.model, name) is not None]
    assert steps == {name: {2.0} for name in nets}
    for name, value in trainer.model.state_dict().items():
        assert torch.equal(value, before[name])


def test_energies_are_those_of_the_paper():
    models = {}
    for name in parts.ENERGIES:
        _, chain, *whole = parts.build_model(parts.experiment("compound_stacked", name)).loss_net.energies
        assert chain.transitions.shape == (parts.TAGS, parts.TAGS)
        models[name] = whole[0] if whole else None
    assert models["linear chain"] is None
    assert [len(models[name].tag_models) for name in ("GE(a)", "GE(b)", "GE(c)")] == [1, 2, 2]
    assert models["GE(a)"].word_models is None and models["GE(b)"].word_models is None
    assert len(models["GE(c)"].word_models) == 2 and models["GE(c)"].gamma > 0


def test_a_small_benchmark(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "BATCH_SIZES", (2, 3))
    monkeypatch.setattr(bench, "SPEED_BATCH", 2)
    monkeypatch.setattr(bench, "PREDICTION_BATCH", 4)
    arguments = ["--suite", "tagging", "--out", str(tmp_path), "--methods", "nce"]
    assert benchmark.main([*arguments, "--repeats", "1", "--batches", "1"]) == 0
    table = pandas.read_csv(tmp_path / "benchmark.csv")
    assert list(table.columns) == ["suite", "case", "method", "metric", "value", "baseline", "ratio"]
    seconds = table[table["metric"] == "seconds"].set_index(["case", "method"])
    assert list(seconds.loc["step, batch 2"].index) == ["cross_entropy", "nce"]
    assert list(seconds.loc["energy, batch 3"].index) == ["linear chain", "GE(a)", "GE(b)", "GE(c)"]
    assert set(seconds.index.levels[0]) == {"step, batch 2", "step, batch 3", "energy, batch 2", "energy, batch 3"}
    for row in seconds.itertuples():
        assert row.value > 0 and row.ratio == pytest.approx(row.value / row.baseline)
    speeds = table[table["metric"] == "examples_per_second"].set_index(["case", "method"])
    assert list(speeds.loc["training, batch 2"].index) == list(bench.COMPOUND)
    assert list(speeds.loc["prediction, batch 4"].index) == list(bench.PREDICTED)
    # Faster is more.
    for row in speeds.itertuples():
        assert row.value > 0 and row.ratio == pytest.approx(row.value / row.baseline)
    assert (tmp_path / "benchmark.png").stat().st_size > 10_000
    assert "data random, 25 tags" in capsys.readouterr().out
