"""Warns where settings differ that should be the same: the cost or the score that a model's losses and searches use."""

import logging
from typing import Optional

from seal.losses import CompoundLoss, EnergyLoss, InferenceNetworkLoss, RegressionLoss, TaskLoss
from seal.samplers import GradientBasedInference, Sampler, StackedSampler

logger = logging.getLogger(__name__)


def differing_settings(sampler: Sampler, energy_loss: EnergyLoss, task_loss: TaskLoss) -> list[str]:
    """
    A sentence for each setting of the energy loss that the sampler's search or the task loss has otherwise: the cost
    `Delta`, the score, or `lambda`. No paper has two of them, but a search may be by a smooth one.
    """
    found = []
    searches = sampler.samplers if isinstance(sampler, StackedSampler) else [sampler]
    for search in searches:
        if not isinstance(search, GradientBasedInference):
            continue
        if search.objective == "cost_augmented" and _differ(search.cost, energy_loss.cost):
            found.append("the cost of the search in model.sampler")
        if search.objective == "adversarial" and isinstance(energy_loss, RegressionLoss):
            if search.score != energy_loss.score:
                found.append("the score of the search in model.sampler")
    if isinstance(task_loss, InferenceNetworkLoss) and task_loss.energy_weight > 0:
        if task_loss.margin_weight > 0 and _differ(task_loss.margin_cost, energy_loss.cost):
            found.append("the cost in model.task_loss")
        two_networks = isinstance(energy_loss, CompoundLoss) and energy_loss.separate
        if two_networks and task_loss.perceptron_weight != energy_loss.perceptron_weight:
            found.append("the perceptron_weight in model.task_loss")
    return [f"{what} is not that of model.energy_loss; set both alike, unless this is meant." for what in found]


def warn_of_differing_settings(sampler: Sampler, energy_loss: EnergyLoss, task_loss: TaskLoss) -> None:
    for sentence in differing_settings(sampler, energy_loss, task_loss):
        logger.warning(sentence[0].upper() + sentence[1:])


def _differ(one: object, other: Optional[object]) -> bool:
    """Whether the two differ, and the energy loss, whose is the `other`, has one."""
    return other is not None and one != other
