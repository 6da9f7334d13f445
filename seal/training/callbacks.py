"""
Callbacks of the trainers: one tunes thresholds on validation data, two write measurements of a run to CSV files.
"""

import csv
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

import torch
from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError
from allennlp.training import TrainerCallback

from seal.common.random_states import random_state, set_random_state
from seal.common.setting_checks import check_range, require
from seal.files.atomic_files import atomic_write
from seal.hypergradients.guards import differentiable_in_any_mode
from seal.samplers import GradientBasedInference, Sampler
from seal.scores import Cost, L1Cost
from seal.tasks.base import RunningMeans, SealModel
from seal.tasks.multilabel import MultilabelModel
from seal.tasks.multilabel.model import TUNING_METRICS
from seal.tasks.tagging import PartlyLabelledTaggingModel
from seal.training.batch_groups import is_part_of_the_data, micro_batches
from seal.training.resumable_trainer import ResumableTrainer
from seal.two_player import LOSS_NET, TASK_NET
from seal.two_player.objectives import TaskState, without_dropout


@TrainerCallback.register("tune_thresholds")
class TuneThresholds(TrainerCallback):
    """
    Tunes the thresholds of a multi-label model during training. At the end of each pass over the validation data the
    model sets one threshold for all labels, which maximises `metric`, and one for each label, which maximises its F1.
    They are saved with the weights of the epoch. `validation_metric: '+f1_tuned'` selects the epoch by its score with
    the tuned threshold.

    Evaluation and prediction tune nothing.

    # Parameters

    metric : `str`, optional (default = `"f1"`)
        The score that the threshold for all labels maximises: `"f1"` (example F1) or `"micro_f1"`. `f1_tuned`,
        `micro_f1_tuned` and `macro_f1_tuned` are all scored at that threshold.

    # Raises

    `ConfigurationError` for another metric, or a model without thresholds.
    """

    def __init__(self, serialization_dir: str, metric: str = "f1") -> None:
        super().__init__(serialization_dir)
        if metric not in TUNING_METRICS:
            raise ConfigurationError(
                f"trainer.callbacks: 'tune_thresholds' has the metric '{metric}'; choose from "
                f"{', '.join(TUNING_METRICS)}."
            )
        self._metric = metric

    def on_start(self, trainer: Any, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary)
        if not isinstance(trainer.model, MultilabelModel):
            raise ConfigurationError(
                "trainer.callbacks: 'tune_thresholds' is for 'seal_multilabel' and 'seal_text_multilabel', not "
                f"{type(trainer.model).__name__}."
            )
        if trainer._validation_data_loader is None:
            raise ConfigurationError(
                "trainer.callbacks: 'tune_thresholds' tunes them on validation data; give validation_data_path, or "
                "leave it out."
            )
        trainer.model.tuned_metric = self._metric

    def on_end(self, trainer, metrics=None, epoch=None, is_primary=True, **kwargs) -> None:
        trainer.model.tuned_metric = None


#: The first columns of every trace: the epoch, from 0, and the number of batches since the start of training.
COUNTS = ("epoch", "batches")


class TraceFile:
    """
    The CSV file of a trainer callback's measurements. It is written atomically. A recovered run drops the rows from
    after its checkpoint and measures them again.
    """

    def __init__(self, path: Path, trainer: ResumableTrainer, key: str) -> None:
        if trainer.is_distributed:
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
            recovered = trainer.batches_completed + trainer.recovered_place[1]
            self._rows = [row for row in rows if row["batches"] <= recovered]

    def add(self, trainer: ResumableTrainer, epoch: int, measure: Callable[[], dict[str, float]]) -> None:
        """Adds a row with the result of `measure`, unless the file already has a row for this batch or a later one."""
        batches = trainer.batches_completed
        if self._rows and self._rows[-1]["batches"] >= batches:
            return
        self._rows.append({"epoch": epoch, "batches": batches, **measure()})
        columns = dict.fromkeys(name for row in self._rows for name in row)
        with atomic_write(str(self._path)) as draft, open(draft, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, restval="nan")
            writer.writeheader()
            writer.writerows(self._rows)


