from typing import Optional, Tuple

import torch
from torch.nn import functional as F


# So many tags a token are tried first, which is enough for most sequences.
FEW = 8
# Of sums of scores in another order, relative.
ROUNDING = 1e-4


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
    # The best paths through the tags of a token are all different, so that the tags that the k best paths have there
    # are among the k of the best such score. Among the best few of these alone, the k best paths may already be found:
    # a tag whose best path is below the last of them is in none.
    highest, order = _best_through(scores, transitions, mask).topk(min(k, tags), dim=2)
    paths, values = _among(scores, transitions, mask, k, order[:, :, :FEW])
    if order.shape[2] <= FEW:
        return paths, values
    least = values[:, -1] if values.shape[1] == k else values.new_full((batch,), -torch.inf)
    possible = (highest >= (least - ROUNDING * least.abs()).view(-1, 1, 1)) & (highest > -torch.inf)
    needed = (possible & mask.unsqueeze(2)).sum(dim=2).amax(dim=1)
    rows = (needed > FEW).nonzero().squeeze(1)
    if len(rows):
        more = order[rows, :, : int(needed.max())]
        found = _among(scores[rows], transitions, mask[rows], k, more)
        # Among more tags there are no fewer paths.
        wider = found[1].shape[1] - values.shape[1]
        paths = F.pad(paths, (0, 0, 0, wider)).index_put((rows,), found[0])
        values = F.pad(values, (0, wider), value=-torch.inf).index_put((rows,), found[1])
    return paths, values


def _among(
    scores: torch.Tensor, transitions: torch.Tensor, mask: torch.Tensor, k: int, kept: torch.Tensor
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The k best of the paths with the tags `kept`, `(batch, tokens, few)`."""
    batch, tokens, _ = scores.shape
    few = kept.shape[2]
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
        pointer = torch.where(real, pointer, F.pad(stay, (0, more)))
        pointers.append((pointer, ways))
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
