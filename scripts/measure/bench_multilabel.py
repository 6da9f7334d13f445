"""The multi-label benchmark: the cost of a training step."""

from collections.abc import Sequence
from typing import Any

import seal.plugin  # noqa: F401
from scripts.measure import bench_multilabel_parts as parts
from scripts.measure.bench_base import Benchmark
from scripts.measure.bench_rows import Row, operation_rows, seconds_rows
from scripts.measure.bench_timing import counted_operations, epoch_of, interleaved, train_epoch

CASES = {
    "step": "seconds of a training step after an epoch, one update of each net, against cross-entropy's; and "
    "the operations of their matrix products",
}


class MultilabelBenchmark(Benchmark):
    """`dataset`: of `training_configs/lib/multilabel.libsonnet`."""

    cases, methods = CASES, parts.METHODS

    def __init__(self, methods: Sequence[str], dataset: str = "sample", **rounds: int) -> None:
        super().__init__(methods, **rounds)
        self.data = dataset
        loader = parts.read_split(dataset)
        self._all_batches = list(loader)
        self._batches = self._all_batches[: self._num_batches]
        rows = sum(len(batch["features"]) for batch in self._all_batches)
        sizes = (self._batches[0][name].shape[1] for name in ("features", "labels"))
        self.description = "%d rows, %d features, %d labels" % (rows, *sizes)

    def step(self) -> list[Row]:
        epochs = {name: epoch_of(self._taught_trainer(name)) for name in self._methods}
        timings, steps = interleaved(epochs, self._repeats), len(self._batches)
        operations = {name: counted_operations(epoch) for name, epoch in epochs.items()}
        return [
            *seconds_rows("multilabel", "step", timings, steps, parts.BASELINE),
            *operation_rows("multilabel", "step", operations, steps, parts.BASELINE),
        ]

    def _taught_trainer(self, method: str) -> Any:
        """
        A trainer whose model was trained for an epoch, since most steps of a training happen after the first epoch. An
        untrained net draws half of the labels, so that all draws differ and each costs time; a trained one draws few
        labels, and often the same ones.
        """
        taught = parts.build_trainer(self.data, method, self._all_batches, **parts.ONE_STEP)
        train_epoch(taught)
        still = {**parts.ONE_STEP, "task_net_lr": 0.0, "loss_net_lr": 0.0}
        trainer = parts.build_trainer(self.data, method, self._batches, **still)
        trainer.model.load_state_dict(taught.model.state_dict())
        return trainer
