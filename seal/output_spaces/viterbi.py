from typing import Optional

import torch


@torch.no_grad()
def viterbi(
    scores: torch.Tensor,
    transitions: torch.Tensor,
    starts: Optional[torch.Tensor] = None,
    ends: Optional[torch.Tensor] = None,
    mask: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """
    The path of highest score for every sequence of a batch at once. (AllenNLP's `viterbi_decode` takes one
    sequence at a time, and its decoding is the larger part of its SRL predictor's time.)

    # Parameters

    scores : `torch.Tensor`, `(batch, tokens, tags)`
    transitions : `torch.Tensor`, `(tags, tags)`
        `transitions[i, j]` is added where tag `j` follows tag `i`.
    starts, ends : `torch.Tensor`, `(tags,)`, optional
        Added at the first and at the last real token.
    mask : `torch.BoolTensor`, `(batch, tokens)`, optional
        True at real tokens, which come first.

    # Returns

    `torch.LongTensor`, `(batch, tokens)`: 0 at padding.
    """
    batch, tokens, tags = scores.shape
    if mask is None:
        mask = torch.ones(batch, tokens, dtype=torch.bool, device=scores.device)
    best = scores[:, 0] if starts is None else scores[:, 0] + starts
    stay = torch.arange(tags, device=scores.device).expand(batch, tags)
    pointers = []
    for t in range(1, tokens):
        # shape: (batch, from, to)
        value, pointer = (best.unsqueeze(2) + transitions).max(dim=1)
        real = mask[:, t].unsqueeze(1)
        best = torch.where(real, value + scores[:, t], best)
        # At padding a path points to itself, so that following the pointers back passes through unchanged.
        pointers.append(torch.where(real, pointer, stay))
    if ends is not None:
        best = best + ends
    tag = best.argmax(dim=1)
    path = [tag]
    for pointer in reversed(pointers):
        tag = pointer.gather(1, tag.unsqueeze(1)).squeeze(1)
        path.append(tag)
    return torch.stack(path[::-1], dim=1) * mask
