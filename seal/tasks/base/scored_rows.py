"""The rows of a batch that have a loss or a score: finite outputs, and gold labels that the vocabulary knows."""

from collections.abc import Sequence
from typing import Any, Optional

import torch
from allennlp.common.checks import ConfigurationError


class NonFiniteOutput(ConfigurationError):
    """
    The error of an output that is infinite or NaN and therefore cannot be scored.

    # Parameters

    source : `str`, optional
        `file:line` of the input, if known.
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
    Checks that the outputs `scored`, `(rows, ...)`, are finite: metrics would count infinite values and NaN as ordinary
    predictions.

    # Raises

    `NonFiniteOutput` for the first row with an infinite value or NaN.
    """
    finite = torch.isfinite(scored)
    if not finite.all():
        row = int((~finite).flatten(1).any(dim=1).nonzero()[0])
        raise NonFiniteOutput(metadata[row].get("source") if metadata else None)


def rows_with_known_gold(unknown: Sequence[Sequence[str]], losses: torch.Tensor) -> torch.Tensor:
    """
    A mask over the rows of a batch, `(rows,)`, boolean: True where the vocabulary has all gold labels. The other rows
    have no loss.

    # Parameters

    unknown : `Sequence[Sequence[str]]`
        The unknown gold labels of each row, from `UnknownGold.note`; empty: none in any row.
    losses : `torch.Tensor`, `(rows,)`
        The losses, for the number of rows and the device.
    """
    return torch.tensor([not names for names in unknown] or [True] * len(losses), device=losses.device)


def masked_mean(values: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """The mean of `values (rows,)` over the rows where the mask `rows (rows,)` is True; 0 if it is False everywhere."""
    return (values * rows).sum() / rows.sum().clamp(min=1)
