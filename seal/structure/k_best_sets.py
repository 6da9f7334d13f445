"""The k-best list of independent binary variables, such as the labels of a set."""

import torch


def k_best_sets(logits: torch.Tensor, k: int) -> torch.Tensor:
    """
    The `k` likeliest outputs under `P(y|x) = prod_l sigmoid(z_l)^{y_l} sigmoid(-z_l)^{1 - y_l}`, exactly.

    The likeliest output is `y_l = [z_l >= 0]`. Changing a variable lowers the log-probability by `|z_l|` nats, its
    cost. So the `k` likeliest outputs change the `k` sets of variables of the lowest total cost. If such a set has the
    variable of the `j`th lowest cost, then `j` other sets cost no more: the empty set, and each cheaper variable alone.
    So only the `k - 1` cheapest variables matter. They are added one after the other, keeping the `k` best sets.

    # Parameters

    logits : `torch.Tensor`, `(batch, variables)`
        The log-odds `z`.
    k : `int`, at least 1

    # Returns

    `torch.BoolTensor`, `(batch, outputs, variables)`
        The likeliest first; all `2^variables` where these are fewer than `k`.
    """
    batch, variables = logits.shape
    cost, places = logits.abs().topk(min(k - 1, variables), dim=1, largest=False)
    sums, changed = logits.new_zeros(batch, 1), logits.new_zeros(batch, 1, cost.shape[1], dtype=torch.bool)
    for j in range(cost.shape[1]):
        with_j = changed.clone()
        with_j[..., j] = True
        sums, changed = torch.cat([sums, sums + cost[:, j : j + 1]], dim=1), torch.cat([changed, with_j], dim=1)
        if sums.shape[1] > k:
            sums, best_k = sums.topk(k, dim=1, largest=False)
            changed = changed.gather(1, best_k.unsqueeze(2).expand(-1, -1, changed.shape[2]))
    order = sums.argsort(dim=1, stable=True).unsqueeze(2)
    changed = changed.gather(1, order.expand_as(changed))
    best = (logits >= 0).unsqueeze(1).repeat(1, changed.shape[1], 1)
    places = places.unsqueeze(1).expand_as(changed)
    return best.scatter(2, places, best.gather(2, places) ^ changed)
