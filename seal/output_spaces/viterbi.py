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
    # shape: (to, from), so that the maximum is over neighbours in memory
    into = transitions.t().contiguous()
    bests = [best]
    for t in range(1, tokens):
        value = (best.unsqueeze(1) + into).amax(dim=2)
        best = torch.where(mask[:, t].unsqueeze(1), value + scores[:, t], best)
        bests.append(best)
    tag = (best if ends is None else best + ends).argmax(dim=1)
    path = [tag]
    for t in range(tokens - 1, 0, -1):
        # Which tag came before is asked for the tags of the path alone: an `argmax` takes far longer than an `amax`.
        before = (bests[t - 1] + into[tag]).argmax(dim=1)
        tag = torch.where(mask[:, t], before, tag)
        path.append(tag)
    return torch.stack(path[::-1], dim=1) * mask
