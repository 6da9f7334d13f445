import copy
import json
import logging
import os
from collections.abc import Sequence
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch
from allennlp.common import FromParams
from allennlp.common.checks import ConfigurationError
from allennlp.common.tqdm import Tqdm
from allennlp.data import Batch, DataLoader, DatasetReader, Instance, TensorDict
from allennlp.nn.util import move_to_device
from allennlp.training import GradientDescentTrainer

from seal.common.length_groups import length_groups, size_of
from seal.common.random_states import random_state, set_random_state, set_seed
from seal.common.setting_checks import check_range
from seal.common.whole_files import replacing
from seal.models import SealModel
from seal.training.held_out import (
    HeldOut,
    MakeTrainer,
    input_of,
    instances_of,
    learn_structure,
    save_best,
    with_instances,
)

logger = logging.getLogger(__name__)

_BATCH = 64
# How the names of metrics of the best epoch begin.
_BEST = "best_validation_"


class SelfTraining(FromParams):
    """
    Learns from inputs without gold, too. When the run's model is trained, it becomes the *teacher*: for each input its
    distribution `q(y | x)` over whole outputs is that of the structure, if there is one that is followed, and the
    task-net's own otherwise. A *student*, which starts like the teacher did, is trained by the run's settings on gold
    and on the teacher's outputs, and takes the teacher's place if it is better on validation data.

    Each time the student comes to an input, its output there is a new draw from `q`. The expectation of its
    cross-entropy is then `-sum_y q(y | x) log P(y | x)`, and every method trains on it as on gold.

    # Parameters

    unlabelled : `str`
        The path of the inputs, in a format of the task's data; it is read like the validation data. Gold in it is not
        used; of frames, the places of the predicates are. Inputs that the training data have are left out. Data are
        kept in memory.
    plain_text : `bool`, optional (default = `False`)
        Whether each line of `unlabelled` is an input: a text or, for tags and roles, a sentence with spaces between its
        words, of which the teacher finds the predicates.
    hard : `bool`, optional (default = `False`)
        Whether the output of an input is always the one that the teacher predicts.
    num_draws : `int`, optional (default = `10`)
        So many draws are made of each input, once; the student gets one of these at random.
    labelled_share : `float`, optional (default = `0.5`)
        The share of instances with gold in an epoch, in (0, 1), to which they are repeated where they are fewer. They
        come once at least.
    """

    def __init__(
        self,
        unlabelled: str,
        plain_text: bool = False,
        hard: bool = False,
        num_draws: int = 10,
        labelled_share: float = 0.5,
    ) -> None:
        check_range("trainer.self_training.num_draws", num_draws, least=1)
        check_range("trainer.self_training.labelled_share", labelled_share, above=0, below=1)
        self.unlabelled, self.plain_text = unlabelled, plain_text
        self.hard = hard
        self.num_draws = num_draws
        self.labelled_share = labelled_share

    def of_run(
        self,
        model: SealModel,
        make_trainer: MakeTrainer,
        data_loader: DataLoader,
        validation_data_loader: Optional[DataLoader],
        held_out: Optional[HeldOut],
        distributed: bool,
    ) -> Callable[..., Dict[str, Any]]:
        """
        `train` for such a run, with the inputs read: what is wrong in their file is told before anything is trained.

        # Raises

        `ConfigurationError` if a student cannot be trained in such a run, and as `read`.
        """
        check_self_training(model, data_loader, validation_data_loader, distributed)
        inputs = self.read(model, validation_data_loader.reader, data_loader)
        return partial(
            self.train, inputs=inputs, make_trainer=make_trainer, data_loader=data_loader, held_out=held_out
        )

    def train(
        self,
        trainer: GradientDescentTrainer,
        metrics: Dict[str, Any],
        student: SealModel,
        inputs: List[Instance],
        make_trainer: MakeTrainer,
        data_loader: DataLoader,
        held_out: Optional[HeldOut],
    ) -> Dict[str, Any]:
        """
        Trains a student in the folder `student` of the run, and writes to `self_training.json` which of the two was
        better. A killed run goes on where it was, and the random state outside is as before.

        # Parameters

        trainer : `GradientDescentTrainer`
            That of the teacher, whose training has ended. Its model becomes the better of the two.
        metrics : `Dict[str, Any]`
            Those of the teacher, by their names in `metrics.json`.
        student : `SealModel`
            As it starts.
        inputs : `List[Instance]`
            What `read` has returned.
        make_trainer : `MakeTrainer`
        data_loader : `DataLoader`
            The training data.
        held_out : `HeldOut`, optional
            What the structure is learned from, if there is one.

        # Returns

        `Dict[str, Any]`
            The metrics of the better one, by their names in `metrics.json`.
        """
        before, seed = random_state(), torch.initial_seed()
        set_seed(seed)
        model, run = trainer.model, trainer._serialization_dir
        folder = os.path.join(run, "student")
        os.makedirs(folder, exist_ok=True)
        gold = _gold(data_loader)
        inputs = _with_answers(os.path.join(folder, "answers.json"), model, inputs)
        if not inputs:
            logger.warning("No student is trained: the teacher finds no predicate in %s.", self.unlabelled)
            set_random_state(before)
            return {}
        taught = self._taught(os.path.join(folder, "taught.pt"), model, inputs, lambda: _score(trainer, metrics))

        wanted = self.labelled_share / (1 - self.labelled_share) * len(inputs)
        repeats = max(1, round(wanted / len(gold)))
        logger.info(
            "A student is trained: %d instances with gold (%d times in an epoch) and %d that the teacher labels",
            len(gold), repeats, len(inputs),
        )
        loader = with_instances(data_loader, TaughtInstances(model, gold * repeats, inputs, taught["outputs"]))
        student.structure = None
        found = make_trainer(student, folder, loader).train()
        teacher_weights = copy.deepcopy(model.state_dict())
        model.load_state_dict(student.state_dict(), strict=False)
        if held_out is not None:
            found.update(learn_structure(trainer, held_out))
        report = {"inputs": len(inputs), "teacher": taught["score"], "student": _score(trainer, found)}
        report["kept"] = "student" if report["student"] > report["teacher"] else "teacher"
        logger.info("Validation: the teacher has %(teacher)g, the student %(student)g; the %(kept)s is kept", report)
        if report["kept"] == "teacher":
            model.load_state_dict(teacher_weights)
            found = metrics if held_out is None else {**metrics, **learn_structure(trainer, held_out)}
        elif held_out is None:  # Otherwise it was saved with the structure.
            save_best(trainer)
        with open(os.path.join(run, "self_training.json"), "w", encoding="utf-8") as file:
            json.dump(report, file, indent=2)
        set_random_state(before)
        return {name: value for name, value in found.items() if name.startswith(_BEST)}

    def read(self, model: SealModel, reader: DatasetReader, data_loader: DataLoader) -> List[Instance]:
        """
        The inputs that the training data lack, indexed.

        # Raises

        `ConfigurationError` if there is none, or a file is malformed.
        """
        known = {input_of(instance) for instance in _gold(data_loader)}
        inputs = []
        for instance in Tqdm.tqdm(reader.read_inputs(self.unlabelled, self.plain_text), desc="reading unlabelled"):
            if model.can_be_taught(instance) and input_of(instance) not in known:
                instance.index_fields(model.vocab)
                inputs.append(instance)
        if not inputs:
            raise ConfigurationError(
                f"trainer.self_training.unlabelled: {self.unlabelled} has no input that the training data lack; give "
                "another, or leave self_training out."
            )
        return inputs

    @torch.no_grad()
    def _taught(
        self, path: str, model: SealModel, inputs: List[Instance], score: Callable[[], float]
    ) -> Dict[str, Any]:
        """The teacher's `outputs` for each input, `(draws, *output)`, and its `score`, kept in a file."""
        if os.path.exists(path):
            return torch.load(path)
        outputs: List[Optional[torch.Tensor]] = [None] * len(inputs)
        for places, batch in _batches(model, inputs, "teaching"):
            drawn = model.teach(batch, None if self.hard else self.num_draws)
            for place, output in zip(places, drawn.to("cpu", torch.int16)):
                outputs[place] = output.clone()
        taught = {"outputs": outputs, "score": score()}
        with replacing(path) as draft:
            torch.save(taught, draft)
        return taught


