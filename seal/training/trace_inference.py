import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

import torch
from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError
from allennlp.training import GradientDescentTrainer, TrainerCallback

from seal.common.random_states import random_state, set_random_state
from seal.files.whole_files import replacing
from seal.hypergradients.guards import differentiable_in_any_mode
from seal.metrics import Monitors
from seal.models import SealModel
from seal.samplers import GradientBasedInference, Sampler
from seal.training.resumable_trainer import ResumableTrainer

#: The columns of every trace: the epoch, from 0, and the number of batches since the beginning.
COUNTS = ("epoch", "batches")


class TraceFile:
    """
    The rows that a trainer callback has measured, in a CSV file of the run's folder that is whole at every moment. A
    recovered run drops the rows from after the checkpoint that it continues from, and measures them again.

    # Parameters

    path : `Path`
    trainer : `GradientDescentTrainer`
        At the start of training.
    key : `str`
        The callback's, for the message.

    # Raises

    `ConfigurationError` if the run is distributed.
    """

    def __init__(self, path: Path, trainer: GradientDescentTrainer, key: str) -> None:
        if trainer._distributed:
            raise ConfigurationError(f"{key} measures in one process; leave it out of a distributed run.")
        self._path = path
        self._rows: list[dict[str, float]] = []
        if path.exists():
            with path.open(encoding="utf-8", newline="") as file:
                rows = [
                    {name: int(value) if name in COUNTS else float(value) for name, value in row.items()}
                    for row in csv.DictReader(file)
                ]
            # The trainer counts the batches of the epoch in progress again as it skips them.
            recovered = trainer._total_batches_completed + trainer._start_after_batches_in_epoch_completed
            self._rows = [row for row in rows if row["batches"] <= recovered]

    def add(self, trainer: GradientDescentTrainer, epoch: int, measure: Callable[[], dict[str, float]]) -> None:
        """Adds a row of what `measure` finds now, unless there is one of as many batches, or of more."""
        batches = trainer._total_batches_completed
        if self._rows and self._rows[-1]["batches"] >= batches:
            return
        self._rows.append({"epoch": epoch, "batches": batches, **measure()})
        columns = dict.fromkeys(name for row in self._rows for name in row)
        with replacing(str(self._path)) as draft, open(draft, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, restval="nan")
            writer.writeheader()
            writer.writerows(self._rows)


@contextmanager
def measuring(model: SealModel) -> Iterator[None]:
    """Random states and monitors are afterwards as they were before."""
    before, monitors = random_state(), model.monitors
    model.monitors = Monitors()
    try:
        with differentiable_in_any_mode():
            yield
    finally:
        model.monitors = monitors
        set_random_state(before)


FILE = "inference.csv"
KEY = "trainer.callbacks: 'trace_inference'"


@TrainerCallback.register("trace_inference")
class TraceInference(TrainerCallback):
    """
    Scores, after each validation, what inference by the loss-net's energy would predict for the validation data: how
    much the loss-net knows that the task-net does not, and where inference must start to find it (SEAL-ICLR, Appendix
    C, Figures 3 to 5). The run's folder gets a file `inference.csv` with a row for each epoch and a column for each
    sampler and metric, such as `from_random_f1`; `scripts/trajectories.py` draws them beside the run's own
    `validation_f1`. Weights, thresholds and random numbers of the training are not changed. A recovered run continues
    with the rows that it had.

    # Parameters

    samplers : `dict[str, Sampler]`, optional
        By the name that begins their columns: samplers as `model.inference` takes them. By default two
        `gradient_based_inference` of 20 steps of `adam` with a step size of 0.1: `from_draw` starts at a draw from the
        task-net, `from_random` at random points.

    # Raises

    `ConfigurationError` if there is no validation data, the model lacks a net or takes no `inference`, a sampler
    cannot predict, or the run is distributed.
    """

    def __init__(self, serialization_dir: str, samplers: Optional[dict[str, Sampler]] = None) -> None:
        super().__init__(serialization_dir)
        if samplers is None:
            samplers = {
                f"from_{start}": GradientBasedInference(num_steps=20, step_size=0.1, optimizer="adam", start=start)
                for start in ("draw", "random")
            }
        if not samplers:
            raise ConfigurationError(f"{KEY}: samplers names none.")
        self._samplers = samplers
        self._file: Optional[TraceFile] = None

    def on_start(self, trainer: GradientDescentTrainer, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary)
        model = trainer.model
        if not isinstance(model, SealModel) or model.loss_net is None:
            raise ConfigurationError(f"{KEY} is for models with a loss_net.")
        for name, sampler in self._samplers.items():
            try:
                model.check_inference(sampler)
            except ConfigurationError as error:
                raise ConfigurationError(f"{KEY}, sampler '{name}': {error.message}") from None
        if trainer._validation_data_loader is None:
            raise ConfigurationError(f"{KEY} scores the validation data; give validation_data_path, or leave it out.")
        self._file = TraceFile(Path(self.serialization_dir, FILE), trainer, KEY)

    def on_epoch(
        self,
        trainer: ResumableTrainer,
        metrics: dict[str, Any],
        epoch: int,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        if trainer._should_validate_this_epoch:
            self._file.add(trainer, epoch, lambda: self._measure(trainer))

    def _measure(self, trainer: ResumableTrainer) -> dict[str, float]:
        with trainer.averaged_weights():
            return {
                f"{name}_{metric}": value
                for name, sampler in self._samplers.items()
                for metric, value in _scores(trainer, name, sampler).items()
            }


@torch.no_grad()
def _scores(trainer: ResumableTrainer, name: str, sampler: Sampler) -> dict[str, float]:
    """The metrics of the validation data as the sampler predicts them. The validation has left the model in `eval`."""
    model = trainer.model
    with measuring(model), model.predicting_by(sampler):
        for batch in Tqdm.tqdm(trainer._validation_data_loader, desc=f"inference {name}"):
            trainer.batch_outputs(batch, for_training=False)
        return model.get_metrics(reset=True)