@contextmanager
def measuring(model: SealModel) -> Iterator[None]:
    """A context that restores the random states and the model's monitors at its end."""
    before, monitors = random_state(), model.monitors
    model.monitors = RunningMeans()
    try:
        with differentiable_in_any_mode():
            yield
    finally:
        model.monitors = monitors
        set_random_state(before)


_INFERENCE = "trainer.callbacks: 'trace_inference'"


@TrainerCallback.register("trace_inference")
class TraceInference(TrainerCallback):
    """
    Scores inference by the loss-net's energy on the validation data after each validation: it shows what the loss-net
    has learned that the task-net has not, and where inference must start to find it (SEAL-ICLR, Appendix C, Figures 3
    to 5). The file `inference.csv` in the run's folder has a row for each epoch and a column for each sampler and
    metric, such as `from_random_f1`. The callback does not affect the training. A recovered run continues the file.

    # Parameters

    samplers : `dict[str, Sampler]`, optional
        Samplers as for `model.inference`, by the prefix of their columns. By default two `gradient_based_inference` of
        20 steps of `adam` with a step size of 0.1: `from_draw` starts at a sample from the task-net, `from_random` at
        random points.

    # Raises

    `ConfigurationError` if there are no validation data, the model has no loss-net, a sampler cannot predict, or the
    run is distributed.
    """

    def __init__(self, serialization_dir: str, samplers: Optional[dict[str, Sampler]] = None) -> None:
        super().__init__(serialization_dir)
        if samplers is None:
            samplers = {
                f"from_{start}": GradientBasedInference(num_steps=20, step_size=0.1, optimizer="adam", start=start)
                for start in ("draw", "random")
            }
        if not samplers:
            raise ConfigurationError(f"{_INFERENCE}: samplers names none.")
        self._samplers = samplers
        self._file: Optional[TraceFile] = None

    def on_start(self, trainer: Any, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary)
        model = trainer.model
        if not isinstance(model, SealModel) or model.loss_net is None:
            raise ConfigurationError(f"{_INFERENCE} is for models with a loss_net.")
        for name, sampler in self._samplers.items():
            try:
                model.check_inference(sampler)
            except ConfigurationError as error:
                raise ConfigurationError(f"{_INFERENCE}, sampler '{name}': {error.message}") from None
        if trainer.validation_data_loader is None:
            raise ConfigurationError(
                f"{_INFERENCE} scores the validation data; give validation_data_path, or leave it out."
            )
        self._file = TraceFile(Path(self.serialization_dir, "inference.csv"), trainer, _INFERENCE)

    def on_epoch(self, trainer, metrics, epoch, is_primary=True, **kwargs) -> None:
        if trainer.validates_this_epoch:
            require(self._file, "the file").add(trainer, epoch, lambda: self._measure(trainer))

    def _measure(self, trainer: Any) -> dict[str, float]:
        with trainer.averages.applied():
            return {
                f"{name}_{metric}": value
                for name, sampler in self._samplers.items()
                for metric, value in _scores(trainer, name, sampler).items()
            }


@torch.no_grad()
def _scores(trainer: Any, name: str, sampler: Sampler) -> dict[str, float]:
    """The metrics of the sampler's predictions on the validation data. The model is in evaluation mode."""
    model = trainer.model
    with measuring(model), model.predicting_by(sampler):
        for batch in Tqdm.tqdm(trainer.validation_data_loader, desc=f"inference {name}"):
            trainer.batch_outputs(batch, for_training=False)
        return model.get_metrics(reset=True)


#: The columns of the measured values, in the file's order.
VALUES = (
    "l1",
    "l0",
    "energy_gold",
    "energy_prediction",
    "energy_cost_augmented",
    "cost_difference",
    "energy_gradient_norm",
    "network_gradient_norm",
)


