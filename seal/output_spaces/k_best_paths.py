from typing import Optional

import torch
from torch.nn import functional as F


@torch.no_grad()
def k_best_paths(
    scores: torch.Tensor,
    transitions: torch.Tensor,
    k: int,
    starts: Optional[torch.Tensor] = None,
    ends: Optional[torch.Tensor] = None,
    mask: Optional[torch.Tensor] = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """
    The `k` paths of highest score of every sequence of a batch at once: best first search from left to right, with the
    exact score of the best way to the end as its bound, so that `k` beginnings are all that are kept.

    # Parameters

    scores : `torch.Tensor`, `(batch, tokens, tags)`
    transitions : `torch.Tensor`, `(tags, tags)`
        `transitions[i, j]` is added where tag `j` follows tag `i`.
    k : `int`
    starts, ends : `torch.Tensor`, `(tags,)`, optional
        Added at the first and at the last real token.
    mask : `torch.BoolTensor`, `(batch, tokens)`, optional
        True at real tokens, which come first.

    # Returns

    `(paths, values)`
        `torch.LongTensor`, `(batch, k, tokens)`, 0 at padding, the best first and all different; and their scores,
        `(batch, k)`. `k` is less where no sequence has so many paths; where only some have, the others are filled up
        with paths of the score `-inf`.
    """
    batch, tokens, tags = scores.shape
    if mask is None:
        mask = torch.ones(batch, tokens, dtype=torch.bool, device=scores.device)
    scores = scores.clone()
    if starts is not None:
        scores[:, 0] += starts
    if ends is not None:
        last = mask.sum(dim=1) - 1
        scores[torch.arange(batch, device=scores.device), last] += ends
    best_rest = _best_rest(scores, transitions, mask)
    # A beginning's bound, its score and that of the best way to end it, is the score of a whole path, and the best
    # paths of different beginnings differ: those of the k best paths are among the k beginnings of the highest bounds.
    tag = (scores[:, 0] + best_rest[0]).topk(min(k, tags), dim=1).indices
    value = scores[:, 0].gather(1, tag)
    chosen, pointers = [tag], []
    for t in range(1, tokens):
        width = value.shape[1]
        longer = value.unsqueeze(2) + transitions[tag] + scores[:, t].unsqueeze(1)
        bounds = (longer + best_rest[t].unsqueeze(1)).flatten(1)
        place = bounds.topk(min(k, width * tags), dim=1).indices
        # At padding each path stays what it is.
        more = place.shape[1] - width
        same = torch.arange(width + more, device=scores.device).clamp(max=width - 1).expand_as(place)
        real = mask[:, t, None]
        pointer = torch.where(real, place // tags, same)
        value = torch.where(real, longer.flatten(1).gather(1, place), F.pad(value, (0, more), value=-torch.inf))
        tag = torch.where(real, place % tags, tag.gather(1, same))
        chosen.append(tag)
        pointers.append(pointer)
    place = torch.arange(value.shape[1], device=scores.device).expand_as(value)
    path = [tag]
    for before, pointer in zip(chosen[-2::-1], reversed(pointers)):
        place = pointer.gather(1, place)
        path.append(before.gather(1, place))
    return torch.stack(path[::-1], dim=2) * mask.unsqueeze(1), value


def _best_rest(scores: torch.Tensor, transitions: torch.Tensor, mask: torch.Tensor) -> list[torch.Tensor]:
    """For each token the score of the best way to go on from each tag to the end: `(batch, tags)`."""
    rest = torch.zeros_like(scores[:, 0])
    found = [rest]
    for t in range(scores.shape[1] - 1, 0, -1):
        value = (transitions + (scores[:, t] + rest).unsqueeze(1)).amax(dim=2)
        rest = torch.where(mask[:, t, None], value, rest)
        found.append(rest)
    return found[::-1]
