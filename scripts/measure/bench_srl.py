"""The SRL benchmark: the cost of a training step and of a prediction."""

from collections.abc import Sequence
from typing import Any

import torch

import seal.plugin  # noqa: F401
from scripts.measure import bench_srl_parts as parts
from scripts.measure.bench_base import EncoderBenchmark
from scripts.measure.bench_rows import Row, seconds_of, speed_rows
from scripts.measure.bench_timing import epoch_of, interleaved, train_epoch

BASELINE = "cross_entropy"
CASES = {
    "step": "seconds of a training step, against cross-entropy's",
    "prediction": "sentences a second of our predictor, against allennlp-models'",
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
        self._vocab = parts.label_vocabulary(train + self._dev)
        reader = parts.build_reader(self.encoder_of(word for item in train for word in item.words))
        self._instances = parts.as_instances(reader, parts.draw_batches(train, self._num_batches, seed=0))
        self._warmup = parts.as_instances(reader, parts.draw_batches(train, warmup_steps, seed=1))
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

    def prediction(self) -> list[Row]:
        from scripts.measure.bench_prediction import BATCH, predictors

        with_predicates = [sentence for sentence in self._dev if sentence.frames]
        sentences = with_predicates[: BATCH * self._num_batches]
        timings = interleaved(predictors(sentences, self._encoder, self._vocab), self._repeats)
        case = f"prediction, {BATCH} sentences a call"
        return speed_rows("srl", case, timings, len(sentences), "allennlp_models", what="sentences")
