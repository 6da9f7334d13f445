"""Checks that the parts of a model fit together. Each function raises a `ConfigurationError` if they do not."""

from typing import Any, Optional

from seal.losses import CompoundLoss, EnergyLoss, TaskLoss
from seal.registry import ConfigurationError
from seal.samplers import Sampler, StackedSampler


def check_who_predicts(task_net: Any, loss_net: Any, inference: Optional[Sampler], sampler: Optional[Sampler]) -> None:
    if task_net is None:
        if loss_net is None or inference is None:
            raise ConfigurationError(
                "task_net: without one, a loss_net must predict, by inference {type: 'gradient_based_inference'}."
            )
        for key, part in (("inference", inference), ("sampler", sampler)):
            if part is not None and part.needs_task_net:
                raise ConfigurationError(
                    f"{key}: {type(part).__name__} as set reads the output of a task_net, and there is none; "
                    "take 'gradient_based_inference' with another start than 'task_net' and 'draw'."
                )
    if inference is None:
        return
    if loss_net is None:
        raise ConfigurationError("inference: it predicts by the energy of a loss_net, and there is none.")
    if not inference.predicts:
        raise ConfigurationError(
            f"inference: {type(inference).__name__} as set does not predict; take "
            "'rerank', or 'gradient_based_inference' with the objective 'energy', a start other than 'gold', and keep "
            "'best', or 'last' with one start."
        )


def check_trained(task_net: Any, task_loss: Optional[TaskLoss]) -> None:
    if task_net is None and task_loss is not None:
        raise ConfigurationError("task_loss: it trains a task_net, and there is none; leave it out.")


def check_cost_augmented(
    cost_augmented_net: Any,
    task_net: Any,
    loss_net: Any,
    sampler: Optional[Sampler],
    energy_loss: Optional[EnergyLoss],
    task_loss: Optional[TaskLoss],
) -> None:
    separate = isinstance(energy_loss, CompoundLoss) and energy_loss.separate
    if cost_augmented_net is None:
        if sampler is not None and sampler.needs_cost_augmented:
            raise ConfigurationError(
                "sampler: 'cost_augmented_output' needs a cost_augmented_net, and the model has none."
            )
        if separate:
            raise ConfigurationError(
                "energy_loss.separate: each hinge would have a network of its own, and the model has no "
                "cost_augmented_net; leave it out, or add the net."
            )
        return
    _check_what_trains_it(task_net, loss_net, task_loss)
    if isinstance(energy_loss, CompoundLoss) and not separate:
        raise ConfigurationError(
            "energy_loss.separate: with a cost_augmented_net set it to true; otherwise each network's output "
            "would enter both hinges."
        )
    first = sampler.samplers[0] if isinstance(sampler, StackedSampler) else sampler
    if first is not None and not first.needs_cost_augmented:
        raise ConfigurationError(
            "sampler.samplers: with a cost_augmented_net stack 'cost_augmented_output' and 'task_net_output', in this "
            "order; the compound loss identifies them by position."
        )


def _check_what_trains_it(task_net: Any, loss_net: Any, task_loss: Optional[TaskLoss]) -> None:
    """Checks the task-net, the loss-net and the task loss of a model with a cost-augmented net."""
    if task_net is None or loss_net is None:
        raise ConfigurationError(
            "cost_augmented_net: it stands beside a task_net and is trained by a loss_net; the model lacks the "
            f"{'task_net' if task_net is None else 'loss_net'}."
        )
    if task_loss is None or not task_loss.takes_cost_augmented:
        raise ConfigurationError(
            "task_loss.type: a cost_augmented_net is trained by 'inference_network'; the present loss has no "
            "term for it."
        )
    weights = (getattr(task_loss, "perceptron_weight", 1), task_loss.cross_entropy_weight)
    if weights == (0, 0):
        raise ConfigurationError(
            "task_loss: perceptron_weight (lambda) and cross_entropy_weight (tau) are both 0, so that nothing "
            "would train the task_net beside the cost_augmented_net; set one of them."
        )