class TaughtInstances(Sequence):
    """
    Instances with gold, and inputs whose outputs are the teacher's. Each pass over them draws for each input one of its
    outputs anew.

    # Parameters

    model : `SealModel`
        Makes instances of inputs and outputs.
    gold : `List[Instance]`
    inputs : `List[Instance]`
    outputs : `List[torch.Tensor]`
        For each input `(draws, *output)`.
    """

    def __init__(
        self, model: SealModel, gold: List[Instance], inputs: List[Instance], outputs: List[torch.Tensor]
    ) -> None:
        self._model, self._gold, self._inputs, self._outputs = model, gold, inputs, outputs

    def __len__(self) -> int:
        return len(self._gold) + len(self._inputs)

    def __getitem__(self, place: int) -> Instance:
        if place < len(self._gold):
            return self._gold[place]
        return self._taught(place - len(self._gold), 0)

    def __iter__(self) -> Iterator[Instance]:
        yield from self._gold
        chosen = torch.rand(len(self._inputs)).tolist()
        for place, (share, outputs) in enumerate(zip(chosen, self._outputs)):
            yield self._taught(place, int(share * len(outputs)))

    def _taught(self, place: int, draw: int) -> Instance:
        return self._model.taught(self._inputs[place], self._outputs[place][draw].long())


