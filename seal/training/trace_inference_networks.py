from pathlib import Path
from typing import Any, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training import GradientDescentTrainer, TrainerCallback

from seal.common.module_modes import without_dropout
from seal.common.setting_checks import check_range
from seal.models import PartlyLabelledTaggingModel, SealModel
from seal.scores import Cost, L1Cost
from seal.training.micro_batches import is_part_of_the_data, micro_batches
from seal.training.trace_file import TraceFile, measuring
from seal.two_player.task_state import check_gold

FILE = "inference_networks.csv"


@TrainerCallback.register("trace_inference_networks")
class TraceInferenceNetworks(TrainerCallback):
    """
    Measures the progress of inference networks and energy, on all training pairs and without dropout (Tu, Pang &
    Gimpel 2020, section 4.3 and Figure 3):

        l1 = mean of Delta(F^c(x), y) - E(x, F^c(x))                    what the cost-augmented network makes large
        l0 = mean of [Delta(F^c(x), y) - E(x, F^c(x)) + E(x, y)]_+      the energy's margin loss
        || d mean L_E / d Theta ||                                      of the energy's whole loss
        || d mean E(x, A(x)) / d Psi ||                                 of the task-net's energy

    `F^c` is the cost-augmented network, or the task-net where there is none. All four are measured after the last
    update of a batch; the paper measures all but the third before the energy's update. Each measurement is a row of
    `inference_networks.csv` in the run's folder; `scripts/trajectories.py` draws them. A recovered run continues with
    the rows that it had. Measuring changes neither weights nor random numbers.

    # Parameters

    every : `int`, optional (default = `None`)
        The number of batches between measurements; `None`: one after each epoch. A measurement costs about as much as
        an epoch without updates.
    cost : `Cost`, optional (default = that of `energy_loss`, or `L1Cost()` where it has none)
        `Delta`.

    # Raises

    `ConfigurationError` if the model has no loss-net or no task-net, or learns from rows without gold, `every` is less
    than 1, the run is distributed, or its epochs are parts of the data (`batches_per_epoch`).
    """

    def __init__(
        self, serialization_dir: str, every: Optional[int] = None, cost: Optional[Cost] = None
    ) -> None:
        super().__init__(serialization_dir)
        check_range("trainer.callbacks: every of 'trace_inference_networks'", every, least=1)
        self._every, self._cost = every, cost
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
        self._cost = self._cost or model.energy_loss.cost or L1Cost()
        self._file = TraceFile(Path(self.serialization_dir, FILE), trainer, key)

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
        if self._every is not None and is_training and trainer._total_batches_completed % self._every == 0:
            self._measure(trainer, epoch)

    def on_epoch(
        self,
        trainer: GradientDescentTrainer,
        metrics: dict[str, Any],
        epoch: int,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        if self._every is None:
            self._measure(trainer, epoch)

    def _measure(self, trainer: GradientDescentTrainer, epoch: int) -> None:
        self._file.add(trainer, epoch, lambda: trace(trainer.model, trainer.data_loader, self._cost))


def trace(model: SealModel, batches: Any, cost: Cost) -> dict[str, float]:
    """
    # Parameters

    model : `SealModel`
    batches : an iterable of batches, such as a trainer's data loader.
    cost : `Cost`

    # Returns

    `dict[str, float]`
        The four numbers of `TraceInferenceNetworks`.
    """
    energy_parameters = _trained(model.loss_net_parameters())
    network_parameters = _trained(model.task_net.parameters())
    sums = [0.0, 0.0]
    energy_gradient = [torch.zeros_like(parameter) for parameter in energy_parameters]
    network_gradient = [torch.zeros_like(parameter) for parameter in network_parameters]
    count = 0
    with measuring(model), without_dropout(model):
        for part in (part for batch in batches for part in micro_batches(batch)):
            state = model.state_of_all_nets(**part.batch)
            size = len(state.logits)
            if size == 0:
                continue
            check_gold(state.gold)
            count += size
            space, mask = model.output_space, state.mask
            features = model.features(state)
            first = state.logits if state.cost_augmented is None else state.cost_augmented
            outputs = [space.relax(first, mask), space.relax(state.logits, mask)]
            energies = model.loss_net(features, space.stack(*outputs, state.gold.unsqueeze(1)), mask)
            l1 = cost(space, outputs[0], state.gold, mask)[:, 0] - energies[:, 0]
            sums[0] += float(l1.sum().detach())
            sums[1] += float(torch.relu(l1 + energies[:, 2]).sum().detach())
            _add(network_gradient, energies[:, 1].sum(), network_parameters)
            loss = model.loss_net_loss(state, model.draw(state))
            _add(energy_gradient, loss * size, energy_parameters)
    return {
        "l1": sums[0] / max(count, 1),
        "l0": sums[1] / max(count, 1),
        "energy_gradient_norm": _norm(energy_gradient) / max(count, 1),
        "network_gradient_norm": _norm(network_gradient) / max(count, 1),
    }


def _trained(parameters: Any) -> list[torch.nn.Parameter]:
    return [parameter for parameter in parameters if parameter.requires_grad]


def _add(total: list[torch.Tensor], value: torch.Tensor, parameters: list[torch.nn.Parameter]) -> None:
    for part, gradient in zip(total, torch.autograd.grad(value, parameters, retain_graph=True, allow_unused=True)):
        if gradient is not None:
            part += gradient


def _norm(gradient: list[torch.Tensor]) -> float:
    return float(torch.stack([part.norm() for part in gradient]).norm())
