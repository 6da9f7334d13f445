"""Self-training: the trained model, as a teacher, labels inputs without gold, from which a student learns."""

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

# The prefix of the metrics of the best epoch.
_BEST = "best_validation_"


@dataclass
class SelfTraining(FromParams):
    """
    The settings of self-training, which also learns from inputs without gold. After training, the run's model becomes
    the *teacher*. For each input it has a distribution `q(y | x)` over whole outputs: the structure's, or the
    task-net's if there is no structure or the model does not follow it. A *student* with the teacher's initial weights
    is trained with the run's settings on gold and on the teacher's outputs. It replaces the teacher if it is better on
    validation data.

    Each time an input occurs in training, its output is a new sample from `q`. The expectation of the student's
    cross-entropy is then `-sum_y q(y | x) log P(y | x)`. All training methods treat the sample as gold.

    # Parameters

    unlabelled : `str`, optional (default = `None`)
        The path of the inputs, in a format of the task's data; it is read like the validation data. Gold in it is
        ignored, except the positions of predicates. Inputs that are also in the training data, with the same words or
        features, are left out. All data are in memory.
    plain_text : `bool`, optional (default = `False`)
        Whether `unlabelled` is plain text with one input per line. For tags and roles a line is a sentence with spaces
        between its words; for roles the teacher finds the predicates.
    hard : `bool`, optional (default = `False`)
        Whether the output of an input is always the teacher's prediction, instead of a sample.
    num_samples : `int`, optional (default = `10`)
        The number of outputs that are sampled for each input, before the student is trained. Each time the input occurs
        in training, one of them is chosen at random.
    labelled_share : `float`, optional (default = `0.5`)
        The share of instances with gold in an epoch, in (0, 1). If there are fewer, they are repeated; each occurs at
        least once.
    distil : `bool`, optional (default = `False`)
        Whether the student predicts by its net alone, without a structure, which is faster. The teacher then also
        labels the inputs of the training data, and the student replaces it whatever the scores. `unlabelled` is
        optional.
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
        Reads the inputs and makes the student's training, before the run's model is trained, so that mistakes in the
        file of inputs are reported first.

        # Raises

        `ConfigurationError` if the run cannot train a student, the training data have all of the inputs, or the file of
        inputs is malformed.
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
    #: The inputs without gold: `UnlabelledInstances` or `UnlabelledRows`.
    inputs: Any
    make_trainer: MakeTrainer
    #: The training data.
    data_loader: DataLoader
    #: The cross-fitter, if there is a structure.
    held_out: Optional[CrossFitter]

    def __call__(self, trainer: Any, metrics: dict[str, Any], student: SealModel) -> dict[str, Any]:
        """
        Trains the student, and writes both scores to `self_training.json`. It continues an interrupted run, and
        restores the random state at its end.

        # Parameters

        trainer : `AlternatingTrainer`
            The teacher's trainer, after its training. Its model becomes the better of the two.
        metrics : `dict[str, Any]`
            The teacher's metrics, by their names in `metrics.json`.
        student : `SealModel`
            The student with its initial weights.

        # Returns

        `dict[str, Any]`
            The metrics of the better one, by their names in `metrics.json`.
        """
        before, seed = random_state(), torch.initial_seed()
        set_seed(seed)
        folder = os.path.join(trainer.folder, "student")
        os.makedirs(folder, exist_ok=True)
        self.inputs = self.inputs.expanded(os.path.join(folder, "expansions.json"), trainer.model)
        best_metrics: dict[str, Any] = {}
        if len(self.inputs):
            path = os.path.join(folder, "pseudo_labels.pt")
            labelled = self._pseudo_labels(path, trainer.model, lambda: _score(trainer, metrics))
            # The seed must not depend on whether this run or an interrupted one has sampled the outputs.
            set_seed(seed)
            # A run that was interrupted after the student's training may have left its weights in the model.
            trainer.model.load_state_dict(labelled["teacher"])
            loader = self._student_data(trainer.model, labelled["outputs"])
            student.structure = None
            student_metrics = self.make_trainer(student, folder, loader).train()
            best_metrics = self._better(trainer, metrics, labelled, student, student_metrics)
        else:
            logger.warning("No student is trained: the teacher finds no predicate in %s.", self.settings.unlabelled)
        set_random_state(before)
        return {name: value for name, value in best_metrics.items() if name.startswith(_BEST)}

    def _student_data(self, model: SealModel, outputs: list[torch.Tensor]) -> DataLoader:
        """The data with gold, repeated to reach `labelled_share`, and the inputs with the teacher's outputs."""
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
        student_metrics: dict[str, Any],
    ) -> dict[str, Any]:
        """
        Loads the better of the two into the trainer's model, saves it as the best weights, and returns its metrics.
        `metrics` and `labelled`, the result of `_pseudo_labels`, belong to the teacher.
        """
        model, held_out, distil = trainer.model, self.held_out, self.settings.distil
        model.load_state_dict(student.state_dict(), strict=False)
        if held_out is not None:
            if distil:
                model.structure.is_shut = True
            student_metrics.update(learn_structure(trainer, held_out))
        student_score = _score(trainer, student_metrics)
        report = {"inputs": len(self.inputs), "teacher": labelled["score"], "student": student_score}
        report["kept"] = "student" if distil or report["student"] > report["teacher"] else "teacher"
        message = "Validation: the teacher has %(teacher)g, the student %(student)g; the %(kept)s is kept"
        logger.info(message, report, extra={"news": True})
        if report["kept"] == "teacher":
            model.load_state_dict(labelled["teacher"])
            best_metrics = metrics if held_out is None else {**metrics, **learn_structure(trainer, held_out)}
        else:
            best_metrics = student_metrics
            if held_out is None:  # Otherwise `learn_structure` has saved it.
                save_best(trainer)
        with open(os.path.join(trainer.folder, "self_training.json"), "w", encoding="utf-8") as file:
            json.dump(report, file, indent=2)
        return best_metrics

    @torch.no_grad()
    def _pseudo_labels(self, path: str, model: SealModel, score: Callable[[], float]) -> dict[str, Any]:
        """
        The teacher's `outputs` for each input, `(samples, *output)`, its `score` and its weights `teacher`; they are
        saved in the file `path`.
        """
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
    The value of `trainer.validation_metric`; a high value is good. For label sets with a structure, the score of the
    predicted labels, `f1`, replaces the score with a tuned threshold, `f1_tuned`.
    """
    best = {name[len(_BEST) :]: value for name, value in metrics.items() if name.startswith(_BEST)}
    for name in [*best]:
        base = name.removesuffix("_tuned")
        if f"{base}_decided" in best:
            best[name] = best[base]
    return trainer.metric_tracker.combined_score(best)
