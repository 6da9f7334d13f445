from typing import Optional, Tuple

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
) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    The `k` paths of highest score of every sequence of a batch at once: `viterbi` with the k best ways to each tag in
    place of the best one.

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
    # The tags that the k best paths have at a token are among the k of the best paths through them: the best path
    # through each tag is another one. The others are left out, which saves most of the work.
    few = min(k, tags)
    kept = _best_through(scores, transitions, mask).topk(few, dim=2).indices
    scores = scores.gather(2, kept)
    # shape: (batch, tags, ways), the scores of the best ways to be at each tag
    best = scores[:, 0].unsqueeze(2)
    pointers = []
    for t in range(1, tokens):
        ways = best.shape[2]
        step = transitions[kept[:, t - 1].unsqueeze(1), kept[:, t].unsqueeze(2)]
        # shape: (batch, to, from * ways)
        reached = (best.unsqueeze(1) + step.unsqueeze(3)).flatten(2)
        value, pointer = reached.topk(min(k, few * ways), dim=2)
        value = value + scores[:, t].unsqueeze(2)
        # At padding each way stays where it is.
        more = value.shape[2] - ways
        stay = torch.arange(few * ways, device=scores.device).view(few, ways).expand(batch, few, ways)
        real = mask[:, t, None, None]
        best = torch.where(real, value, F.pad(best, (0, more), value=-torch.inf))
        pointers.append((torch.where(real, pointer, F.pad(stay, (0, more))), ways))
    ways = best.shape[2]
    values, place = best.flatten(1).topk(min(k, few * ways), dim=1)
    path = [place // ways]
    for pointer, before in reversed(pointers):
        place = pointer.flatten(1).gather(1, place)
        path.append(place // before)
    # At padding a path's place is that of its last token, whatever tag was kept there.
    paths = torch.stack(path[::-1], dim=2)
    return kept.gather(2, paths.transpose(1, 2)).transpose(1, 2) * mask.unsqueeze(1), values


def _best_through(scores: torch.Tensor, transitions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The score of the best path through each tag of each token: `(batch, tokens, tags)`."""
    forward, backward = [scores[:, 0]], [torch.zeros_like(scores[:, 0])]
    for t in range(1, scores.shape[1]):
        value = (forward[-1].unsqueeze(2) + transitions).amax(dim=1) + scores[:, t]
        forward.append(torch.where(mask[:, t, None], value, forward[-1]))
    for t in range(scores.shape[1] - 1, 0, -1):
        value = (transitions + (scores[:, t] + backward[-1]).unsqueeze(1)).amax(dim=2)
        backward.append(torch.where(mask[:, t, None], value, backward[-1]))
    return torch.stack(forward, dim=1) + torch.stack(backward[::-1], dim=1)