@TrainerCallback.register("trace_inference_networks")
class TraceInferenceNetworks(TrainerCallback):
    """
    Measures the progress of inference networks and energy, on all training pairs and without dropout (Tu, Pang &
    Gimpel 2020, section 4.3 and Figure 3):

        l1 = mean of Delta(F^c(x), y) - E(x, F^c(x))                    what the cost-augmented network makes large
        l0 = mean of [Delta(F^c(x), y) - E(x, F^c(x)) + E(x, y)]_+      the energy's margin loss
        || d mean L_E / d Theta ||                                      of the energy's whole loss
        || d mean E(x, A(x)) / d Psi ||                                 of the task-net's energy

    `F^c` is the cost-augmented network or, without one, the task-net. Further columns are the mean energies of gold, of
    the task-net's output and of the cost-augmented network's output, and `cost_difference`, the mean of
    `Delta(F^c(x), y) - Delta(A(x), y)`. Each measurement is a row of `inference_networks.csv` in the run's folder.
    A recovered run continues the file. The callback does not affect the training.

    # Parameters

    every : `int`, optional (default = `None`)
        The number of batches between measurements; `None`: one after each epoch. A measurement costs about as much as
        an epoch without updates.
    cost : `Cost`, optional (default = the cost of `energy_loss`, or `L1Cost()` if it has none)
        `Delta`.
    after_own_steps : `bool`, optional (default = `False`)
        True: each value is measured right after the updates of its player, as in the paper: the gradient of the energy
        loss after the loss-net's updates, and all other values after the task-net's, which with `first: 'task_net'` is
        before the loss-net's. An epoch's row is then measured in its last batch. False: all values are measured after
        the last update of a batch.

    # Raises

    `ConfigurationError` if the model has no loss-net or no task-net, or learns from rows without gold; if `every` is
    less than 1; if the run is distributed; if an epoch is a part of the data (`batches_per_epoch`); or if
    `after_own_steps` is set without `every` and the length of an epoch is unknown.
    """

    def __init__(
        self,
        serialization_dir: str,
        every: Optional[int] = None,
        cost: Optional[Cost] = None,
        after_own_steps: bool = False,
    ) -> None:
        super().__init__(serialization_dir)
        check_range("trainer.callbacks: every of 'trace_inference_networks'", every, least=1)
        self._every, self._cost = every, cost
        self._after_own_steps = after_own_steps
        # With `after_own_steps`: the values measured in this batch by player, and the number of batches in an epoch.
        self._measured: dict[str, dict[str, float]] = {}
        self._last_batch: Optional[int] = None
        self._file: Optional[TraceFile] = None

    def on_start(self, trainer: Any, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary)
        key = "trainer.callbacks: 'trace_inference_networks'"
        model = trainer.model
        if not isinstance(model, SealModel) or model.loss_net is None or model.task_net is None:
            raise ConfigurationError(f"{key} is for models with a task_net and a loss_net.")
        if isinstance(model, PartlyLabelledTaggingModel):
            raise ConfigurationError(f"{key} compares with gold, which some rows of this model's data lack.")
        if is_part_of_the_data(trainer.data_loader):
            raise ConfigurationError(
                f"{key} measures on all training pairs, and data_loader.batches_per_epoch makes an epoch of a part of "
                "them; leave one of the two out."
            )
        if self._after_own_steps:
            self._follow_turns(trainer, key)
        self._cost = self._cost or getattr(model.energy_loss, "cost", None) or L1Cost()
        self._file = TraceFile(Path(self.serialization_dir, "inference_networks.csv"), trainer, key)

    def _follow_turns(self, trainer: Any, key: str) -> None:
        if self._every is None:
            try:
                self._last_batch = len(trainer.data_loader)
            except TypeError as error:
                raise ConfigurationError(
                    f"{key}: after_own_steps measures in the last batch of an epoch, and the data_loader does not know "
                    "which that is; set every to a number of batches."
                ) from error

        def turn_ended(player: str) -> None:
            # The batch in progress is not counted yet.
            if self._is_due(trainer.batches_completed + 1, trainer.place[1] + 1):
                self._measured[player] = self._values(trainer, player)

        trainer.between_turns.append(turn_ended)

    def on_batch(  # type: ignore[override]  # What else AllenNLP gives is not read.
        self, trainer, batch_inputs, batch_outputs, batch_metrics, epoch, batch_number, is_training, **kwargs
    ) -> None:
        if is_training and self._is_due(trainer.batches_completed, batch_number):
            self._measure(trainer, epoch)
        self._measured = {}

    def on_epoch(self, trainer, metrics, epoch, is_primary=True, **kwargs) -> None:
        if self._every is None and not self._after_own_steps:
            self._measure(trainer, epoch)

    def _is_due(self, batches: int, in_epoch: int) -> bool:
        """Whether a batch is measured, given its number in the run and in its epoch."""
        return batches % self._every == 0 if self._every is not None else in_epoch == self._last_batch

    def _measure(self, trainer: Any, epoch: int) -> None:
        unmeasured = [player for player in (TASK_NET, LOSS_NET) if player not in self._measured]

        def measure() -> dict[str, float]:
            values = self._values(trainer, *unmeasured)
            for measured in self._measured.values():
                values.update(measured)
            return {name: values[name] for name in VALUES if name in values}

        require(self._file, "the file").add(trainer, epoch, measure)

    def _values(self, trainer: Any, *players: str) -> dict[str, float]:
        return trace(trainer.model, trainer.data_loader, require(self._cost, "cost"), players)


