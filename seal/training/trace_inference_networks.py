from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training import GradientDescentTrainer, TrainerCallback

from seal.common.setting_checks import check_range
from seal.models import PartlyLabelledTaggingModel, SealModel
from seal.scores import Cost, L1Cost
from seal.training.micro_batches import is_part_of_the_data, micro_batches
from seal.training.players import LOSS_NET, TASK_NET
from seal.training.trace_inference import TraceFile, measuring
from seal.two_player.module_modes import without_dropout
from seal.two_player.objectives import TaskState, check_gold

FILE = "inference_networks.csv"
#: The columns of what is measured, in the file's order.
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

    `F^c` is the cost-augmented network, or the task-net where there is none. Beside these stand the mean energies of
    gold, of the task-net's output and of the cost-augmented network's, and how much more the latter costs than the
    former, `cost_difference`, the mean of `Delta(F^c(x), y) - Delta(A(x), y)`. Each measurement is a row of
    `inference_networks.csv` in the run's folder; `scripts/trajectories.py` draws them. A recovered run continues with
    the rows that it had. Measuring changes neither weights nor random numbers.

    # Parameters

    every : `int`, optional (default = `None`)
        The number of batches between measurements; `None`: one after each epoch. A measurement costs about as much as
        an epoch without updates.
    cost : `Cost`, optional (default = that of `energy_loss`, or `L1Cost()` where it has none)
        `Delta`.
    after_own_steps : `bool`, optional (default = `False`)
        Whether each value is that right after the steps of the player that it is of, as in the paper: the gradient of
        the energy's loss after the loss-net's, and all others after the task-net's, which with `first: 'task_net'` is
        before the energy's update. Otherwise all are those after the last update of a batch. An epoch's row is then
        that of its last batch.

    # Raises

    `ConfigurationError` if the model has no loss-net or no task-net, or learns from rows without gold, `every` is less
    than 1, the run is distributed, its epochs are parts of the data (`batches_per_epoch`), or `after_own_steps` is set
    without `every` where the length of an epoch is not known.
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
        # With `after_own_steps`: what has been measured in the batch, and how many batches make an epoch.
        self._measured: dict[str, dict[str, float]] = {}
        self._last_batch: Optional[int] = None
        self._file: Optional[TraceFile] = None

    def on_start(self, trainer: GradientDescentTrainer, is_primary: bool = True, **kwargs: Any) -> None:
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
        self._cost = self._cost or model.energy_loss.cost or L1Cost()
        self._file = TraceFile(Path(self.serialization_dir, FILE), trainer, key)

    def _follow_turns(self, trainer: GradientDescentTrainer, key: str) -> None:
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
            if self._is_due(trainer._total_batches_completed + 1, trainer._batches_in_epoch_completed + 1):
                self._measured[player] = self._values(trainer, player)

        trainer.between_turns.append(turn_ended)

    def on_batch(
        self,
        trainer: GradientDescentTrainer,
        batch_inputs: list[Any],
        batch_outputs: list[dict[str, Any]],
        batch_metrics: dict[str, Any],
        epoch: int,
        batch_number: int,
        is_training: bool,
        is_primary: bool = True,
        batch_grad_norm: Optional[float] = None,
        **kwargs: Any,
    ) -> None:
        if is_training and self._is_due(trainer._total_batches_completed, batch_number):
            self._measure(trainer, epoch)
        self._measured = {}

    def on_epoch(
        self,
        trainer: GradientDescentTrainer,
        metrics: dict[str, Any],
        epoch: int,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        if self._every is None and not self._after_own_steps:
            self._measure(trainer, epoch)

    def _is_due(self, batches: int, in_epoch: int) -> bool:
        """Whether there is a row of a batch, by its number in the run and in its epoch."""
        return batches % self._every == 0 if self._every is not None else in_epoch == self._last_batch

    def _measure(self, trainer: GradientDescentTrainer, epoch: int) -> None:
        left = [player for player in (TASK_NET, LOSS_NET) if player not in self._measured]

        def measure() -> dict[str, float]:
            values = self._values(trainer, *left)
            for measured in self._measured.values():
                values.update(measured)
            return {name: values[name] for name in VALUES if name in values}

        self._file.add(trainer, epoch, measure)

    def _values(self, trainer: GradientDescentTrainer, *players: str) -> dict[str, float]:
        return trace(trainer.model, trainer.data_loader, self._cost, players)


def trace(
    model: SealModel, batches: Any, cost: Cost, players: Collection[str] = (TASK_NET, LOSS_NET)
) -> dict[str, float]:
    """
    # Parameters

    model : `SealModel`
    batches : an iterable of batches, such as a trainer's data loader.
    cost : `Cost`
    players : `Collection[str]`, optional (default = both)
        Whose values: those of the loss-net are the norm of its gradient, and those of the task-net all others.

    # Returns

    `dict[str, float]`
        The values of `TraceInferenceNetworks`, by the names of `VALUES`; those of a cost-augmented network only where
        there is one.
    """
    of_energy = _Gradient(model.loss_net_parameters())
    of_network = _Gradient(model.task_net.parameters())
    sums: dict[str, float] = {}
    count = 0
    with measuring(model), without_dropout(model):
        for part in (part for batch in batches for part in micro_batches(batch)):
            state = model.state_of_all_nets(**part.batch)
            size = len(state.logits)
            if size == 0:
                continue
            check_gold(state.gold)
            count += size
            if TASK_NET in players:
                values, energy = _values_of_networks(model, state, cost)
                for name, value in values.items():
                    sums[name] = sums.get(name, 0.0) + float(value.sum().detach())
                of_network.add(energy.sum())
            if LOSS_NET in players:
                of_energy.add(model.loss_net_loss(state, model.draw(state)) * size)
    if TASK_NET in players:
        sums["network_gradient_norm"] = of_network.norm()
    if LOSS_NET in players:
        sums["energy_gradient_norm"] = of_energy.norm()
    return {name: value / max(count, 1) for name, value in sums.items()}


def _values_of_networks(model: SealModel, state: TaskState, cost: Cost) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """What is averaged over instances, each `(batch,)`, and the task-net's energy with its graph."""
    space, mask, augmented = model.output_space, state.mask, state.cost_augmented is not None
    networks = [state.cost_augmented, state.logits] if augmented else [state.logits]
    outputs = space.stack(*(space.relax(logits, mask) for logits in networks))
    *energies, gold = model.loss_net(model.features(state), space.stack(outputs, state.gold.unsqueeze(1)), mask).unbind(
        dim=1
    )
    costs = cost(space, outputs, state.gold, mask).unbind(dim=1)
    l1 = costs[0] - energies[0]
    values = {"l1": l1, "l0": torch.relu(l1 + gold), "energy_gold": gold, "energy_prediction": energies[-1]}
    if augmented:
        values.update(energy_cost_augmented=energies[0], cost_difference=costs[0] - costs[1])
    return values, energies[-1]


class _Gradient:
    """A sum of gradients by the parameters that are trained."""

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
