import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from allennlp.common.checks import ConfigurationError
from allennlp.training import GradientDescentTrainer

from seal.common.random_states import random_state, set_random_state
from seal.files.whole_files import replacing
from seal.hypergradients.guards import differentiable_in_any_mode
from seal.metrics import Monitors
from seal.models import SealModel

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