def trace(
    model: SealModel, batches: Any, cost: Cost, players: Collection[str] = (TASK_NET, LOSS_NET)
) -> dict[str, float]:
    """
    Measures the values of `TraceInferenceNetworks` on batches.

    # Parameters

    model : `SealModel`
    batches : an iterable of batches, such as a trainer's data loader
    cost : `Cost`
    players : `Collection[str]`, optional (default = both)
        The loss-net's value is the norm of its gradient; all other values are the task-net's.

    # Returns

    `dict[str, float]`
        The values, by the names of `VALUES`. Without a cost-augmented network its values are left out.
    """
    energy_gradient = _Gradient(model.loss_net_parameters())
    network_gradient = _Gradient(model.nets()[TASK_NET].parameters())
    sums: dict[str, float] = {}
    count = 0
    with measuring(model), without_dropout(model):
        for part in (part for batch in batches for part in micro_batches(batch)):
            state = model.state_of_all_nets(**part.batch)
            size = len(state.logits)
            if size == 0:
                continue
            model.gold(state)
            count += size
            if TASK_NET in players:
                values, energy = _values_of_networks(model, state, cost)
                for name, value in values.items():
                    sums[name] = sums.get(name, 0.0) + float(value.sum().detach())
                network_gradient.add(energy.sum())
            if LOSS_NET in players:
                energy_gradient.add(model.loss_net_loss(state, model.sample(state)) * size)
    if TASK_NET in players:
        sums["network_gradient_norm"] = network_gradient.norm()
    if LOSS_NET in players:
        sums["energy_gradient_norm"] = energy_gradient.norm()
    return {name: value / max(count, 1) for name, value in sums.items()}


def _values_of_networks(model: SealModel, state: TaskState, cost: Cost) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """The values to average over instances, `(batch,)` each, and the task-net's energy with its graph, `(batch,)`."""
    space, mask = model.output_space, state.mask
    networks = [state.logits] if state.cost_augmented is None else [state.cost_augmented, state.logits]
    gold, loss_net = model.gold(state), require(model.loss_net, "loss_net")
    outputs = space.stack(*(space.relax(logits, mask) for logits in networks))
    outputs_and_gold = space.stack(outputs, gold.unsqueeze(1))
    *energies, gold_energy = loss_net(model.features(state), outputs_and_gold, mask).unbind(dim=1)
    costs = cost(space, outputs, gold, mask).unbind(dim=1)
    l1 = costs[0] - energies[0]
    values = {
        "l1": l1,
        "l0": torch.relu(l1 + gold_energy),
        "energy_gold": gold_energy,
        "energy_prediction": energies[-1],
    }
    if len(networks) > 1:
        values.update(energy_cost_augmented=energies[0], cost_difference=costs[0] - costs[1])
    return values, energies[-1]


class _Gradient:
    """Accumulates gradients with respect to the trainable parameters."""

    def __init__(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        self._parameters = [parameter for parameter in parameters if parameter.requires_grad]
        self._total = [torch.zeros_like(parameter) for parameter in self._parameters]

    def add(self, value: torch.Tensor) -> None:
        gradients = torch.autograd.grad(value, self._parameters, retain_graph=True, allow_unused=True)
        for part, gradient in zip(self._total, gradients):
            if gradient is not None:
                part += gradient

    def norm(self) -> float:
        return float(torch.stack([part.norm() for part in self._total]).norm())
