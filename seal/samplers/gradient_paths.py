import math
from dataclasses import replace
from typing import Optional

import torch
from allennlp.common.checks import ConfigurationError

from seal.output_spaces import Candidates, OutputSpace

#: How the gradient of a loss of candidates reaches the logits that they were drawn from.
PATHS = ("straight_through", "relaxed", "soft", "none")


def check_path(path: str, key: str) -> None:
    if path not in PATHS:
        raise ConfigurationError(f"{key}: one of {', '.join(PATHS)}, not '{path}'.")


def with_gradient(
    candidates: Candidates,
    logits: torch.Tensor,
    output_space: OutputSpace,
    mask: Optional[torch.Tensor] = None,
    path: str = "straight_through",
) -> Candidates:
    """
    The candidates as functions of the task-net's logits `z` (SA8 and SA9): an implicit gradient needs
    `d L_Prim / d theta`, and draws have none of their own. With `p = relax(z)`, the candidate `y_k` becomes

        straight_through    y_k + (p - stop(p)): the draw in value, the relaxed output in gradient. Of a candidate
                            that is the relaxed output, this is exact.
        relaxed             as many new draws of the concrete distribution, with their own gradient
        soft                p in the place of one draw; the others are constants
        none                a constant: there is no implicit part, only for diagnosis

    # Parameters

    candidates : `Candidates`
    logits : `torch.Tensor`, `(batch, *structure)`
        With the task-net's graph.
    path : `str`, optional (default = `"straight_through"`)

    # Returns

    `Candidates`
        Relaxed outputs, whatever form the candidates had, but for `"none"`. New ones, `"relaxed"` and `"soft"`, come
        without a log-probability.
    """
    if path == "none":
        return candidates
    relaxed = output_space.relax(logits, mask)
    draws = _draws(candidates)
    if path == "relaxed":
        return Candidates(output_space.relaxed_sample(logits, draws, mask))
    # Both in one form.
    outputs = output_space.stack(relaxed.detach(), candidates.outputs)[:, 1:]
    if path == "straight_through":
        # What else it carries stays, of whatever kind of candidates.
        return replace(candidates, outputs=outputs + (relaxed - relaxed.detach()))
    if candidates.log_count is None:
        return Candidates(torch.cat([relaxed, outputs[:, 1:]], dim=1))
    # Which of the draws makes room is nobody's choice where equal ones are merged: each does by as much.
    rest = candidates.log_count + (math.log1p(-1 / draws) if draws > 1 else -math.inf)
    return Candidates(
        torch.cat([relaxed, outputs], dim=1), log_count=torch.cat([torch.zeros_like(rest[:, :1]), rest], dim=1)
    )


def _draws(candidates: Candidates) -> int:
    """How many an instance has, before equal ones are merged."""
    if candidates.log_count is None or len(candidates.log_count) == 0:
        return candidates.outputs.shape[1]
    return round(float(candidates.log_count[0].exp().sum()))
