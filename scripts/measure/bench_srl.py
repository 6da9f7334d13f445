"""The SRL benchmark: what a training step, the metrics and a prediction cost."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch

import seal.plugin  # noqa: F401
from scripts.measure import bench_srl_parts as parts
from scripts.measure.bench_base import EncoderBenchmark
from scripts.measure.bench_rows import Row, memory_rows, seconds_of, seconds_rows, speed_rows
from scripts.measure.bench_srl_memory import memory_of_steps, write_longest
from scripts.measure.bench_timing import Stopwatch, epoch_of, interleaved, median_ratio, timed, train_epoch

BASELINE = "cross_entropy"
CASES = {
    "step": "seconds of a training step, against cross-entropy's",
    "training": "seconds of an epoch of cross-entropy, against that of allennlp-models' srl_bert on the same sentences",
    "metrics": "seconds of a step's metrics, against the step",
    "prediction": "sentences a second of our predictor, against allennlp-models'",
    "memory": "peak memory of training steps on the longest sentences, against cross-entropy's",
}


class SrlBenchmark(EncoderBenchmark):
    """`warmup_steps`: steps of cross-entropy training between "at the start" and "after N steps"."""

    cases, methods = CASES, parts.METHODS

    def __init__(self, methods: Sequence[str], warmup_steps: int = 100, **options: Any) -> None:
        super().__init__(methods, **options)
        self._warmup_steps = warmup_steps
        # The usual rate of a pretrained encoder would hardly change random weights in so few steps.
        self._learning_rate = 5e-5 if self._encoder else 5e-4
        self.data, train, self._dev = parts.read_data()
        self._train = train
        self._vocab = parts.label_vocabulary(train + self._dev)
        reader = parts.build_reader(self.encoder_of(word for item in train for word in item.words))
        self._instances = parts.as_instances(reader, parts.draw_batches(train, self._num_batches, seed=0))
        self._warmup = parts.as_instances(reader, parts.draw_batches(train, warmup_steps, seed=1))
        rows = sum(len(item.frames) for item in train)
        # Of the training sentences, so many that their frames fill the batches.
        self._fraction = min(1.0, self._num_batches * parts.BATCH_SIZE / rows)
        # There may be fewer than were asked for.
        self._num_batches = -(-len(self._instances) // parts.BATCH_SIZE)
        self._trainers: dict[str, Any] = {}

    def step(self) -> list[Row]:
        rows = self._steps("step, at the start")
        if self._warmup_steps:
            trained = parts.build_model(BASELINE, self._encoder, self._vocab)
            train_epoch(parts.build_trainer(BASELINE, trained, self._warmup, self._encoder, self._learning_rate))
            for trainer in self._all_trainers().values():
                parts.copy_task_net(trained, trainer.model)
            rows += self._steps(f"step, after {self._warmup_steps} steps")
        return rows

    def _steps(self, case: str) -> list[Row]:
        trainers = self._all_trainers()
        timings = interleaved({name: epoch_of(trainer) for name, trainer in trainers.items()}, self._repeats)
        rows = []
        for name in timings:
            rows += seconds_of("srl", case, name, timings, self._num_batches, BASELINE)
            model = trainers[name].model
            if hasattr(model.sampler, "num_samples"):
                # Equal draws are merged, so the cost of a step depends on how many differ.
                distinct, drawn = self._distinct(trainers[name]), model.sampler.num_samples
                rows.append(Row("srl", case, name, "distinct_samples", distinct, drawn, distinct / drawn))
        return rows

    @torch.no_grad()
    def _distinct(self, trainer: Any) -> float:
        """The mean over frames of the number of different draws."""
        counts = []
        for batch in trainer.data_loader:
            state = trainer.model.task_state(**batch)
            if len(state.gold):
                log_count = trainer.model.sample(state).log_count
                counts += torch.isfinite(log_count).sum(dim=1).tolist()
        return sum(counts) / len(counts)

    def _all_trainers(self) -> dict[str, Any]:
        for name in self._methods:
            if name not in self._trainers:
                model = parts.build_model(name, self._encoder, self._vocab)
                self._trainers[name] = parts.build_trainer(name, model, self._instances, self._encoder, 0.0)
        return self._trainers

    def training(self) -> list[Row]:
        """An epoch of each by its own config: what it reads, how it forms batches, and its steps."""
        from scripts.measure.bench_srl_training import BASELINE as SRL_BERT
        from scripts.measure.bench_srl_training import epochs

        runs = epochs(parts.train_file(), self._encoder, self._fraction, self._vocab)
        timings = interleaved({name: epoch.run for name, epoch in runs.items()}, self._repeats)
        rows = seconds_rows("srl", "training, an epoch", timings, 1, SRL_BERT)
        for name, epoch in runs.items():
            for what in ("rows", "places"):
                count, base = getattr(epoch, what), getattr(runs[SRL_BERT], what)
                rows.append(Row("srl", "training, an epoch", name, what, count, base, count / base))
        return rows

    def metrics(self) -> list[Row]:
        """
        "progress": the time that a training step spends on the running means that it reports. "score": the time of span
        F1 and UCR of a validation batch. Both are compared with a training step on the batch.
        """
        rows = []
        for name in [method for method in self._methods if method in (BASELINE, "nce_20")]:
            trainer = self._all_trainers()[name]
            model = trainer.model
            watch = Stopwatch()
            wrapped = ("monitor", "get_metrics")
            for method in wrapped:
                setattr(model, method, watch.wrap(getattr(model, method)))
            steps, inside = [], []
            train_epoch(trainer)
            for _ in range(self._repeats):
                watch.seconds = 0.0
                steps.append(timed(lambda: train_epoch(trainer)).wall / self._num_batches)
                inside.append(watch.seconds / self._num_batches)
            for method in wrapped:
                delattr(model, method)  # The method of the class is visible again.
            score = [self._score_seconds(trainer) for _ in range(self._repeats)]
            for metric, seconds in (("progress_seconds", inside), ("score_seconds", score)):
                ratio = median_ratio(seconds, steps)
                rows.append(Row("srl", "metrics", name, metric, median(seconds), median(steps), ratio))
        return rows

    @torch.no_grad()
    def _score_seconds(self, trainer: Any) -> float:
        from seal.tasks.srl import SrlScore

        metric, seconds = SrlScore(), 0.0
        for batch in trainer.data_loader:
            # Gold stands for the prediction: a model that is hardly trained predicts far too many spans, or
            # none.
            gold = [item["tags"] for item in batch["metadata"]]
            predicates = [item["predicate"] for item in batch["metadata"]]
            seconds += timed(lambda: (metric(gold, gold, predicates), metric.get_metric())).wall
        return seconds / self._num_batches

    def prediction(self) -> list[Row]:
        from scripts.measure.bench_prediction import BATCH, predictors

        with_predicates = [sentence for sentence in self._dev if sentence.frames]
        sentences = with_predicates[: BATCH * self._num_batches]
        timings = interleaved(predictors(sentences, self._encoder, self._vocab), self._repeats)
        case = f"prediction, {BATCH} sentences a call"
        return speed_rows("srl", case, timings, len(sentences), "allennlp_models", what="sentences")

    def memory(self) -> list[Row]:
        path = Path(self._folder.name) / "longest.json"
        write_longest(self._train, self._vocab, path)
        found = {name: memory_of_steps(name, self._encoder, self._threads, path) for name in self._methods}
        return memory_rows("srl", found, BASELINE)
