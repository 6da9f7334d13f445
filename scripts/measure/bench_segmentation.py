"""The benchmark of images with masks: what a training step of each method costs, and a prediction.

    python -m scripts.measure.bench_segmentation METHOD THREADS

prints the peak memory of steps, for which it has to be a process of its own."""

import json
import sys
from typing import Any

import numpy
import torch
from allennlp.data import TensorDict, Vocabulary
from allennlp.training import Trainer

import seal  # noqa: F401
from scripts.measure.bench_base import Batches, Benchmark, build_model, build_trainer, predicts
from scripts.measure.bench_rows import Row, memory_rows, seconds_rows, speed_rows
from scripts.measure.bench_timing import epoch_of, interleaved
from scripts.measure.configs import library_value
from scripts.measure.grid import Grid
from scripts.measure.own_process import STEPS, in_own_process, peaks_of
from scripts.measure.suites.segmentation import METHODS as GROUPS
from seal.dataset_readers.segmentation import as_input

BASELINE = "cross_entropy"
METHODS: list[str] = [name for members in GROUPS.values() for name in members]
CASES = {
    "step": "seconds of a training step, against cross-entropy's, and images a second of training",
    "prediction": "images a second, against the task-net of cross-entropy",
    "memory": "peak memory of training steps, against cross-entropy's",
}
# The nets and sizes of Weizmann's horses. The data are random: the time of a step does not depend on what they show.
DATASET = "weizmann"
# Cross-entropy averages over 36 crops of an image, and DVN, which searches, over 4: the ratio of the two has both
# causes, and with as many crops for cross-entropy that of the search alone.
PREDICTED: dict[str, dict[str, Any]] = {
    "cross_entropy": {"method": "cross_entropy"},
    "cross_entropy_4_crops": {"method": "cross_entropy", "crops_per_side": 2},
    "dvn": {"method": "dvn"},
}


class SegmentationBenchmark(Benchmark):
    cases, methods = CASES, METHODS

    def __init__(self, *arguments: Any, **rounds: int) -> None:
        super().__init__(*arguments, **rounds)
        sizes = library_value("segmentation.libsonnet", f"lib.data.{DATASET}")
        self._size, self._crop = sizes["size"], sizes["crop"]
        self.description = f"images of {self._size} pixels a side, crops of {self._crop}"

    def step(self) -> list[Row]:
        trainers = {name: self.build_trainer(name) for name in self._methods}
        timings = interleaved({name: epoch_of(trainer) for name, trainer in trainers.items()}, self._repeats)
        size = batch_size("data_loader")
        count = size * self._num_batches
        return [
            *seconds_rows("segmentation", f"step, batch {size}", timings, self._num_batches, BASELINE),
            *speed_rows("segmentation", f"training, batch {size}", timings, count, BASELINE),
        ]

    def prediction(self) -> list[Row]:
        """On whole images, each in the crops of its config."""
        size = batch_size("validation_data_loader")
        batches = random_batches(self._num_batches, size, self._size)
        loader = Batches([{"image": batch["image"]} for batch in batches])
        cases = {}
        for name, settings in PREDICTED.items():
            cases[name] = predicts(build_model(experiment(**settings)["model"], Vocabulary()), loader)
        timings = interleaved(cases, self._repeats)
        return speed_rows("segmentation", f"prediction, batch {size}", timings, size * self._num_batches, BASELINE)

    def memory(self) -> list[Row]:
        found = {name: in_own_process("bench_segmentation", name, str(self._threads)) for name in self._methods}
        return memory_rows("segmentation", found, BASELINE)

    def peaks_of_steps(self, method: str) -> dict[str, float]:
        """What they add to imports, data and model, as `peaks_of`; needs a process of its own."""
        return peaks_of(epoch_of(self.build_trainer(method)))

    def build_trainer(self, method: str) -> Trainer:
        """The config's trainer on crops, with learning rates of 0, so that updates change nothing."""
        config = experiment(method, task_net_lr=0, loss_net_lr=0)
        loader = Batches(random_batches(self._num_batches, batch_size("data_loader"), self._crop))
        return build_trainer(config["trainer"], build_model(config["model"], Vocabulary()), loader)


def experiment(method: str, **settings: Any) -> dict[str, Any]:
    """The config of `training_configs/lib`."""
    return Grid("segmentation").config(DATASET, method, settings)


def batch_size(loader: str) -> int:
    """That of the config's `data_loader` or `validation_data_loader`, the same for all methods."""
    return experiment(BASELINE)[loader]["batch_size"]


def random_batches(count: int, images: int, side: int) -> list[TensorDict]:
    """Batches of square images of noise with masks of noise, drawn with a fixed seed."""
    generator = numpy.random.default_rng(0)
    batches = []
    for _ in range(count):
        pixels = torch.from_numpy(generator.integers(0, 256, size=(images, side, side, 3), dtype=numpy.uint8))
        mask = torch.from_numpy(generator.integers(0, 2, size=(images, side, side))).float()
        batches.append({"image": as_input(pixels), "mask": mask})
    return batches


if __name__ == "__main__":
    _method, _threads = sys.argv[1:]
    _benchmark = SegmentationBenchmark([_method], repeats=1, num_batches=STEPS, threads=int(_threads))
    print(json.dumps(_benchmark.peaks_of_steps(_method)))
