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

        straight_through    y_k + p - stop(p): the draw in value, the relaxed output in gradient. Of a candidate
                            that is the relaxed output, this is exact.
        relaxed             a new draw of the concrete distribution, with its own gradient
        soft                p in the place of the first candidate; the others are constants
        none                a constant: there is no implicit part, only for diagnosis

    # Parameters

    candidates : `Candidates`
    logits : `torch.Tensor`, `(batch, *structure)`
        With the task-net's graph.
    path : `str`, optional (default = `"straight_through"`)

    # Returns

    `Candidates`
        Relaxed outputs, whatever form the candidates had, but for `"none"`.
    """
    if path == "none":
        return candidates
    relaxed = output_space.relax(logits, mask)
    if path == "relaxed":
        return Candidates(output_space.relaxed_sample(logits, candidates.outputs.shape[1], mask))
    # Both in one form.
    outputs = output_space.stack(relaxed.detach(), candidates.outputs)[:, 1:]
    if path == "soft":
        outputs = torch.cat([relaxed, outputs[:, 1:]], dim=1)
    else:
        outputs = outputs + relaxed - relaxed.detach()
    # What else it carries stays, of whatever kind of candidates.
    return replace(candidates, outputs=outputs)
