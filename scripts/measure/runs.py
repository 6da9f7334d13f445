"""One run: its folder, its config, and what its files say about its state."""

import os
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from scripts.measure import provenance
from scripts.measure.configs import evaluated
from scripts.measure.files import read_json
from scripts.measure.suite import Suite, UserError

#: The default number of folds of a config with a structure, as in `seal.training.cross_fitting`.
DEFAULT_FOLDS = 3


class RunFailed(Exception):
    """A run that ended in an error; the sentence says which."""


@dataclass
class Run:
    suite: Suite
    method: str
    seed: int
    #: Where everything of the run lies.
    folder: Path
    #: Its jsonnet.
    config: str
    #: The largest number of epochs; for the progress bar.
    epochs: int
    #: The splits that are to be scored, the validation split among them.
    splits: tuple[str, ...]
    #: The settings of the command line besides method and seed: names and jsonnet values.
    given: dict[str, str] = field(default_factory=dict)
    #: The names among these that are for its method alone.
    own: tuple[str, ...] = ()
    state: str = "waiting"

    def __post_init__(self) -> None:
        # Computed here, since the working directory of the process is another one while a run is scored.
        self.shown_log = os.path.relpath(self.log)

    @property
    def name(self) -> str:
        return run_name(self.suite.name, self.method, self.seed)

    @property
    def model(self) -> Path:
        return self.folder / "model"

    @property
    def log(self) -> Path:
        return self.folder / "train.log"

    @property
    def finished(self) -> bool:
        return not self.missing_splits()

    @cached_property
    def nets(self) -> int:
        """How many nets its training trains: its own and, with a structure, one for each fold; and a student."""
        config: dict[str, Any] = {}
        with suppress(RuntimeError):  # The training reports the mistake.
            config = evaluated(self.config)
        model, trainer = config.get("model") or {}, config.get("trainer") or {}
        folds = 0
        if model.get("structure") is not None:
            folds = DEFAULT_FOLDS if trainer.get("folds") is None else trainer["folds"]
        return 1 + folds + (trainer.get("self_training") is not None)

    @property
    def all_epochs(self) -> int:
        """The epochs of all its nets, where none stops early."""
        return self.nets * self.epochs

    def done_epochs(self) -> int:
        """How many of them have ended."""
        return sum(len(list(self.model.glob(f"{part}metrics_epoch_*.json"))) for part in ("", "folds/*/", "student/"))

    def metrics(self) -> dict[str, dict[str, float]]:
        """The metrics that were measured so far, by split; empty for a run that is still to be trained."""
        path = self.folder / "result.json"
        return read_json(path)["metrics"] if path.is_file() else {}

    def missing_splits(self) -> list[str]:
        """The splits that have no scores yet: another may be asked for when training is long over."""
        found = self.metrics()
        return [split for split in self.splits if split not in found]

    @property
    def trained(self) -> bool:
        """Whether its training has ended, so that only scores may be missing."""
        return (self.folder / "trained.json").is_file()

    @property
    def resumes(self) -> bool:
        """Whether its training was stopped and can be resumed."""
        recovers = self.suite.methods[self.method].recovers
        return not self.trained and recovers and any(self.model.glob("training_state_*.th"))

    def tidy(self) -> None:
        """
        Removes what a scored run no longer needs: the note of an error, and the checkpoints, which are most of its
        size.
        """
        states = [*self.model.glob("model_state_*.th"), *self.model.glob("training_state_*.th")]
        for path in [self.folder / "failed.json", *states]:
            path.unlink(missing_ok=True)

    def check_settings(self) -> None:
        """
        Refuses to mix two experiments in one folder or in one training. A finished training is kept even if its config
        now evaluates to something else: `provenance.changes` reports this. Raises `UserError` if the folder has a run
        with other settings, or a training to be resumed that began with others.
        """
        config = self.folder / "config.jsonnet"
        if config.is_file() and config.read_text(encoding="utf-8") != self.config:
            raise UserError(f"{config} is of a run with other settings: take another --out, or remove its folder.")
        difference = provenance.difference(self.folder) if self.resumes else ""
        if difference:
            raise UserError(
                f"{self.folder} was begun {difference}, so that it cannot go on: remove the folder to train "
                "it anew, or return to the commit that it was begun at."
            )


def run_name(suite: str, method: str, seed: int) -> str:
    return f"{suite}-{method}-{seed}"
