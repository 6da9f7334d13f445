"""The benchmark of texts with labels: what a training step costs with a transformer for each net, or one for both.

    python -m scripts.measure.bench_text METHOD ENCODER_FOLDER THREADS

prints the peak memory of a step, for which it has to be a process of its own."""

import json
import sys
from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple, Optional

from allennlp.common import Params
from allennlp.data import DatasetReader, Instance, Vocabulary
from allennlp.data.data_loaders import SimpleDataLoader
from allennlp.training import Trainer

import seal  # noqa: F401
from scripts.measure.bench_base import EncoderBenchmark, build_model, build_trainer
from scripts.measure.bench_rows import Row, memory_rows, seconds_rows
from scripts.measure.bench_timing import epoch_of, interleaved
from scripts.measure.configs import library_value, text
from scripts.measure.own_process import STEPS, in_own_process, peaks_of
from scripts.measure.suite import ROOT
from seal.dataset_readers.labelled_texts import TextOptions, read_labelled_texts

BASELINE = "cross_entropy"


class Measured(NamedTuple):
    #: Of `training_configs/lib`.
    method: str
    #: The number of parts that a batch is split into. Each has an implicit gradient of its own, so that an update takes
    #: less memory.
    parts: int = 1
    #: Mixed precision.
    mixed: bool = False
    #: Whether one pass of the loss-net's encoder serves both nets.
    reuse: bool = False
    #: Of the loss-net's encoder; `None`: all.
    layers: Optional[int] = None


METHODS = {
    BASELINE: Measured("text.method.cross_entropy()"),
    "cross_entropy_mixed": Measured("text.method.cross_entropy()", mixed=True),
    "margin": Measured("text.method.margin()"),
    "nce_20": Measured("text.method.nce(num_samples=20)"),
    "nce_20_reused": Measured("text.method.nce(num_samples=20)", reuse=True),
    "nce_20_two_layers": Measured("text.method.nce(num_samples=20)", layers=2),
    "nce_20_one_layer": Measured("text.method.nce(num_samples=20)", layers=1),
    "nce_20_mixed": Measured("text.method.nce(num_samples=20)", mixed=True),
    "nce_20_shared": Measured("text.method.nce(num_samples=20, share_encoder=true)"),
    "implicit_cd": Measured("text.method.implicit_cd()"),
    "implicit_cd_in_8_parts": Measured("text.method.implicit_cd()", parts=8),
    "implicit_cd_last_layer": Measured("text.method.implicit_cd(last_layer=true)"),
    "implicit_cd_last_layer_mixed": Measured("text.method.implicit_cd(last_layer=true)", mixed=True),
}
CASES = {
    "step": "seconds of a training step, against cross-entropy's",
    "memory": "peak memory of training steps, against cross-entropy's",
}
BATCH_SIZE = 32
MAX_LENGTH = 128


class TextBenchmark(EncoderBenchmark):
    """
    Batches have the first texts of Reuters or, where that is missing, of the sample: those that are cut at `MAX_LENGTH`
    if there are enough, so that a batch and its parts have the same padding.
    """

    cases, methods = CASES, METHODS

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.data = next(name for name in ("reuters", "sample") if is_present(name))
        self._paths = paths(self.data)
        self.encoder_of(self._words())
        self._instances = self._read()
        self._vocab = Vocabulary.from_instances(self._instances)

    def step(self) -> list[Row]:
        trainers = {name: self._trainer(name) for name in self._methods}
        timings = interleaved({name: epoch_of(trainer) for name, trainer in trainers.items()}, self._repeats)
        return seconds_rows("text", "step", timings, self._num_batches, BASELINE)

    def memory(self) -> list[Row]:
        arguments = (self._encoder, str(self._threads))
        found = {name: in_own_process("bench_text", name, *arguments) for name in self._methods}
        return memory_rows("text", found, BASELINE)

    def peaks_of_steps(self, method: str) -> dict[str, float]:
        """What they add to imports, data and model, as `peaks_of`; needs a process of its own."""
        return peaks_of(epoch_of(self._trainer(method)))

    def _words(self) -> list[str]:
        path = str(ROOT / self._paths["train"].partition("#")[0])
        options = TextOptions(text_keys=("title", "text") if self.data == "reuters" else None)
        texts = islice(read_labelled_texts(path, options=options), 2000)
        return [word for item in texts for word in item.words]

    def _read(self) -> list[Instance]:
        settings = self._experiment(BASELINE)["dataset_reader"]
        for key in ("labels", "taxonomy"):
            if key in settings:
                settings[key] = str(ROOT / settings[key])
        reader = DatasetReader.from_params(Params(settings))
        instances = longest(reader.read(str(ROOT / self._paths["train"])), self._num_batches * BATCH_SIZE, MAX_LENGTH)
        for instance in instances:
            reader.apply_token_indexers(instance)
        # Texts of similar length are together, as in training.
        return sorted(instances, key=lambda instance: len(instance["tokens"]))

    def _trainer(self, method: str) -> Trainer:
        """The config's trainer, with learning rates of 0, so that updates change nothing."""
        config = self._experiment(method)
        measured = METHODS[method]
        if measured.layers is not None:
            config["model"]["loss_net"]["encoder"]["layers"] = measured.layers
        model = build_model(config["model"], self._vocab)
        loader = SimpleDataLoader(self._instances, BATCH_SIZE // measured.parts, vocab=self._vocab)
        changes = {
            "num_gradient_accumulation_steps": measured.parts,
            "use_amp": measured.mixed,
            "reuse_features": measured.reuse,
        }
        return build_trainer(config["trainer"], model, loader, **changes)

    def _experiment(self, method: str) -> dict[str, Any]:
        source = f"""
            local text = lib;
            text.experiment(
              data=text.data.{self.data},
              encoder=text.encoder.transformer({text(self._encoder)}, max_length={MAX_LENGTH}),
              method={METHODS[method].method},
              training=text.training.default {{ task_net_lr: 0, loss_net_lr: 0, head_lr: null, scheduler: null }},
            )"""
        return library_value("text.libsonnet", source)


def longest(instances: Iterable[Instance], count: int, length: int) -> list[Instance]:
    """The first `count` that have `length` pieces; where these are too few, the first of the others are added."""
    full: list[Instance] = []
    others: list[Instance] = []
    for instance in instances:
        (full if len(instance["tokens"]) >= length else others).append(instance)
        if len(full) == count:
            return full
    return full + others[: count - len(full)]


def paths(dataset: str) -> dict[str, str]:
    return library_value("text.libsonnet", f"{{ train: lib.data.{dataset}.train }}")


def is_present(dataset: str) -> bool:
    return (ROOT / paths(dataset)["train"].partition("#")[0]).exists()


if __name__ == "__main__":
    _method, _encoder, _threads = sys.argv[1:]
    _benchmark = TextBenchmark([_method], encoder=_encoder, repeats=1, num_batches=STEPS, threads=int(_threads))
    print(json.dumps(_benchmark.peaks_of_steps(_method)))
