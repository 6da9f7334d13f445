"""The checkpoints of a run: their contents for an exact continuation, and the errors of a run that diverges."""

import logging
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader
from allennlp.training import Checkpointer, Trainer
from allennlp.training.moving_average import MovingAverage

from seal.allennlp.loading_order import go_to_place, place_in_pass
from seal.common.random_states import RandomStream, random_state, set_random_state, set_torch_state, torch_state
from seal.tasks.base import RunningMeans
from seal.tasks.base.running_means import gathered
from seal.tasks.base.scored_rows import NonFiniteOutput

logger = logging.getLogger(__name__)


@Checkpointer.register("resumable")
class ResumableCheckpointer(Checkpointer):
    """
    AllenNLP's checkpointer with two changes: it skips a checkpoint that is incomplete or damaged and recovers from the
    one before it, and all workers agree on the number of batches since the last checkpoint. It is the default type in
    all configs. The parameters are AllenNLP's.
    """

    def maybe_save_checkpoint(
        self, trainer: Trainer, num_epochs_completed: int, num_batches_in_epoch_completed: int
    ) -> bool:
        saved = super().maybe_save_checkpoint(trainer, num_epochs_completed, num_batches_in_epoch_completed)
        if saved:
            # AllenNLP counts only in the worker that writes the file, but all workers take part in a checkpoint.
            self._last_save_num_epochs_completed = num_epochs_completed
            self._last_save_num_batches_in_epoch_completed = num_batches_in_epoch_completed
        return saved

    def find_latest_checkpoint(self) -> Optional[tuple[str, str]]:
        for checkpoint in sorted(self._find_all_checkpoints(), reverse=True):
            paths = self._model_state_path(*checkpoint), self._training_state_path(*checkpoint)
            if all(map(_is_whole, paths)):
                return paths
            logger.warning("passing over the incomplete or damaged checkpoint %s", paths[0])
            if self._is_primary:
                # AllenNLP does not overwrite files, so the damaged one would stay.
                self._remove_checkpoint(*checkpoint)
        return None


def _is_whole(path: str) -> bool:
    """
    Whether a file of torch is complete and undamaged: a zip archive whose checksums, which PyTorch ignores, are right.
    """
    try:
        torch.load(path, map_location="cpu", mmap=True)
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    # A damaged file may raise any exception.
    except Exception:
        return False


# The type of `trainer.checkpointer: {save_every_num_batches: 100}`, too.
Checkpointer.default_implementation = "resumable"


@dataclass
class WorkerStates:
    """
    The state that AllenNLP's checkpoint lacks: each worker's random states, its position in the data, and its running
    means of the epoch. With it a recovered run computes nothing of a finished epoch again.
    """

    #: The loader of single batches.
    loader: DataLoader
    #: The random streams besides the global ones, by name.
    streams: dict[str, RandomStream]
    #: The running means of an epoch, by name.
    means: dict[str, RunningMeans]
    #: This worker's number, and how many there are.
    worker: int
    workers: int

    def __post_init__(self) -> None:
        # The random states before the epoch's first batch, which determine the order of its data.
        self._epoch_start: Optional[dict[str, Any]] = None
        # The position in a pass over the data that spans several epochs.
        self._epoch_place: Optional[dict[str, Any]] = None
        # This worker's part of the checkpoint, until the data loader has reached the checkpoint's position.
        self._recovered: Optional[dict[str, Any]] = None

    def begin_epoch(self) -> None:
        """Call it before the first batch of an epoch is loaded. A recovered run restores the random states of then."""
        if self._recovered is not None:
            place = self._recovered.get("epoch_place")
            if place is not None:
                go_to_place(self.loader, place)
            set_random_state(self._recovered["epoch_start"])
        self._epoch_start, self._epoch_place = random_state(), place_in_pass(self.loader)

    def catch_up(self) -> None:
        """Restores the random states. Call it once the data loader has reached the checkpoint's position."""
        if self._recovered is not None:
            if self._recovered["torch"] is not None:
                set_torch_state(self._recovered["torch"])
            for name, stream in self.streams.items():
                stream.state = self._recovered["streams"][name]
            self._recovered = None

    def gathered(self, mid_epoch: bool) -> list[dict[str, Any]]:
        """The states of all workers, for the checkpoint. All workers must call it."""
        return gathered(
            {
                "epoch_start": self._epoch_start if mid_epoch else random_state(),
                "epoch_place": self._epoch_place if mid_epoch else place_in_pass(self.loader),
                # Between epochs this is not needed: the data loader draws only after the epoch's start.
                "torch": torch_state() if mid_epoch else None,
                "streams": {name: stream.state for name, stream in self.streams.items()},
                **{name: means.state_dict() for name, means in self.means.items()},
            }
        )

    def restore(self, workers: list[dict[str, Any]]) -> None:
        """Loads this worker's part of the result of `gathered`; `catch_up` restores the random states later."""
        if len(workers) != self.workers:
            logger.warning("The run had %d workers; with another number it is another run.", len(workers))
        self._recovered = workers[self.worker % len(workers)]
        for name, means in self.means.items():
            means.load_state_dict(self._recovered[name])


