"""
What a gradient descent over outputs keeps as candidates. A candidate is NaN if the objective was never finite on the
way to it.
"""

from collections.abc import Callable

import torch

from seal.output_spaces import CONSTANT, Candidates


class DescentRecord:
    """Is shown each iterate of a descent, and turns them into candidates at the end."""

    def see(self, outputs: torch.Tensor, value: torch.Tensor) -> None:
        """
        # Parameters

        outputs : `torch.Tensor`, `(batch, starts, *structure)`
            An iterate other than the last; nothing may change it afterwards.
        value : `torch.Tensor`, `(batch, starts)`
            Its objective, without gradient.
        """
        raise NotImplementedError

    def result(self, outputs: torch.Tensor, objective: Callable[[torch.Tensor], torch.Tensor]) -> Candidates:
        """
        # Parameters

        outputs : `torch.Tensor`, `(batch, starts, *structure)`
            The last iterate.
        objective : `Callable[[torch.Tensor], torch.Tensor]`
            Gives the objective of outputs, for a record that needs the last one's.

        # Returns

        `Candidates`
            Constants: where the descent ends is not differentiated, wherever it started.
        """
        raise NotImplementedError


class LastPoint(DescentRecord):
    """
    The last iterate of each start; NaN if the objective was finite at no earlier iterate.

    # Parameters

    outputs : `torch.Tensor`, `(batch, starts, *structure)`
        The first iterate.
    """

    def __init__(self, outputs: torch.Tensor) -> None:
        self._reached = torch.zeros(outputs.shape[:2], dtype=torch.bool, device=outputs.device)

    def see(self, outputs: torch.Tensor, value: torch.Tensor) -> None:
        self._reached |= value.isfinite()

    def result(self, outputs: torch.Tensor, objective: Callable[[torch.Tensor], torch.Tensor]) -> Candidates:
        return _constants(torch.where(of_each(self._reached, outputs), outputs, torch.nan))


class BestPoint(DescentRecord):
    """
    The iterate with the lowest finite objective over all starts and steps, the first and the last included: one
    candidate, NaN if the objective is finite nowhere.

    # Parameters

    outputs : `torch.Tensor`, `(batch, starts, *structure)`
        The first iterate.
    """

    def __init__(self, outputs: torch.Tensor) -> None:
        self._best = torch.full_like(outputs, torch.nan)
        self._least = torch.full(outputs.shape[:2], torch.inf, dtype=outputs.dtype, device=outputs.device)

    def see(self, outputs: torch.Tensor, value: torch.Tensor) -> None:
        lower = (value < self._least) & value.isfinite()
        self._best = torch.where(of_each(lower, outputs), outputs, self._best)
        self._least = torch.where(lower, value, self._least)

    def result(self, outputs: torch.Tensor, objective: Callable[[torch.Tensor], torch.Tensor]) -> Candidates:
        self.see(outputs, objective(outputs))
        winner = self._least.argmin(dim=1)
        return _constants(self._best[torch.arange(len(winner), device=winner.device), winner].unsqueeze(1))


class Trajectory(DescentRecord):
    """
    All iterates, in order; NaN for a start whose objective was finite at no iterate before the last.

    # Parameters

    outputs : `torch.Tensor`, `(batch, starts, *structure)`
        The first iterate.
    length : `int`
        The number of iterates with the first and the last. Where a descent ends earlier, since further steps would
        change nothing, the last one is repeated.
    """

    def __init__(self, outputs: torch.Tensor, length: int) -> None:
        self._reached = torch.zeros(outputs.shape[:2], dtype=torch.bool, device=outputs.device)
        self._length = length
        self._iterates: list[torch.Tensor] = []

    def see(self, outputs: torch.Tensor, value: torch.Tensor) -> None:
        self._iterates.append(outputs)
        self._reached |= value.isfinite()

    def result(self, outputs: torch.Tensor, objective: Callable[[torch.Tensor], torch.Tensor]) -> Candidates:
        iterates = self._iterates + [outputs] * (self._length - len(self._iterates))
        nowhere = ~of_each(self._reached, outputs)
        return _constants(torch.cat([iterate.masked_fill(nowhere, torch.nan) for iterate in iterates], dim=1))


def of_each(flags: torch.Tensor, outputs: torch.Tensor) -> torch.Tensor:
    """`flags`, `(batch, starts)`, viewed with as many dimensions as `outputs`."""
    return flags.view(*flags.shape, *[1] * (outputs.dim() - 2))


def _constants(outputs: torch.Tensor) -> Candidates:
    return Candidates(outputs, sources=(CONSTANT,) * outputs.shape[1])
