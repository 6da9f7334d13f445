"""Cross-fitting: held-out scores of the training data, on which the structure is fitted."""

import copy
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.tqdm import Tqdm
from allennlp.data import DataLoader, TensorDict
from allennlp.nn.util import move_to_device
from allennlp.training.util import evaluate

from seal.common.equal_contents import folds_of_equal
from seal.common.random_states import random_state, set_random_state, set_seed
from seal.common.setting_checks import check_range
from seal.files.atomic_files import atomic_write
from seal.files.paths import user_path
from seal.tasks.base import SealModel
from seal.tasks.base.pretrained_nets import load_pretrained
from seal.training.fold_processes import EpochLines, FoldProcesses, FoldReports, jobs_and_threads
from seal.training.loaders import equal_inputs, restricted
from seal.training.resumable_trainer import BEST

logger = logging.getLogger(__name__)

DEFAULT_FOLDS = 3

Record = dict[str, Any]
#: Constructs a trainer with the run's settings from a model, a folder and the training data. `with_loss_net=False`
#: leaves out the settings of the loss-net.
MakeTrainer = Callable[..., Any]


@dataclass
class FoldSettings:
    """The settings of cross-fitting, described in `AlternatingTrainer`."""

    folds: Optional[int] = None
    folds_with_loss_net: bool = True
    folds_pretrained_file: Optional[str] = None
    fold_jobs: Optional[int] = None


@dataclass
class CrossFitter:
    """
    Computes held-out scores of the training data by cross-fitting: each instance is scored by a net that was trained
    neither on it nor on another instance with the same input.

    The data are split into folds (`folds_of`). For each fold a copy of the model, with the same initial weights, is
    trained on the other folds with the run's settings and scores the fold. The scores are saved in `folds/<fold>` of
    the run's folder. A recovered run skips finished folds and continues the fold in progress from its checkpoint.
    """

    #: The number of folds; 0: no net is trained, and the final task-net scores its own training data.
    folds: int
    make_trainer: MakeTrainer
    #: The training data.
    data_loader: DataLoader
    #: The run's folder.
    serialization_dir: str
    #: Whether the nets of folds are trained with a loss-net; if not, by cross-entropy alone.
    with_loss_net: bool = True
    #: Nets whose weights replace the model's initial weights in the nets of folds, by name.
    start: dict[str, torch.nn.Module] = field(default_factory=dict)
    #: The number of nets trained in parallel, including the run's own; `None`: `jobs_and_threads` decides.
    jobs: Optional[int] = None

    @contextmanager
    def training(self, trainer: Any) -> Iterator[None]:
        """
        A context in which the run's own net is trained. The folds without saved scores are trained and scored before
        the block, or in parallel processes (`FoldProcesses`). The random state of the block is not affected.

        # Parameters

        trainer : `AlternatingTrainer`
            The run's own trainer.
        """
        if self.folds == 0:
            logger.warning(
                "trainer.folds is 0: the structure is learned on scores of data that the task-net has seen, of which "
                "it is too sure; 3 folds cost about two more trainings and choose better."
            )
            yield
            return
        model, seed = trainer.model, torch.initial_seed()
        parts = folds_of(self.data_loader, self.folds, seed)
        train = partial(self._train, model, parts, seed)
        names = {fold: f"Fold {fold + 1} of {self.folds}" for fold in range(self.folds)}
        for fold in [fold for fold in names if os.path.exists(self._path(fold))]:
            logger.info("%s was scored before.", names.pop(fold), extra={"news": True})
        jobs, threads = jobs_and_threads(self.folds + 1, self.jobs, model)
        with _threads(threads):
            if jobs == 1 or not names:
                before = random_state()
                for fold in names:
                    train(fold)
                set_random_state(before)
                logger.info("All data: the net that predicts is trained.", extra={"news": True})
                yield
                return
            message = "%d nets are trained, %d at a time: one on all data, and one without each of %d folds."
            logger.info(message, len(names) + 1, min(jobs, len(names) + 1), len(names), extra={"news": True})
            with FoldProcesses(partial(train, alone=False), names, jobs, threads) as processes:
                trainer.add_callback(EpochLines("All data"), first=True)
                trainer.add_callback(FoldReports(processes), first=True)
                yield
                processes.finish()

    def _train(self, model: SealModel, parts: list[list[int]], seed: int, fold: int, alone: bool = True) -> None:
        """
        Trains a net on all folds but one and saves its scores of that fold. `alone` is False if nets are trained in
        parallel.
        """
        name, path = f"Fold {fold + 1} of {self.folds}", self._path(fold)
        logger.info("%s: a net is trained on the others, and scores it.", name, extra={"news": True})
        folder = os.path.dirname(path)
        os.makedirs(folder, exist_ok=True)
        set_seed(seed + fold)
        net = copy.deepcopy(model)
        net.structure = None
        for part, other in self.start.items():
            getattr(net, part).load_state_dict(other.state_dict())
        others = [place for number, part in enumerate(parts) if number != fold for place in part]
        if not self.with_loss_net:
            net.loss_net = net.sampler = net.energy_loss = None
        loader = restricted(self.data_loader, others)
        trainer = self.make_trainer(net, folder, loader, with_loss_net=self.with_loss_net)
        if not alone:
            trainer.add_callback(EpochLines(name), first=True)
        trainer.train()
        net.structure = model.structure
        records = score(net, restricted(self.data_loader, parts[fold]))
        with atomic_write(path) as draft:
            torch.save(records, draft)
        for file in os.listdir(folder):
            if file.endswith(".th"):  # Weights and checkpoints are no longer needed.
                os.remove(os.path.join(folder, file))
        if not alone:
            logger.info("%s: scored.", name, extra={"news": True})

    def records(self, model: SealModel) -> list[Record]:
        """The results of `SealModel.held_out` for all batches. Call it after `training`."""
        if self.folds == 0:
            return score(model, self.data_loader)
        return [record for fold in range(self.folds) for record in torch.load(self._path(fold))]

    def _path(self, fold: int) -> str:
        return os.path.join(self.serialization_dir, "folds", str(fold), "held_out.pt")


