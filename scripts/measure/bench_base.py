"""The base of the benchmark's suites: the loop over cases, batches in memory, models, predictions and trainers."""

import copy
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional

import torch
from allennlp.common import Params
from allennlp.data import DataLoader, TensorDict, Vocabulary
from allennlp.models import Model
from allennlp.nn.util import move_to_device
from allennlp.training import Trainer
from tqdm import tqdm

import seal.plugin  # noqa: F401  configs name what it registers
from scripts.measure.bench_encoder import save_random_bert, title_of
from scripts.measure.bench_rows import Row


class Benchmark:
    """
    A suite. Each of its cases is a method, by name, that measures something and returns the rows.

    `methods`: the measured methods; the `baseline` is always measured, as ratios refer to it. `repeats`: rounds of each
    timing. `num_batches`: batches of a round. `threads`: of torch.
    """

    #: The cases with their descriptions, and the names of the methods.
    cases: dict[str, Any]
    methods: Iterable[str]
    #: Cases that run only where they are named, as they need libraries or data that need not be there.
    on_demand: tuple[str, ...] = ()
    baseline = "cross_entropy"
    #: For the title: the data, and their sizes or the encoder.
    data = "random"
    description: str

    def __init__(self, methods: Sequence[str] = (), repeats: int = 5, num_batches: int = 8, threads: int = 1) -> None:
        torch.set_num_threads(threads)
        self._methods = list(dict.fromkeys([self.baseline, *methods]))
        self._repeats, self._num_batches, self._threads = repeats, num_batches, threads
        self._folder = tempfile.TemporaryDirectory(prefix="seal-benchmark-")

    def run(self, cases: list[str]) -> list[Row]:
        return [row for case in tqdm(cases, desc="cases") for row in getattr(self, case)()]

    def draw(self, table: Any, path: Path, title: str) -> None:
        """The figure of the table, which has one clock."""
        from scripts.measure.bench_plots import draw_benchmark

        draw_benchmark(table, path, title)


class EncoderBenchmark(Benchmark):
    """
    A suite with a transformer.

    `encoder`: a local folder or a name on the hub; `None`: a BERT with random weights, of `layers` and `width`.
    """

    def __init__(
        self, methods: Sequence[str], encoder: Optional[str] = None, layers: int = 6, width: int = 384, **rounds: int
    ) -> None:
        super().__init__(methods, **rounds)
        self._encoder, self._layers, self._width = encoder, layers, width
        self.description = title_of(encoder, layers, width)

    def encoder_of(self, words: Iterable[str]) -> str:
        """The encoder's name; one with random weights has a vocabulary of these words."""
        if self._encoder is None:
            folder = Path(self._folder.name) / "encoder"
            self._encoder = save_random_bert(folder, words, self._layers, self._width)
        return self._encoder


class Batches(DataLoader):
    """A loader of batches that are in memory already, so that the time of a step includes no loading."""

    def __init__(self, batches: list[TensorDict]) -> None:
        self._batches = batches

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[TensorDict]:
        return iter(self._batches)

    def iter_instances(self) -> Iterator[Any]:
        return iter(())

    def index_with(self, vocab: Vocabulary) -> None:
        pass

    def set_target_device(self, device: torch.device) -> None:
        self._batches = [move_to_device(batch, device) for batch in self._batches]


def build_model(settings: dict[str, Any], vocab: Vocabulary) -> Model:
    """The model of a config's `model`, with random weights that are the same each time."""
    torch.manual_seed(0)
    return Model.from_params(Params(copy.deepcopy(settings)), vocab=vocab)


def predicts(model: Model, batches: Batches) -> Callable[[], None]:
    """Prediction of all batches, on the GPU if there is one, as a case to be timed."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.eval().to(device)
    batches.set_target_device(device)

    @torch.no_grad()
    def predict() -> None:
        for batch in batches:
            model.make_output_human_readable(model(**batch))

    return predict


def build_trainer(settings: dict[str, Any], model: Model, loader: DataLoader, **changes: Any) -> Trainer:
    """
    The trainer of a config for one epoch, on its device, without callbacks, checkpoints and files.

    `settings`: the config's `trainer`. `changes`: values that replace values of `settings`.
    """
    only_steps = {
        "num_epochs": 1,
        "callbacks": [],
        "checkpointer": None,
        "enable_default_callbacks": False,
        "run_confidence_checks": False,
    }
    params = Params({**settings, **only_steps, **changes})
    trainer = Trainer.from_params(params, model=model, data_loader=loader, serialization_dir=None)
    model.to(trainer.cuda_device)
    loader.set_target_device(trainer.cuda_device)
    return trainer