def check_no_loss_net_parts(
    sampler: Optional[Sampler], energy_loss: Optional[EnergyLoss], task_loss: Optional[TaskLoss]
) -> None:
    """Checks that a model without a loss-net has no parts that need one."""
    for key, needs_loss_net in (
        ("task_loss.cross_entropy_weight", task_loss is not None and task_loss.cross_entropy_weight == 0),
        ("task_loss.energy_weight", task_loss is not None and task_loss.energy_weight > 0),
        ("sampler", sampler is not None),
        ("energy_loss", energy_loss is not None),
    ):
        if needs_loss_net:
            raise ConfigurationError(f"{key}: as set it needs a loss_net, and there is none; add one, or change it.")


def check_loss_net_parts(
    sampler: Optional[Sampler],
    energy_loss: Optional[EnergyLoss],
    gives_rewards: bool,
) -> None:
    if sampler is None or energy_loss is None:
        missing = "sampler" if sampler is None else "energy_loss"
        raise ConfigurationError(f"{missing}: a model with a loss_net needs it.")
    if energy_loss.needs_noise_log_prob and not sampler.gives_log_prob:
        raise ConfigurationError(
            f"energy_loss: {type(energy_loss).__name__} needs the log-probability of every candidate, and "
            f"the sampler, {type(sampler).__name__}, gives none: take the sampler 'discrete', or the loss "
            "'ranking'."
        )
    if energy_loss.needs_rewards and not gives_rewards:
        raise ConfigurationError(
            f"energy_loss: {type(energy_loss).__name__} is for the model 'seal_partly_labelled_tagging', whose "
            "candidates have rewards; take 'contrastive_divergence'."
        )


def check_structure(model: Any, structure: Any, score: Optional[str], inference: Optional[Sampler]) -> None:
    """Checks that a model with a structure supports it and has no `inference`."""
    if structure is None and score is not None:
        raise ConfigurationError(
            "score: it says for which score a structure decides, and here is none; leave it out, or give a 'structure'."
        )
    if structure is None:
        return
    if model.structure_kind is None:
        raise ConfigurationError(f"structure: {type(model).__name__} has no structure of whole outputs; leave it out.")
    if inference is not None:
        raise ConfigurationError(
            "structure: it chooses among the task-net's outputs, and 'inference' predicts without these; leave "
            "one of the two out."
        )


def check_implicit(task_loss: TaskLoss) -> None:
    """Checks that the gradient of the task loss depends on the loss-net, so that an implicit gradient exists."""
    if task_loss.energy_weight == 0:
        raise ConfigurationError(
            "task_loss.energy_weight: with 0 the task-net does not follow the loss-net, so there is no "
            "implicit gradient; set it above 0, or implicit to false."
        )
    if task_loss.through_draws:
        raise ConfigurationError(
            "task_loss.type: 'through_draws' takes energies for constants, so that there is no implicit "
            "gradient; take 'weighted', or set implicit to false."
        )


def check_finite_differences(model: Any) -> None:
    """
    Checks that the gradient of the task loss includes every dependence on the task-net's parameters. Finite differences
    of the loss would include a dependence that the gradient treats as constant.
    """
    net = model.cost_augmented_net
    reasons = {
        "task_loss.straight_through: it": model.task_loss.straight_through,
        "task_loss: it draws outputs, which": model.task_loss.draws,
        "loss_net: its encoder is the task-net's, whose output for it": model.loss_net.shares_encoder,
        "cost_augmented_net: its input": net is not None and net.takes_constants,
    }
    for what, applies in reasons.items():
        if applies:
            raise ConfigurationError(
                f"{what} counts as constant in the task-net's gradient, but moves with its parameters in finite "
                "differences; set products to 'autograd'."
            )