@contextmanager
def _threads(number: int) -> Iterator[None]:
    """A context in which torch uses `number` threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def cross_fitter_of_run(
    model: SealModel,
    settings: FoldSettings,
    make_trainer: MakeTrainer,
    data_loader: DataLoader,
    validation_data_loader: Optional[DataLoader],
    serialization_dir: str,
    distributed: bool,
) -> Optional[CrossFitter]:
    """
    The cross-fitter of a run; `None` without a structure.

    # Raises

    `ConfigurationError` if there are folds without a structure, if the structure cannot be fitted, or if the nets of
    folds would start from a trained model that may have been trained on the data.
    """
    folds, with_loss_net = settings.folds, settings.folds_with_loss_net
    pretrained_file = settings.folds_pretrained_file
    if pretrained_file is not None and (model.structure is None or folds == 0 or not model.starts_from):
        raise ConfigurationError(
            "trainer.folds_pretrained_file: it is for nets of folds of a model that starts from a trained one, and "
            "here are none; leave it out."
        )
    if model.structure is None:
        if folds is not None or settings.fold_jobs is not None:
            key = "fold_jobs" if folds is None else "folds"
            raise ConfigurationError(
                f"trainer.{key}: folds are for a model with a 'structure', and this one has none; leave them out."
            )
        return None
    if folds is not None and (folds < 0 or folds == 1):
        raise ConfigurationError(f"trainer.folds: 0 or at least 2, not {folds}.")
    check_range("trainer.fold_jobs", settings.fold_jobs, least=1)
    if validation_data_loader is None:
        raise ConfigurationError(
            "model.structure: whether it is followed is decided on validation data; give validation_data_path."
        )
    if distributed:
        raise ConfigurationError("model.structure: it is not learned in distributed runs; leave 'distributed' out.")
    loss, with_cost = model.task_loss, model.cost_augmented_net is not None
    if not with_loss_net and (with_cost or loss.needs_gold_energy or loss.cross_entropy_weight == 0):
        raise ConfigurationError(
            "trainer.folds_with_loss_net: without its loss-net this task-net has nothing to learn from; leave it out."
        )
    folds = DEFAULT_FOLDS if folds is None else folds
    start = {} if folds == 0 else _start_of_folds(model, pretrained_file, with_loss_net)
    return CrossFitter(folds, make_trainer, data_loader, serialization_dir, with_loss_net, start, settings.fold_jobs)


def _start_of_folds(model: SealModel, path: Optional[str], with_loss_net: bool) -> dict[str, torch.nn.Module]:
    """
    The nets, by name, with the initial weights of the nets of folds, if these differ from the model's own.

    # Raises

    `ConfigurationError` if the model starts from a trained one and `path`, the setting `folds_pretrained_file`, is
    `None`.
    """
    starts = {name: file for name, file in model.starts_from.items() if with_loss_net or name == "task_net"}
    start = {}
    for name, file in starts.items():
        if path is None:
            raise ConfigurationError(
                f"trainer.folds: the {name} starts from the trained model '{file}', which may have seen what nets of "
                "folds must not have seen; set trainer.folds_pretrained_file to a model that was not trained on this "
                "data (to the same one, if it was not), or let the model start anew."
            )
        if os.path.realpath(user_path(path)) != os.path.realpath(user_path(file)):
            start[name] = copy.deepcopy(getattr(model, name))
            load_pretrained(start[name], name, path, model.output_space, model.vocab, "trainer.folds_pretrained_file")
    return start


def learn_structure(trainer: Any, held_out: CrossFitter) -> dict[str, Any]:
    """
    Fits the structure of a trained model with its best weights, and saves both. Writes the fitted and selected
    parameters to `structure.json` in the run's folder. Returns the model's validation metrics with the structure, by
    their names in `metrics.json`; metrics of the task-net's own output end in `_own`.
    """
    model, folder = trainer.model, trainer.folder
    logger.info("The structure is learned, and its gate chooses on validation data.", extra={"news": True})
    records = held_out.records(model), score(model, trainer.validation_data_loader)
    device = next(model.parameters()).device
    # The records are on the CPU, where fitting takes seconds.
    model.structure.to("cpu")
    try:
        report = model.fit_structure(*records)
    finally:
        model.structure.to(device)
    report.update(folds=held_out.folds, score=model.score_of_prediction)
    with open(os.path.join(folder, "structure.json"), "w", encoding="utf-8") as file:
        json.dump(report, file, indent=2)
    save_best(trainer)
    metrics = evaluate(model, trainer.validation_data_loader, trainer.cuda_device)
    return {f"best_validation_{name}": value for name, value in metrics.items()}


def save_best(trainer: Any) -> None:
    """Saves the trainer's model as the best weights of the run."""
    # `best.th` may be a hard link to a checkpoint, which must not be overwritten.
    with atomic_write(os.path.join(trainer.folder, BEST)) as draft:
        torch.save(trainer.model.state_dict(), draft)


