"""The multi-label benchmark: what a step, inference, evaluation, prediction and reading cost."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

import seal.plugin  # noqa: F401
from scripts.measure import bench_multilabel_parts as parts
from scripts.measure.bench_base import Benchmark
from scripts.measure.bench_rows import Row, operation_rows, seconds_rows, speed_rows
from scripts.measure.bench_timing import Timing, counted_operations, epoch_of, interleaved, timed, train_epoch

CASES = {
    "step": "seconds of a training step after an epoch, one update of each net, against cross-entropy's; and "
    "the operations of their matrix products",
    "inference": "examples a second of gradient-based inference, by batch size",
    "evaluation": "examples a second with all metrics, against prediction alone",
    "prediction": "examples a second of the task-net, against a loop of PyTorch alone",
    "epoch": "seconds of an epoch with the papers' steps a batch",
}
INFERENCE_STEPS = 20
INFERENCE_BATCHES = (32, 64, 128, 256, 512, 1024, 2048)
PREDICTION_BATCH = 512
PREDICTION_ROWS = 8192
EPOCH_DATASETS = ("genbase", "bibtex")
EPOCH_METHODS = ("cross_entropy", "margin", "nce")


class MultilabelBenchmark(Benchmark):
    """`dataset`: of `training_configs/lib/multilabel.libsonnet`."""

    cases, methods = CASES, parts.METHODS

    def __init__(self, methods: Sequence[str], dataset: str = "sample", **rounds: int) -> None:
        super().__init__(methods, **rounds)
        self.data = dataset
        loader = parts.read_split(dataset)
        self._all_batches = list(loader)
        self._batches = self._all_batches[: self._num_batches]
        self._all = {name: torch.cat([batch[name] for batch in self._all_batches]) for name in self._batches[0]}
        shape = (len(self._all["features"]), self._all["features"].shape[1], self._all["labels"].shape[1])
        # A pass over few rows is too short to be timed, so the rows are repeated.
        self._many = {name: values.repeat(-(-PREDICTION_ROWS // len(values)), 1) for name, values in self._all.items()}
        self.description = "%d rows, %d features, %d labels" % shape

    def step(self) -> list[Row]:
        epochs = {name: epoch_of(self._taught_trainer(name)) for name in self._methods}
        timings, steps = self._rounds(epochs), len(self._batches)
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
        trainer = self._still_trainer(method, self._batches)
        trainer.model.load_state_dict(taught.model.state_dict())
        return trainer

    def _still_trainer(self, method: str, batches: list[Any], **settings: Any) -> Any:
        still = {"task_net_lr": 0.0, "loss_net_lr": 0.0}
        return parts.build_trainer(self.data, method, batches, **{**parts.ONE_STEP, **still, **settings})

    def _rounds(self, cases: dict[str, Callable[[], Any]]) -> dict[str, list[Timing]]:
        return interleaved(cases, self._repeats)

    def inference(self) -> list[Row]:
        """The ratios are to the smallest batch."""
        config = parts.experiment(self.data, "spen", {"inference_steps": INFERENCE_STEPS})
        model = parts.build_model(config, self._batches[0]).eval()
        largest = max(INFERENCE_BATCHES)
        features = self._many["features"][:largest]
        timings = self._rounds({str(size): _predicts(model, features, size) for size in INFERENCE_BATCHES})
        name = f"inference, {INFERENCE_STEPS} steps"
        speeds = speed_rows("multilabel", name, timings, largest, next(iter(timings)))
        of_cpu = [row for row in speeds if row.metric == "examples_per_cpu_second"]
        best = max(of_cpu, key=lambda row: row.value)
        return [*speeds, best._replace(method=f"best: {best.method}")]

    def evaluation(self) -> list[Row]:
        model = parts.build_model(parts.experiment(self.data, parts.BASELINE), self._batches[0]).eval()
        model.is_tuned.fill_(True)  # So that the scores with tuned thresholds are among them.
        features, gold = (self._many[name].split(PREDICTION_BATCH) for name in ("features", "labels"))

        @torch.no_grad()
        def evaluate() -> None:
            for inputs, labels in zip(features, gold):
                model(features=inputs, labels=labels)
            model.get_metrics(reset=True)

        predict = _predicts(model, self._many["features"], PREDICTION_BATCH)
        timings = self._rounds({"prediction alone": predict, "all metrics": evaluate})
        return speed_rows("multilabel", "evaluation", timings, len(self._many["features"]), "prediction alone")

    def prediction(self) -> list[Row]:
        model = parts.build_model(parts.experiment(self.data, parts.BASELINE), self._batches[0]).eval()
        net, features = parts.bare_net(model), self._many["features"]

        @torch.no_grad()
        def bare() -> list[torch.Tensor]:
            return [net(part).sigmoid() >= 0.5 for part in features.split(PREDICTION_BATCH)]

        timings = self._rounds({"bare PyTorch": bare, "seal": _predicts(model, features, PREDICTION_BATCH)})
        return speed_rows("multilabel", "prediction", timings, len(features), "bare PyTorch")

    def epoch(self) -> list[Row]:
        """
        One epoch with the papers' steps a batch. It is measured once: it takes long enough for that, and its CPU
        seconds do not depend on other programs.
        """
        rows: list[Row] = []
        for dataset in filter(parts.is_present, EPOCH_DATASETS):
            batches = list(parts.read_split(dataset))
            timings = {}
            for name in (name for name in EPOCH_METHODS if name in self._methods):
                trainer = parts.build_trainer(dataset, name, batches)
                timings[name] = [timed(epoch_of(trainer))]
            rows += seconds_rows("multilabel", f"epoch of {dataset}", timings, 1, parts.BASELINE)
        return rows


def _predicts(model: Any, features: torch.Tensor, size: int) -> Callable[[], None]:
    @torch.no_grad()
    def predict() -> None:
        for part in features.split(size):
            model(features=part)

    return predict
