"""Settings that stand in two parts of a model, and have one value in the papers."""

from typing import Optional

from seal.losses import CompoundLoss, EnergyLoss, InferenceNetworkLoss, RegressionLoss, TaskLoss
from seal.samplers import GradientBasedInference, Sampler, StackedSampler


def differing_settings(sampler: Sampler, energy_loss: EnergyLoss, task_loss: TaskLoss) -> list[str]:
    """
    Compares the cost `Delta`, the score and `lambda` of the energy loss with the sampler's and the task loss's, and
    returns a sentence for each difference. The papers use one value of each. A difference can be meant: a search may
    need a smooth cost.
    """
    different = []
    searches = sampler.samplers if isinstance(sampler, StackedSampler) else [sampler]
    for search in searches:
        if not isinstance(search, GradientBasedInference):
            continue
        if search.objective == "cost_augmented" and _differ(search.cost, energy_loss.cost):
            different.append("the cost of the search in model.sampler")
        if search.objective == "adversarial" and isinstance(energy_loss, RegressionLoss):
            if search.score != energy_loss.score:
                different.append("the score of the search in model.sampler")
    if isinstance(task_loss, InferenceNetworkLoss) and task_loss.energy_weight > 0:
        if task_loss.margin_weight > 0 and _differ(task_loss.margin_cost, energy_loss.cost):
            different.append("the cost in model.task_loss")
        two_networks = isinstance(energy_loss, CompoundLoss) and energy_loss.separate
        if two_networks and task_loss.perceptron_weight != energy_loss.perceptron_weight:
            different.append("the perceptron_weight in model.task_loss")
    return [f"{what} is not that of model.energy_loss; set both alike, unless this is meant." for what in different]


def _differ(cost: object, energy_cost: Optional[object]) -> bool:
    """Whether the energy loss has a cost and it differs from `cost`."""
    return energy_cost is not None and cost != energy_cost
