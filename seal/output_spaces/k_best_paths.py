from typing import Optional

import torch

from seal.output_spaces.k_best_paths_on_cpu import k_best_paths_on_cpu


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
    if mask is None:
        mask = torch.ones(scores.shape[:2], dtype=torch.bool, device=scores.device)
    transitions = transitions.to(scores.dtype)
    search = k_best_paths_on_cpu if scores.device.type == "cpu" else k_best_paths_on_gpu
    return search(scores, transitions, k, starts, ends, mask)


def k_best_paths_on_gpu(
    scores: torch.Tensor,
    transitions: torch.Tensor,
    k: int,
    starts: Optional[torch.Tensor],
    ends: Optional[torch.Tensor],
    mask: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """As `k_best_paths`, in whatever way is fast on a GPU."""
    batch, tokens, tags = scores.shape
    scores = scores.clone()
    if starts is not None:
        scores[:, 0] += starts
    if ends is not None:
        last = mask.sum(dim=1) - 1
        scores[torch.arange(batch, device=scores.device), last] += ends
    whole = mask.all(dim=0).tolist()
    rest = _best_rest(scores, transitions, mask, whole)
    # What a step to a tag brings with the best way on from there; and what is taken back of the tag before. A tag that
    # no way leads on from has a bound of -inf already.
    brings = scores + rest
    taken = rest.clamp(min=torch.finfo(rest.dtype).min / 4)
    stay = torch.full_like(transitions, -torch.inf).fill_diagonal_(0)
    # A beginning's bound, its score and that of the best way to end it, is the score of a whole path, and the best
    # paths of different beginnings differ: those of the k best paths are among the k beginnings of the highest bounds.
    bound, tag = brings[:, 0].topk(min(k, tags), dim=1)
    places = [tag]
    for t in range(1, tokens):
        step = transitions[tag] + brings[:, t, None]
        if not whole[t]:
            # At padding each path stays what it is.
            step = torch.where(mask[:, t, None, None], step, stay[tag] + taken[:, t, None])
        bounds = (bound - taken[:, t - 1].gather(1, tag)).unsqueeze(2) + step
        bound, place = bounds.flatten(1).topk(min(k, bounds.shape[1] * tags), dim=1)
        tag = place % tags
        places.append(place)
    # A place is that of the path that is made longer, in `tags` parts.
    place = places[-1]
    path = [place]
    for before in places[-2::-1]:
        place = before.gather(1, place // tags)
        path.append(place)
    paths = torch.stack(path[::-1], dim=2) % tags * mask.unsqueeze(1)
    # Bounds are rounded at each token; a path's score is a sum once.
    value = scores.gather(2, paths.transpose(1, 2)).masked_fill(~mask.unsqueeze(2), 0).sum(dim=1)
    moves = transitions[paths[:, :, :-1], paths[:, :, 1:]].masked_fill(~mask[:, None, 1:], 0)
    return paths, torch.where(bound == -torch.inf, bound, value + moves.sum(dim=2))


def _best_rest(scores: torch.Tensor, transitions: torch.Tensor, mask: torch.Tensor, whole: list[bool]) -> torch.Tensor:
    """For each token the score of the best way to go on from each tag to the end: `(batch, tokens, tags)`."""
    rest = torch.zeros_like(scores[:, 0])
    found = [rest]
    for t in range(scores.shape[1] - 1, 0, -1):
        value = (transitions + (scores[:, t] + rest).unsqueeze(1)).amax(dim=2)
        rest = value if whole[t] else torch.where(mask[:, t, None], value, rest)
        found.append(rest)
    return torch.stack(found[::-1], dim=1)
