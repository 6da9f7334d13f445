"""scripts/benchmark.py --suite multilabel: that it times what it says, and a run with the smallest settings."""

import pytest
import torch

from scripts.measure import bench_multilabel_parts as parts
from scripts.measure.bench_timing import counted_operations, train_epoch
from tests.scripts.benchmarks import steps_of, still_steps_of, table_of


@pytest.fixture(scope="module")
def batches():
    loader = parts.read_split("sample")
    return [batch for batch, _ in zip(loader, range(2))]


@pytest.mark.parametrize("method", parts.METHODS)
def test_timed_steps_are_updates_that_change_nothing(method, batches):
    still = dict(task_net_lr=0.0, loss_net_lr=0.0)
    trainer = parts.build_trainer("sample", method, batches, **parts.ONE_STEP, **still)
    steps = still_steps_of(trainer)
    # The phase that the method ends in: an update a batch of each net that moves there, of the others none.
    moving = [parts.LAST_PHASE[method]] if method in parts.LAST_PHASE else list(steps)
    assert steps == {name: ({2.0} if name in moving else set()) for name in steps}


def test_the_papers_steps_change_the_nets(batches):
    trainer = parts.build_trainer("bibtex", "nce", batches)
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    train_epoch(trainer)
    assert steps_of(trainer) == {"task_net": {10.0}, "loss_net": {24.0}}
    after = trainer.model.state_dict()
    changed = [name for name, value in after.items() if not torch.equal(value, before[name])]
    assert any(name.startswith("task_net") for name in changed)
    assert any(name.startswith("loss_net") for name in changed)


def test_a_small_benchmark(tmp_path, capsys):
    table = table_of(tmp_path, "multilabel", "--methods", "nce", "--batches", "1")
    for row in table[table["metric"].isin(["seconds", "cpu_seconds"])].itertuples():
        assert row.value > 0 and row.ratio == pytest.approx(row.value / row.baseline)
    step = table[table["metric"] == "seconds"].set_index("method")
    assert step.loc["cross_entropy", "ratio"] == 1 and set(step.index) == {"cross_entropy", "nce"}
    operations = table[table["metric"] == "million_operations"].set_index("method")
    assert operations.loc["cross_entropy", "ratio"] == 1 and operations.loc["nce", "ratio"] > 2
    assert "data sample, 800 rows, 320 features, 30 labels" in capsys.readouterr().out


def test_operations_are_counted():
    left, right = torch.randn(3, 4), torch.randn(4, 5, requires_grad=True)
    # Forward, and the gradient of one factor: 2 * 3 * 4 * 5 each.
    assert counted_operations(lambda: (left @ right).sum().backward()) == 240
