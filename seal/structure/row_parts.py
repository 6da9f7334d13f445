"""Splits of rows into parts that do not share a group: folds for cross-fitting, and thirds for thresholds."""

import torch

from seal.common.equal_contents import in_order

#: A mask of the rows to learn from and a mask of the held-out rows, `(rows,)` each. No group is in both.
Part = tuple[torch.Tensor, torch.Tensor]


def group_numbers(rows: int, groups: torch.Tensor | None) -> torch.Tensor:
    """The number of each row's group, from 0 in order of appearance, `(rows,)`; without `groups`, each row is one."""
    return torch.arange(rows) if groups is None else torch.from_numpy(in_order(groups.cpu().numpy()))


def cross_fitting_parts(rows: int, folds: int, groups: torch.Tensor | None, most_rows: int) -> list[Part]:
    """
    The parts of cross-fitting: one for each fold. For more than `most_rows` rows there is one part, which holds out
    random groups of together a third of the rows, or of half of `most_rows` if that is less.
    """
    numbers = group_numbers(rows, groups)
    units = int(numbers.max()) + 1
    if rows <= most_rows:
        folds_of_rows = numbers % max(min(folds, units), 2)
        return [(folds_of_rows != fold, folds_of_rows == fold) for fold in folds_of_rows.unique()]
    order = torch.randperm(units, generator=torch.Generator().manual_seed(0))
    is_held_out = numbers.bincount()[order].cumsum(0) <= min(rows // 3, max(most_rows // 2, 1))
    is_held_out[0] = True
    held_out = is_held_out[order.argsort()][numbers]
    return [(~held_out, held_out)]


def thirds(rows: int, groups: torch.Tensor | None) -> list[Part]:
    """Three parts, or fewer if there are fewer groups, each of which holds out a third of the groups."""
    numbers = group_numbers(rows, groups)
    return [(numbers % 3 != part, numbers % 3 == part) for part in range(min(3, int(numbers.max()) + 1))]


def selected(values: torch.Tensor | None, rows: torch.Tensor) -> torch.Tensor | None:
    """`values[rows]`; `None` for `None`."""
    return None if values is None else values[rows]


def occurrences_in_group(groups: torch.Tensor, index: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """The sum of `counts` over the rows of a row's group that have its label set (`index`): `(rows,)`."""
    pairs, pair = torch.stack([groups, index], dim=1).unique(dim=0, return_inverse=True)
    return torch.zeros(len(pairs)).index_add(0, pair, counts)[pair]
