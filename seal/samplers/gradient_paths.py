"""Lets the gradient of a loss on candidates reach the logits from which the candidates were drawn."""

import math
from dataclasses import replace
from typing import Optional

import torch

from seal.common.setting_checks import check_choice
from seal.losses import EnergyLoss
from seal.output_spaces import CONSTANT, COST_AUGMENTED_NET, TASK_NET, Candidates, OutputSpace
from seal.registry import ConfigurationError
from seal.samplers.discrete import DiscreteSampler
from seal.samplers.sampler import Sampler, StackedSampler

#: The ways in which the gradient of a loss of candidates reaches the logits that they were drawn from.
THROUGH = ("straight_through", "relaxed", "soft", "none")


def check_through(through: str) -> None:
    """Raises `ConfigurationError` if `through` is none of `THROUGH`."""
    check_choice("through", through, THROUGH)


def check_new_candidates(through: str, sampler: Optional[Sampler], energy_loss: Optional[EnergyLoss]) -> None:
    """
    # Raises

    `ConfigurationError` if `through` makes other candidates than the sampler's, where the loss needs those.
    """
    if through in ("relaxed", "soft") and energy_loss is not None and energy_loss.needs_noise_log_prob:
        raise ConfigurationError(
            f"through: '{through}' makes candidates whose log-probability nobody knows, and "
            f"{type(energy_loss).__name__} needs it; take 'straight_through'."
        )
    samplers = sampler.samplers if isinstance(sampler, StackedSampler) else [sampler]
    other = [type(each).__name__ for each in samplers if not isinstance(each, (DiscreteSampler, type(None)))]
    if through == "relaxed" and other:
        raise ConfigurationError(
            "through: 'relaxed' puts independent draws from the task-net in the place of all candidates, and "
            f"the sampler, {other[0]}, finds others; take 'straight_through', or the sampler 'discrete'."
        )


def with_gradient(
    candidates: Candidates,
    logits: torch.Tensor,
    output_space: OutputSpace,
    mask: Optional[torch.Tensor] = None,
    through: str = "straight_through",
    cost_augmented: Optional[torch.Tensor] = None,
) -> Candidates:
    """
    The candidates as functions of the logits `z` of the network that they come from: an implicit gradient needs
    `d L_Prim / d theta`, and draws have no gradient of their own. With `p = relax(z)`, the candidates `y_k` are
    replaced by

        straight_through    y_k + (p - stop(p)), with the value of y_k and the gradient of p; for a candidate that is
                            the relaxed output this is exact. Gold and the result of a descent stay constants
        relaxed             as many new draws from the concrete distribution, which have a gradient of their own
        soft                p in place of one draw; the others are constants
        none                y_k itself, a constant, so that there is no implicit gradient; only for diagnosis

    # Parameters

    candidates : `Candidates`
    logits : `torch.Tensor`, `(batch, *structure)`
        The task-net's, with their graph.
    output_space : `OutputSpace`
    mask : `torch.BoolTensor`, optional
        `(batch, tokens)`, True at real tokens; `None` where all instances have one size.
    through : `str`, optional (default = `"straight_through"`)
        One of `THROUGH`.
    cost_augmented : `torch.Tensor`, `(batch, *structure)`, optional (default = `None`)
        The cost-augmented network's logits, with their graph, where candidates come from it.

    # Returns

    `Candidates`
        Relaxed outputs, whatever form the candidates had, except with `"none"`. With `"relaxed"` and `"soft"` they are
        new candidates, without a log-probability.

    # Raises

    `ConfigurationError` if no candidate comes from a network; with `"relaxed"` and `"soft"`, unless all come from the
    task-net.
    """
    if through == "none":
        return candidates
    sources = set(candidates.source_of_each())
    if sources == {CONSTANT}:
        raise ConfigurationError(
            "sampler: none of its candidates is a function of the task-net, so there is no implicit gradient; set "
            "implicit to false, or take 'task_net_output' or 'discrete'."
        )
    if through != "straight_through" and sources != {TASK_NET}:
        raise ConfigurationError(
            f"through: '{through}' makes new candidates from the task-net, and some of the sampler's are "
            "gold, the result of a descent or another network's; take 'straight_through'."
        )
    relaxed = output_space.relax(logits, mask)
    draws = _draws(candidates)
    if through == "relaxed":
        return Candidates(output_space.relaxed_sample(logits, draws, mask))
    # In the form of the relaxed output.
    outputs = output_space.stack(relaxed.detach(), candidates.outputs)[:, 1:]
    if through == "straight_through":
        slopes = relaxed - relaxed.detach()
        if sources != {TASK_NET}:
            slope_of = {TASK_NET: slopes, CONSTANT: torch.zeros_like(slopes)}
            if cost_augmented is not None:
                other = output_space.relax(cost_augmented, mask)
                slope_of[COST_AUGMENTED_NET] = other - other.detach()
            slopes = torch.cat([slope_of[source] for source in candidates.source_of_each()], dim=1)
        # All other fields stay, also those of a subclass.
        return replace(candidates, outputs=outputs + slopes)
    if candidates.log_count is None:
        return Candidates(torch.cat([relaxed, outputs[:, 1:]], dim=1))
    # Equal draws are merged, so no single draw can be replaced: all counts are reduced by the same factor.
    rest = candidates.log_count + (math.log1p(-1 / draws) if draws > 1 else -math.inf)
    return Candidates(
        torch.cat([relaxed, outputs], dim=1), log_count=torch.cat([torch.zeros_like(rest[:, :1]), rest], dim=1)
    )


def _draws(candidates: Candidates) -> int:
    """The number of draws of an instance, before equal ones are merged."""
    if candidates.log_count is None or len(candidates.log_count) == 0:
        return candidates.outputs.shape[1]
    return round(float(candidates.log_count[0].exp().sum()))
