import copy
import json
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional

import torch
from allennlp.common import FromParams
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader

from seal.common.random_states import random_state, set_random_state, set_seed
from seal.common.setting_checks import check_range
from seal.files.atomic_files import atomic_write
from seal.tasks.base import SealModel
from seal.training.cross_fitting import CrossFitter, MakeTrainer, learn_structure, save_best
from seal.training.loaders import RowLoader
from seal.training.pseudo_labels import UnlabelledInstances, UnlabelledRows

logger = logging.getLogger(__name__)

# How the names of metrics of the best epoch begin.
_BEST = "best_validation_"


@dataclass
class SelfTraining(FromParams):
    """
    Learns from inputs without gold, too. When the run's model is trained, it becomes the *teacher*. For each input it
    has a distribution `q(y | x)` over whole outputs: the structure's, if the model has one that it follows, and the
    task-net's own otherwise. A *student* starts as the teacher did, and is trained by the run's settings on gold and on
    the teacher's outputs. It takes the teacher's place if it is better on validation data.

    Each time the student comes to an input, its output there is a new draw from `q`. The expectation of its
    cross-entropy is then `-sum_y q(y | x) log P(y | x)`, and every method trains on it as on gold.

    # Parameters

    unlabelled : `str`, optional (default = `None`)
        The path of the inputs, in a format of the task's data; it is read like the validation data. Gold in it is not
        used, except that a frame needs the place of its predicate. An input that the training data have too is left
        out: one with the same words or, of feature vectors, the same numbers. Data are kept in memory.
    plain_text : `bool`, optional (default = `False`)
        Whether `unlabelled` is plain text, an input a line. For tags and roles a line is a sentence with spaces between
        its words; for roles the teacher finds the predicates.
    hard : `bool`, optional (default = `False`)
        Whether the output of an input is always the one that the teacher predicts.
    num_samples : `int`, optional (default = `10`)
        How many outputs are drawn for each input, once and for all. Each time the student comes to the input, it gets
        one of them at random.
    labelled_share : `float`, optional (default = `0.5`)
        The share of an epoch that instances with gold have, in (0, 1). Where they are fewer, they are repeated; each
        comes at least once.
    distil : `bool`, optional (default = `False`)
        Whether the student is to predict by its net alone, without a structure, which is faster. The teacher then
        labels the inputs of the training data too, and the student takes its place whatever the scores. No `unlabelled`
        inputs are needed.
    """

    unlabelled: Optional[str] = None
    plain_text: bool = False
    hard: bool = False
    num_samples: int = 10
    labelled_share: float = 0.5
    distil: bool = False

    def __post_init__(self) -> None:
        if self.unlabelled is None and not self.distil:
            raise ConfigurationError("trainer.self_training.unlabelled: name the inputs, or set distil to true.")
        check_range("trainer.self_training.num_samples", self.num_samples, least=1)
        check_range("trainer.self_training.labelled_share", self.labelled_share, above=0, below=1)

    def of_run(
        self,
        model: SealModel,
        make_trainer: MakeTrainer,
        data_loader: DataLoader,
        validation_data_loader: Any,
        held_out: Optional[CrossFitter],
        distributed: bool,
    ) -> "StudentTraining":
        """
        With the inputs read: what is wrong in their file is refused before anything is trained.

        # Raises

        `ConfigurationError` if a student cannot be trained in such a run, the training data lack none of the inputs, or
        their file is malformed.
        """
        _check_run(model, data_loader, validation_data_loader, distributed)
        kind: Any = UnlabelledRows if isinstance(data_loader, RowLoader) else UnlabelledInstances
        reader = validation_data_loader.reader
        inputs = kind.read(model, reader, data_loader, self.unlabelled, self.plain_text, self.distil)
        if not len(inputs):
            raise ConfigurationError(
                f"trainer.self_training.unlabelled: {self.unlabelled} has no input that the training data lack; give "
                "another, or leave self_training out."
            )
        return StudentTraining(self, inputs, make_trainer, data_loader, held_out)


