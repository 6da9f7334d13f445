"""The best path of each linear chain of a batch, by Viterbi's algorithm, and its k-best list."""

from typing import Optional

import numpy as np
import torch
from torch.nn import functional as F


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
        # An `argmax` takes far longer than an `amax`, so it is computed for the tags of the best path only.
        before = (bests[t - 1] + into[tag]).argmax(dim=1)
        tag = torch.where(mask[:, t], before, tag)
        path.append(tag)
    return torch.stack(path[::-1], dim=1) * mask


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
    The `k` paths of highest score for every sequence of a batch at once, by a search from left to right. The bound of a
    prefix is its score plus the exact score of the best way to the end, so that keeping `k` prefixes is enough.

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
        `(batch, k)`. `k` is smaller if no sequence has so many paths. Sequences with fewer paths than others are filled
        up with paths of the score `-inf`.
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
    """`k_best_paths` with torch, for a GPU."""
    batch, tokens, tags = scores.shape
    scores = scores.clone()
    if starts is not None:
        scores[:, 0] += starts
    if ends is not None:
        last = mask.sum(dim=1) - 1
        scores[torch.arange(batch, device=scores.device), last] += ends
    whole = mask.all(dim=0).tolist()
    rest = _best_rest(scores, transitions, mask, whole)
    # A step to a tag adds `brings` to the bound, the tag's score and the best rest from there; `taken`, the best rest
    # of the tag before, is subtracted. Tags without a path to the end have the bound -inf already.
    brings = scores + rest
    taken = rest.clamp(min=torch.finfo(rest.dtype).min / 4)
    stay = torch.full_like(transitions, -torch.inf).fill_diagonal_(0)
    # The bound of a prefix is the score of a whole path, and different prefixes have different best paths. So the
    # prefixes of the k best paths are among the k prefixes of the highest bounds.
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
    # `place // tags` is the index of the prefix that is extended, and `place % tags` its new tag.
    place = places[-1]
    path = [place]
    for before in places[-2::-1]:
        place = before.gather(1, place // tags)
        path.append(place)
    paths = torch.stack(path[::-1], dim=2) % tags * mask.unsqueeze(1)
    # Bounds are rounded at each token, so the scores are summed again.
    value = scores.gather(2, paths.transpose(1, 2)).masked_fill(~mask.unsqueeze(2), 0).sum(dim=1)
    moves = transitions[paths[:, :, :-1], paths[:, :, 1:]].masked_fill(~mask[:, None, 1:], 0)
    return paths, torch.where(bound == -torch.inf, bound, value + moves.sum(dim=2))


def _best_rest(scores: torch.Tensor, transitions: torch.Tensor, mask: torch.Tensor, whole: list[bool]) -> torch.Tensor:
    """The score of the best path from each tag of each token to the end, without the tag: `(batch, tokens, tags)`."""
    rest = torch.zeros_like(scores[:, 0])
    rests = [rest]
    for t in range(scores.shape[1] - 1, 0, -1):
        value = (transitions + (scores[:, t] + rest).unsqueeze(1)).amax(dim=2)
        rest = value if whole[t] else torch.where(mask[:, t, None], value, rest)
        rests.append(rest)
    return torch.stack(rests[::-1], dim=1)


def k_best_paths_on_cpu(
    scores: torch.Tensor,
    transitions: torch.Tensor,
    k: int,
    starts: Optional[torch.Tensor],
    ends: Optional[torch.Tensor],
    mask: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`k_best_paths` with NumPy, whose partition and small operations take half of torch's time on a CPU."""
    batch, tokens, tags = scores.shape
    width = min(k, tags**tokens)
    if batch == 0:
        return torch.zeros(0, width, tokens, dtype=torch.long), scores.new_zeros(0, width)
    lengths = mask.numpy().sum(axis=1)
    longest = max(int(lengths.max()), 1)
    if longest < tokens:
        found = k_best_paths_on_cpu(scores[:, :longest], transitions, k, starts, ends, mask[:, :longest])
        return F.pad(found[0], (0, tokens - longest)), found[1]
    # The longest sequences first, so that at each token the unfinished sequences are the first ones.
    order = np.argsort(-lengths)
    # shape: (tokens, batch)
    real = np.arange(tokens)[:, None] < lengths[order]
    having = real.sum(axis=1).tolist()
    # shape: (tokens, batch, tags)
    scores = scores.transpose(0, 1).index_select(1, torch.from_numpy(order))
    if starts is not None:
        scores[0] += starts
    if ends is not None:
        scores.numpy()[lengths[order] - 1, np.arange(batch)] += ends.detach().numpy()
    rest = _best_rest_on_cpu(scores, transitions, having)
    # A step to a tag adds `brings` to the bound, the tag's score and the best rest from there; `taken`, the best rest
    # of the tag before, is subtracted. Tags without a path to the end have the bound -inf already.
    brings = scores + rest
    taken = rest.clamp(min=torch.finfo(rest.dtype).min / 4).numpy().reshape(tokens, batch * tags)
    pairs = transitions.detach().numpy()
    bounds = np.full((batch, width), -np.inf, dtype=pairs.dtype)
    # Prefixes are numbered through the batch, `many` for each sequence.
    bound, place = _highest(brings[0].numpy(), k)
    tag = place % tags
    steps = [(np.zeros_like(place), tag)]
    many = len(place) // batch
    bounds[:, :many] = bound.reshape(batch, many)
    first = np.arange(0, batch * tags, tags).repeat(many)
    memory = scores.new_empty(batch * width, tags)
    for t in range(1, tokens):
        number = having[t]
        bound, tag = bound[: number * many], tag[: number * many]
        longer = memory[: len(tag)]
        pairs.take(tag, axis=0, out=longer.numpy(), mode="clip")
        # torch is faster at these sums.
        longer += torch.from_numpy(bound - taken[t - 1].take(first[: len(tag)] + tag)).unsqueeze(1)
        longer = longer.view(number, many, tags)
        longer += brings[t, :number, None]
        # The best extension of each prefix has the prefix's bound, except for rounding.
        least = bound.reshape(number, many).min(axis=1) if many == k else None
        bound, place = _highest(longer.view(number, -1).numpy(), k, least)
        before, tag = np.divmod(place, tags)
        steps.append((before, tag))
        if len(place) != number * many:
            many = len(place) // number
            first = np.arange(0, number * tags, tags).repeat(many)
        bounds[:number, :many] = bound.reshape(number, many)
    rank = np.argsort(-bounds, axis=1)
    bounds = np.take_along_axis(bounds, rank, axis=1)
    paths = np.zeros((tokens, batch, width), dtype=np.int64)
    for t in range(tokens - 1, -1, -1):
        (before, tag), number = steps[t], having[t]
        ended = having[t + 1] if t + 1 < tokens else 0
        if ended < number:
            # Sequences that end here. They may have fewer prefixes than paths.
            many = len(tag) // number
            rank[ended:number] = rank[ended:number].clip(max=many - 1) + many * np.arange(ended, number)[:, None]
        paths[t, :number] = tag.take(rank[:number])
        rank[:number] = before.take(rank[:number])
    # Bounds are rounded at each token, so the scores are summed again.
    values = scores.gather(2, torch.from_numpy(paths)).numpy()
    moves = pairs.ravel().take(paths[:-1] * tags + paths[1:])
    if having[-1] < batch:
        values[~real], moves[~real[1:]] = 0, 0
    values = np.where(bounds == -np.inf, bounds, values.sum(axis=0) + moves.sum(axis=0))
    back = torch.from_numpy(order.argsort())
    return torch.from_numpy(paths).permute(1, 2, 0).contiguous()[back], torch.from_numpy(values)[back]


# The least length of a row for which filtering by `about` is faster than a partition of the whole row.
_MANY = 512


def _highest(table: np.ndarray, k: int, about: Optional[np.ndarray] = None) -> tuple[np.ndarray, np.ndarray]:
    """
    The `k` highest values of each row, or all if there are fewer, and their flat indices in the table, row by row.
    `about`, `(rows,)`, makes it faster: a value for each row that at least `k` of its values, and few more, reach.
    """
    rows, number = table.shape
    if k >= number:
        return table.flatten(), np.arange(table.size)
    if about is not None and number >= _MANY:
        reaching = np.flatnonzero(table >= (about - 1e-4 * (1 + np.abs(about)))[:, None])
        row = reaching // number
        counts = np.bincount(row, minlength=rows)
        width = int(counts.max())
        if counts.min() >= k and 2 * width <= number:
            slots = np.arange(len(row)) + (width * np.arange(rows) - counts.cumsum() + counts)[row]
            few, places = np.full(rows * width, -np.inf, dtype=table.dtype), np.zeros(rows * width, dtype=np.int64)
            few[slots], places[slots] = table.ravel().take(reaching), reaching
            values, chosen = _highest(few.reshape(rows, width), k)
            return values, places.take(chosen)
    least = np.partition(table, number - k, axis=1)[:, number - k, None]
    reached = table >= least
    places = np.flatnonzero(reached)
    if len(places) != rows * k:
        # More than `k` values reach `least` if some are equal, and fewer if some are NaN.
        for row in np.flatnonzero(reached.sum(axis=1) != k):
            reached[row] = False
            reached[row, np.argpartition(table[row], number - k)[number - k :]] = True
        places = np.flatnonzero(reached)
    return table.ravel().take(places), places


def _best_rest_on_cpu(scores: torch.Tensor, transitions: torch.Tensor, having: list[int]) -> torch.Tensor:
    """The score of the best path from each tag of each token to the end, without the tag: `(tokens, batch, tags)`."""
    # With the batch last, a maximum over tags reads neighbours in memory, for many sequences at once.
    columns, pairs = scores.transpose(1, 2).contiguous(), transitions.unsqueeze(2)
    rest = torch.zeros_like(columns)
    for t in range(len(columns) - 1, 0, -1):
        torch.amax(pairs + (columns[t] + rest[t]), dim=1, out=rest[t - 1])
        rest[t - 1, :, having[t] :] = 0
    return rest.transpose(1, 2).contiguous()
