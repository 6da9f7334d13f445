from collections.abc import Sequence
from typing import Optional

from allennlp.common.checks import ConfigurationError
from allennlp.training import Checkpointer

from seal.models.batch_checks import NonFiniteOutput


class NonFiniteLoss(ConfigurationError):
    """
    A player's loss, gradient, weights or output is not finite. Since it is the settings that must change, the command
    ends as for any mistake in them, with one sentence.
    """


class LastGoodCheckpoint:
    """
    Follows which checkpoints of a run are good: those whose weights have given a finite loss since. A place in the run
    is its number of completed epochs and of completed batches in the epoch in progress, as checkpoints are named.

    # Parameters

    checkpointer : `Checkpointer`, optional
        `None` in a run that writes no checkpoints.
    """

    def __init__(self, checkpointer: Optional[Checkpointer]) -> None:
        self._checkpointer = checkpointer
        # The first place whose weights have not yet given a finite loss: checkpoints of earlier places are good.
        self._untried: tuple[int, int] = (0, 0)

    def loss_was_finite(self, epochs: int, batches: int) -> None:
        """The weights of this place have given a finite loss."""
        self._untried = (epochs, batches + 1)

    def recovered(self, epochs: int, batches: int) -> None:
        """The run goes on from a checkpoint of this place, whose weights this process has not tried."""
        self._untried = (epochs, batches)

    def __str__(self) -> str:
        checkpointer = self._checkpointer
        if checkpointer is None or checkpointer.find_latest_checkpoint() is None:
            return "no checkpoint has been saved"
        good = [place for place in checkpointer._find_all_checkpoints() if place < self._untried]
        if not good:
            return "no checkpoint is known to be good"
        return f"the last good checkpoint is {checkpointer._model_state_path(*max(good))}"


def player_diverged(what: str, players: Sequence[str], place: str, checkpoint: LastGoodCheckpoint) -> NonFiniteLoss:
    """
    The error for a player's value that is not finite: `what` is not, and how ("task_net's loss is nan"), at which
    `place` of the run ("at batch 3 of epoch 1"). Of `players`, whose settings to change, the likelier ones come first.
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
    The error for outputs on validation data that are not finite, at a `place` such as "after batch 4 of epoch 1";
    `predicting` are those of the `players`, all that are trained, whose parameters predictions depend on.
    """
    whose = f"{predicting[0]}'s output" if len(predicting) == 1 else "output"
    where = f" ({error.source})" if error.source else ""
    rates = " and ".join(f"trainer.{player}.optimizer.lr" for player in predicting or players)
    return NonFiniteLoss(
        f"the {whose} on validation data{where} is not finite {place}, so training stops; {checkpoint}. Lower {rates}, "
        "or scale the validation data if their values are far larger than those of the training data, and train into "
        "another folder."
    )