def check_self_training(
    model: SealModel, data_loader: DataLoader, validation_data_loader: Optional[DataLoader], distributed: bool
) -> None:
    """
    # Raises

    `ConfigurationError` if a student cannot be trained in such a run.
    """
    if not model.can_teach:
        raise ConfigurationError(
            f"trainer.self_training: {type(model).__name__} cannot teach; tags, roles and labels of texts can be "
            "taught."
        )
    if model.task_net is None:
        raise ConfigurationError("trainer.self_training: it trains a task-net, and the model has none.")
    if validation_data_loader is None:
        raise ConfigurationError(
            "trainer.self_training: validation data decide whether the student is kept; give validation_data_path."
        )
    if distributed:
        raise ConfigurationError("trainer.self_training: not in distributed runs; leave 'distributed' out.")
    _gold(data_loader)


def _batches(model: SealModel, inputs: List[Instance], doing: str) -> Iterator[Tuple[List[int], TensorDict]]:
    """Batches of inputs of about one length, with the places of these; the model is put in evaluation mode."""
    model.eval()
    device = next(model.parameters()).device
    sizes = [size_of([token.text for token in instance["tokens"]]) for instance in inputs]
    for places in Tqdm.tqdm(list(length_groups(sizes, _BATCH)), desc=doing):
        batch = Batch([inputs[place] for place in places]).as_tensor_dict()
        yield places, move_to_device(batch, device)


def _with_answers(path: str, model: SealModel, inputs: List[Instance]) -> List[Instance]:
    """The inputs, with those that the teacher's answers make in the place of questions; answers are kept in a file."""
    questions = [instance for instance in inputs if model.asks(instance)]
    if not questions:
        return inputs
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            answers = json.load(file)
    else:
        answers = [[] for _ in questions]
        for places, batch in _batches(model, questions, "asking the teacher"):
            for place, found in zip(places, model.answers(batch)):
                answers[place] = found
        with replacing(path) as draft, open(draft, "w", encoding="utf-8") as file:
            json.dump(answers, file)
    made = [model.answered(question, answer) for question, found in zip(questions, answers) for answer in found]
    return [instance for instance in inputs if not model.asks(instance)] + made


def _gold(data_loader: DataLoader) -> List[Instance]:
    return instances_of(
        data_loader,
        "trainer.self_training: the training data are kept in memory; leave data_loader.max_instances_in_memory out.",
    )


def _score(trainer: GradientDescentTrainer, metrics: Dict[str, Any]) -> float:
    """By `trainer.validation_metric`: high is good."""
    found = {name[len(_BEST) :]: value for name, value in metrics.items() if name.startswith(_BEST)}
    return trainer._metric_tracker.combined_score(found)
