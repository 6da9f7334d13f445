"""
What a trainer's settings need of model and machine; each mistake a `ConfigurationError`.
"""

from typing import Collection, List, Optional, Union

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import int_to_device

from seal.models import SealModel
from seal.training.phases import Phases
from seal.training.player import LOSS_NET, TASK_NET


def check_mixed_precision(use_amp: bool, cuda_device: Optional[Union[int, torch.device]]) -> None:
    # Without a word from the config AllenNLP trains on a GPU where it finds one.
    has_gpu = torch.cuda.is_available() if cuda_device is None else int_to_device(cuda_device).type != "cpu"
    if use_amp and not has_gpu:
        raise ConfigurationError("trainer.use_amp: mixed precision needs a GPU, and there is none: leave it out.")


def check_validation_metric(model: SealModel, metric: Union[str, List[str]]) -> None:
    # AllenNLP reports a loss of 0 where a model gives none, and the first epoch would be the best.
    names = {name.lstrip("+-") for name in ([metric] if isinstance(metric, str) else metric)}
    if model.inference is not None and "loss" in names:
        raise ConfigurationError(
            "trainer.validation_metric: predictions of model.inference have no loss; name one of the model's metrics, "
            "as '+f1'."
        )


def check_frozen_loss_net(model: SealModel, players: Collection[str]) -> None:
    frozen = model.loss_net is not None and LOSS_NET not in players
    if frozen and model.task_loss.energy_weight > 0 and model.loss_net.pretrained_file is None:
        raise ConfigurationError(
            "trainer.loss_net: nothing trains the loss-net that the task-net is to follow; set "
            "model.loss_net.pretrained_file to a run that has, or train it in a phase (trainer.phases)."
        )


def check_phases(model: SealModel, schedule: Phases) -> None:
    if schedule.any_without_energy(TASK_NET) and model.task_loss.cross_entropy_weight == 0:
        raise ConfigurationError(
            "trainer.phases: without the energy the task-net has only cross-entropy to follow; give model.task_loss a "
            "cross_entropy_weight above 0."
        )
    if schedule.any_unsupervised() and (model.loss_net is None or model.task_loss.energy_weight == 0):
        raise ConfigurationError(
            "trainer.phases: without supervision the task-net has only the energy to follow; give the model a "
            "loss_net, and model.task_loss an energy_weight above 0."
        )
