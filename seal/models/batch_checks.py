"""
Checks of a batch, and of the model's output for it. Each mistake is a `ConfigurationError`.
"""

from collections.abc import Sequence
from typing import Any, Optional

import torch
from allennlp.common.checks import ConfigurationError


class NonFiniteOutput(ConfigurationError):
    """
    An output that is to be scored is not finite.

    # Parameters

    source : `str`, optional
        Where its input is from, `file:line`, if known.
    """

    def __init__(self, source: Optional[str]) -> None:
        where = f" for {source}" if source else ""
        super().__init__(
            f"the model's output{where} is not finite and cannot be scored: either the values of the input are too "
            "large for the model, or its training has diverged; scale the input, or train again at a lower rate."
        )
        self.source = source


def check_scored(scored: torch.Tensor, metadata: Optional[list[dict[str, Any]]]) -> None:
    """
    Refuses to score outputs, `(rows, ...)`, that are not finite: metrics would count them as predictions like any
    others.

    # Raises

    `NonFiniteOutput` for the first such row.
    """
    finite = torch.isfinite(scored)
    if not finite.all():
        row = int((~finite).flatten(1).any(dim=1).nonzero()[0])
        raise NonFiniteOutput(metadata[row].get("source") if metadata else None)


def known_rows(unknown: Sequence[Sequence[str]], losses: torch.Tensor) -> torch.Tensor:
    """
    The rows, of `losses (rows,)`, that have no gold the vocabulary lacks, which has no loss: `(rows,)`, boolean.
    `unknown` is what `UnknownGold.note` returns; if it is empty, all rows.
    """
    return torch.tensor([not names for names in unknown] or [True] * len(losses), device=losses.device)


def mean_of(values: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """The mean of `values` over the rows marked True; 0 where there is none."""
    return (values * rows).sum() / rows.sum().clamp(min=1)
