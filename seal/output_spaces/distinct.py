from typing import Tuple

import torch


def merge_equal(keys: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    Merges the equal draws of each instance.

    # Parameters

    keys : `torch.LongTensor`, `(batch, samples, size)`
        What tells draws apart.

    # Returns

    `(chosen, log_count)`, each `(batch, width)` with as many columns as the instance with the most distinct draws
    needs: the index, in `[0, batch * samples)`, of one of the equal draws, and the logarithm of how many there are.
    The other instances are filled up with their first draw at a count of `-inf`.
    """
    batch, samples, _ = keys.shape
    draws = torch.arange(batch * samples, device=keys.device)
    owner = torch.div(draws, samples, rounding_mode="floor")
    rows = torch.cat([owner.unsqueeze(1), keys.flatten(0, 1)], dim=1)
    rows, row_of_draw, counts = torch.unique(rows, dim=0, return_inverse=True, return_counts=True)
    owner = rows[:, 0]
    # Any of the equal draws can stand for a row.
    draw_of_row = torch.empty_like(owner).scatter_(0, row_of_draw, draws)
    per_instance = torch.bincount(owner, minlength=batch)
    # The rows are sorted by instance: a row's place is its distance from the instance's first row.
    place = torch.arange(len(rows), device=rows.device) - (per_instance.cumsum(0) - per_instance)[owner]
    width = int(per_instance.max())
    chosen = draws[::samples].unsqueeze(1).repeat(1, width)
    chosen[owner, place] = draw_of_row
    log_count = torch.full((batch, width), float("-inf"), device=keys.device)
    log_count[owner, place] = counts.float().log()
    return chosen, log_count
