"""What the tests of scripts/benchmark.py share."""

import pandas
import torch

from scripts import benchmark
from scripts.measure.bench_timing import train_epoch


def table_of(folder, suite, *arguments):
    """The table of the command with these arguments; it has a figure."""
    assert benchmark.main(["--suite", suite, "--out", str(folder), "--repeats", "1", *arguments]) == 0
    assert (folder / "benchmark.png").stat().st_size > 5_000
    table = pandas.read_csv(folder / "benchmark.csv")
    assert list(table.columns) == ["suite", "case", "method", "metric", "value", "baseline", "ratio"]
    return table


def steps_of(trainer):
    """By player, the numbers of updates of its parameters."""
    return {
        name: {float(state["step"]) for state in player.state_dict()["state"].values()}
        for name, player in trainer.optimizer.players.items()
    }


def still_steps_of(trainer):
    """The same after an epoch, which must change no weight."""
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    train_epoch(trainer)
    assert all(torch.equal(value, before[name]) for name, value in trainer.model.state_dict().items())
    return steps_of(trainer)