@dataclass
class StudentTraining:
    """The training of a run's student, in the folder `student` of the run."""

    settings: SelfTraining
    #: `UnlabelledInstances` or `UnlabelledRows`: what the student learns from beside gold.
    inputs: Any
    make_trainer: MakeTrainer
    #: The training data.
    data_loader: DataLoader
    #: What the structure is learned from, if there is one.
    held_out: Optional[CrossFitter]

    def __call__(self, trainer: Any, metrics: dict[str, Any], student: SealModel) -> dict[str, Any]:
        """
        Trains the student, and writes to `self_training.json` which of the two was better. A killed run goes on where
        it was, and the random state outside is as before.

        # Parameters

        trainer : `AlternatingTrainer`
            That of the teacher, whose training has ended. Its model becomes the better of the two.
        metrics : `dict[str, Any]`
            Those of the teacher, by their names in `metrics.json`.
        student : `SealModel`
            As it starts.

        # Returns

        `dict[str, Any]`
            The metrics of the better one, by their names in `metrics.json`.
        """
        before, seed = random_state(), torch.initial_seed()
        set_seed(seed)
        folder = os.path.join(trainer._serialization_dir, "student")
        os.makedirs(folder, exist_ok=True)
        self.inputs = self.inputs.expanded(os.path.join(folder, "expansions.json"), trainer.model)
        found: dict[str, Any] = {}
        if len(self.inputs):
            path = os.path.join(folder, "pseudo_labels.pt")
            labelled = self._pseudo_labels(path, trainer.model, lambda: _score(trainer, metrics))
            # So that it does not matter whether this run or one before it, which was killed, has drawn.
            set_seed(seed)
            # A run that was killed while it chose between the two may have left the student in the best weights.
            trainer.model.load_state_dict(labelled["teacher"])
            loader = self._student_data(trainer.model, labelled["outputs"])
            student.structure = None
            found = self.make_trainer(student, folder, loader).train()
            found = self._better(trainer, metrics, labelled, student, found)
        else:
            logger.warning("No student is trained: the teacher finds no predicate in %s.", self.settings.unlabelled)
        set_random_state(before)
        return {name: value for name, value in found.items() if name.startswith(_BEST)}

    def _student_data(self, model: SealModel, outputs: list[torch.Tensor]) -> DataLoader:
        """Gold, as often as `labelled_share` asks, and the inputs with the teacher's outputs."""
        share, gold = self.settings.labelled_share, self.inputs.num_gold(self.data_loader)
        wanted = share / (1 - share) * len(self.inputs)
        repeats = max(1, round(wanted / gold))
        logger.info(
            "A student is trained: %d instances with gold (%d times in an epoch) and %d that the teacher labels",
            gold,
            repeats,
            len(self.inputs),
            extra={"news": True},
        )
        return self.inputs.student_data(self.data_loader, model, repeats, outputs)

    def _better(
        self,
        trainer: Any,
        metrics: dict[str, Any],
        labelled: dict[str, Any],
        student: SealModel,
        found: dict[str, Any],
    ) -> dict[str, Any]:
        """
        Keeps the better of the two in the trainer's model and in the best weights, and returns its metrics: `metrics`
        and what `_pseudo_labels` has returned are the teacher's, `found` are the student's.
        """
        model, held_out, distil = trainer.model, self.held_out, self.settings.distil
        model.load_state_dict(student.state_dict(), strict=False)
        if held_out is not None:
            if distil:
                model.structure.is_shut = True
            found.update(learn_structure(trainer, held_out))
        report = {"inputs": len(self.inputs), "teacher": labelled["score"], "student": _score(trainer, found)}
        report["kept"] = "student" if distil or report["student"] > report["teacher"] else "teacher"
        message = "Validation: the teacher has %(teacher)g, the student %(student)g; the %(kept)s is kept"
        logger.info(message, report, extra={"news": True})
        if report["kept"] == "teacher":
            model.load_state_dict(labelled["teacher"])
            found = metrics if held_out is None else {**metrics, **learn_structure(trainer, held_out)}
        elif held_out is None:  # Otherwise it was saved with the structure.
            save_best(trainer)
        with open(os.path.join(trainer._serialization_dir, "self_training.json"), "w", encoding="utf-8") as file:
            json.dump(report, file, indent=2)
        return found

    @torch.no_grad()
    def _pseudo_labels(self, path: str, model: SealModel, score: Callable[[], float]) -> dict[str, Any]:
        """The teacher's `outputs` for each input, `(draws, *output)`, and its `score` and weights, kept in a file."""
        if os.path.exists(path):
            return torch.load(path, map_location=next(model.parameters()).device)
        outputs: list[Optional[torch.Tensor]] = [None] * len(self.inputs)
        draws = None if self.settings.hard else self.settings.num_samples
        for places, batch in self.inputs.batches(model):
            drawn = model.pseudo_labels(batch, draws)
            for place, output in zip(places, drawn.to("cpu", torch.int16)):
                outputs[place] = output.clone()
        labelled = {"outputs": outputs, "score": score(), "teacher": copy.deepcopy(model.state_dict())}
        with atomic_write(path) as draft:
            torch.save(labelled, draft)
        return labelled


def _check_run(
    model: SealModel, data_loader: DataLoader, validation_data_loader: Optional[DataLoader], distributed: bool
) -> None:
    if not model.can_pseudo_label:
        raise ConfigurationError(
            f"trainer.self_training: {type(model).__name__} gives no pseudo-labels; models of tags, roles and sets of "
            "labels do."
        )
    if model.task_net is None:
        raise ConfigurationError("trainer.self_training: it trains a task-net, and the model has none.")
    if validation_data_loader is None:
        raise ConfigurationError(
            "trainer.self_training: validation data decide whether the student is kept; give validation_data_path."
        )
    if distributed:
        raise ConfigurationError("trainer.self_training: not in distributed runs; leave 'distributed' out.")
    if isinstance(data_loader, RowLoader):
        return
    if hasattr(getattr(data_loader, "reader", None), "read_table"):
        raise ConfigurationError(
            "trainer.self_training: feature vectors are labelled as a table; set data_loader.type to 'tensors'."
        )
    UnlabelledInstances.num_gold(data_loader)  # Raises where instances are not in memory.


def _score(trainer: Any, metrics: dict[str, Any]) -> float:
    """
    By `trainer.validation_metric`: high is good. Of label sets with a structure, what is predicted counts, `f1`, where
    the metric is that of a threshold, `f1_tuned`.
    """
    found = {name[len(_BEST) :]: value for name, value in metrics.items() if name.startswith(_BEST)}
    for name in [*found]:
        base = name.removesuffix("_tuned")
        if f"{base}_decided" in found:
            found[name] = found[base]
    return trainer._metric_tracker.combined_score(found)