@torch.no_grad()
def score(model: SealModel, data_loader: Any) -> list[Record]:
    """The results of `SealModel.held_out` for every batch of one whole pass over the data."""
    if getattr(data_loader, "batches_per_epoch", None) is not None:
        data_loader = copy.copy(data_loader)
        data_loader.batches_per_epoch = None
    model.eval()
    device = next(model.parameters()).device
    before = random_state()
    # The same order of batches in a run that was continued after its last epoch.
    set_seed(0)
    batches: Iterable[TensorDict] = Tqdm.tqdm(data_loader, desc="scoring")
    if device.type != "cpu":
        batches = (move_to_device(batch, device) for batch in batches)
    records = [model.held_out(batch) for batch in batches]
    set_random_state(before)
    return records


def folds_of(data_loader: DataLoader, folds: int, seed: int) -> list[list[int]]:
    """
    Splits the indices of the data into folds such that equal inputs are in the same fold (`folds_of_equal`): instances
    with the same words, such as the frames of a sentence, and rows with the same features.

    # Raises

    `ConfigurationError` if there are fewer distinct inputs than folds, or the data are not in memory.
    """
    otherwise = (
        "trainer.folds: data are parted into folds in memory; leave data_loader.max_instances_in_memory out, or set "
        "the folds to 0."
    )
    inputs = equal_inputs(data_loader, otherwise)
    number = int(inputs.max(initial=-1)) + 1
    if number < folds:
        raise ConfigurationError(
            f"trainer.folds: {number} different instances cannot make {folds} folds; set it to 0, or give more data."
        )
    return folds_of_equal(inputs, folds, seed)