class Averages:
    """
    A wrapper of AllenNLP's moving average of a run's weights, if there is one; it uses its private attributes.

    # Parameters

    average : `MovingAverage`, optional
    """

    def __init__(self, average: Optional[MovingAverage]) -> None:
        self._average = average
        self._parameters = [] if average is None else list(average._parameters)

    def __bool__(self) -> bool:
        return self._average is not None

    def restart(self, parameters: Optional[Iterable[torch.nn.Parameter]] = None) -> None:
        """Restarts the averages of these parameters, or of all, from their present values."""
        moved = None if parameters is None else {id(parameter) for parameter in parameters}
        for name, parameter in self._parameters:
            if self._average is not None and (moved is None or id(parameter) in moved):
                # In a recovered run these are other tensors than at the start.
                self._average._shadows[name].copy_(parameter.data)

    def restored(self) -> None:
        """Call it after AllenNLP has restored a checkpoint: it averages copies of the parameters from then on."""
        if self._average is not None:
            self._average._parameters = self._parameters
            for tensors in (self._average._shadows, self._average._backups):
                tensors.update((name, tensors[name].to(parameter.device)) for name, parameter in self._parameters)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """A context in which the model has the averaged weights, which are validated and saved, if there are any."""
        if self._average is not None:
            self._average.assign_average_value()
        try:
            yield
        finally:
            if self._average is not None:
                self._average.restore()


class NonFiniteLoss(ConfigurationError):
    """
    A player's loss, gradient, weights or output is not finite. It is a `ConfigurationError`, because the settings must
    change.
    """


class LastGoodCheckpoint:
    """
    Finds the last good checkpoint of a run: its weights have given a finite loss afterwards. A place in the run is
    `(completed epochs, completed batches of the epoch in progress)`, as in the names of checkpoints.

    # Parameters

    checkpointer : `Checkpointer`, optional
        `None` in a run that writes no checkpoints.
    """

    def __init__(self, checkpointer: Optional[Checkpointer]) -> None:
        self._checkpointer = checkpointer
        #: The first place whose weights have not given a finite loss yet. Checkpoints of earlier places are good.
        self.untried: tuple[int, int] = (0, 0)

    def __str__(self) -> str:
        checkpointer = self._checkpointer
        if checkpointer is None or checkpointer.find_latest_checkpoint() is None:
            return "no checkpoint has been saved"
        good = [place for place in checkpointer._find_all_checkpoints() if place < self.untried]
        if not good:
            return "no checkpoint is known to be good"
        return f"the last good checkpoint is {checkpointer._model_state_path(*max(good))}"


def player_diverged(what: str, players: Sequence[str], place: str, checkpoint: LastGoodCheckpoint) -> NonFiniteLoss:
    """
    The error for a player's value that is not finite.

    # Parameters

    what : `str`
        The value, such as "task_net's loss is nan".
    players : `Sequence[str]`
        The players whose settings should change, the likelier ones first.
    place : `str`
        The place in the run, such as "at batch 3 of epoch 1".
    checkpoint : `LastGoodCheckpoint`
    """
    rates, norms = ([f"trainer.{player}.{key}" for player in players] for key in ("optimizer.lr", "grad_norm"))
    return NonFiniteLoss(
        f"the {what} {place}, so training stops; {checkpoint}. "
        f"Lower {' and '.join(rates)} or set {' and '.join(norms)}, and train into another folder."
    )


def validation_diverged(
    error: NonFiniteOutput, predicting: list[str], players: list[str], place: str, checkpoint: LastGoodCheckpoint
) -> NonFiniteLoss:
    """
    The error for outputs on validation data that are not finite.

    # Parameters

    error : `NonFiniteOutput`
    predicting, players : `list[str]`
        The trained players whose parameters predictions depend on, and all trained players.
    place : `str`
        The place in the run, such as "after batch 4 of epoch 1".
    checkpoint : `LastGoodCheckpoint`
    """
    whose = f"{predicting[0]}'s output" if len(predicting) == 1 else "output"
    where = f" ({error.source})" if error.source else ""
    rates = " and ".join(f"trainer.{player}.optimizer.lr" for player in predicting or players)
    return NonFiniteLoss(
        f"the {whose} on validation data{where} is not finite {place}, so training stops; {checkpoint}. Lower {rates}, "
        "or scale the validation data if their values are far larger than those of the training data, and train into "
        "another folder."
    )
