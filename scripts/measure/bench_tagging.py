"""The benchmark of sequence labelling: what a step of each method and each energy costs, and a prediction."""

from typing import Any

import seal  # noqa: F401
from scripts.measure import bench_tagging_parts as parts
from scripts.measure.bench_base import Batches, Benchmark, predicts
from scripts.measure.bench_rows import Row, seconds_rows, speed_rows
from scripts.measure.bench_timing import Timing, epoch_of, interleaved

CASES = {
    "step": "seconds of a training step, against cross-entropy's",
    "energies": "seconds of a step of the stacked compound loss with each energy, against the linear chain's",
    "speed": "training examples a second of the three compound networks, against the separated",
    "prediction": "sentences a second, against the task-net of cross-entropy",
}
BATCH_SIZES = (10, 32)
# The batch size of the paper that reports examples a second (Tu, Pang & Gimpel 2020, Table 2).
SPEED_BATCH = 10
# In the paper's order, the slowest first: 66, 78 and 92 examples a second.
COMPOUND = ("compound_separated", "compound_shared", "compound_stacked")
PREDICTION_BATCH = 64
# Cross-entropy, and methods that predict in another way than its task-net, or might.
PREDICTED = ("cross_entropy", "crf", "compound_stacked", "spen")


class TaggingBenchmark(Benchmark):
    cases, methods = CASES, parts.METHODS
    description = f"{parts.TAGS} tags, {parts.SHORTEST} to {parts.LONGEST} words, BiLSTM"

    def step(self) -> list[Row]:
        rows = []
        for size in BATCH_SIZES:
            batches = parts.random_batches(self._num_batches, size)
            timings = self._rounds({name: parts.build_trainer(name, batches) for name in self._methods})
            rows += seconds_rows("tagging", f"step, batch {size}", timings, self._num_batches, parts.BASELINE)
        return rows

    def energies(self) -> list[Row]:
        rows = []
        for size in BATCH_SIZES:
            batches = parts.random_batches(self._num_batches, size)
            timings = self._rounds(
                {name: parts.build_trainer("compound_stacked", batches, name) for name in parts.ENERGIES}
            )
            rows += seconds_rows("tagging", f"energy, batch {size}", timings, self._num_batches, parts.LINEAR_CHAIN)
        return rows

    def speed(self) -> list[Row]:
        batches = parts.random_batches(self._num_batches, SPEED_BATCH)
        timings = self._rounds({name: parts.build_trainer(name, batches) for name in COMPOUND})
        count = SPEED_BATCH * self._num_batches
        return speed_rows("tagging", f"training, batch {SPEED_BATCH}", timings, count, COMPOUND[0])

    def prediction(self) -> list[Row]:
        batches = parts.random_batches(self._num_batches, PREDICTION_BATCH)
        loader = Batches([{"tokens": batch["tokens"]} for batch in batches])
        cases = {name: predicts(parts.build_model(parts.experiment(name)), loader) for name in PREDICTED}
        timings = interleaved(cases, self._repeats)
        case, count = f"prediction, batch {PREDICTION_BATCH}", PREDICTION_BATCH * self._num_batches
        return speed_rows("tagging", case, timings, count, PREDICTED[0])

    def _rounds(self, trainers: dict[str, Any]) -> dict[str, list[Timing]]:
        epochs = {name: epoch_of(trainer) for name, trainer in trainers.items()}
        return interleaved(epochs, self._repeats)
