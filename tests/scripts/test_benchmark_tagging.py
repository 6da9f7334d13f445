"""scripts/benchmark.py --suite tagging: that it times what it says, and a run with the smallest settings."""

import pytest
import torch

from scripts.measure import bench_tagging as bench
from scripts.measure import bench_tagging_parts as parts
from tests.scripts.benchmarks import still_steps_of, table_of


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
    # An update a batch of each net that there is.
    nets = [name for name in ("task_net", "loss_net") if getattr(trainer.model, name) is not None]
    assert still_steps_of(trainer) == dict.fromkeys(nets, {2.0})


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
    table = table_of(tmp_path, "tagging", "--methods", "nce", "--batches", "1")
    seconds = table[table["metric"] == "seconds"].set_index(["case", "method"])
    assert list(seconds.loc["step, batch 2"].index) == ["cross_entropy", "nce"]
    assert list(seconds.loc["energy, batch 3"].index) == ["linear chain", "GE(a)", "GE(b)", "GE(c)"]
    assert set(seconds.index.levels[0]) == {"step, batch 2", "step, batch 3", "energy, batch 2", "energy, batch 3"}
    speeds = table[table["metric"] == "examples_per_second"].set_index(["case", "method"])
    assert list(speeds.loc["training, batch 2"].index) == list(bench.COMPOUND)
    assert list(speeds.loc["prediction, batch 4"].index) == list(bench.PREDICTED)
    # Faster is more.
    for row in [*seconds.itertuples(), *speeds.itertuples()]:
        assert row.value > 0 and row.ratio == pytest.approx(row.value / row.baseline)
    assert "data random, 25 tags" in capsys.readouterr().out
