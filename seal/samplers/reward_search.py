"""A random local search for an output of high reward."""

import torch

from seal.output_spaces import TagSequence
from seal.registry import ConfigurationError, FromParams
from seal.rewards import BatchReward


class RewardSearch(FromParams):
    """
    A random local search for an output of high reward, which starts from the candidate of the highest reward. In each
    round `flips` random changes of the tag of a single word are tried, and the best of them is taken if it raises the
    reward. The search is truncated: it ends after `rounds` rounds, whatever it has found by then (the idea of
    search-guided training, Rooshenas et al. 2019).

    # Parameters

    rounds : `int`, optional (default = `10`)
        With 0 the result is the candidate itself.
    flips : `int`, optional (default = `10`)

    # Raises

    `ConfigurationError` if `rounds` is below 0 or `flips` below 1.
    """

    def __init__(self, rounds: int = 10, flips: int = 10) -> None:
        if rounds < 0 or flips < 1:
            raise ConfigurationError(f"search: rounds is at least 0 and flips at least 1; found {rounds} and {flips}.")
        self._rounds, self._flips = rounds, flips

    @torch.no_grad()
    def __call__(
        self,
        reward: BatchReward,
        candidates: torch.Tensor,
        output_space: TagSequence,
        mask: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """
        # Parameters

        reward : `BatchReward`
        candidates : `torch.LongTensor`, `(batch, samples, tokens)`
        mask : `torch.BoolTensor`, `(batch, tokens)`

        # Returns

        The output that was found, `(batch, tokens)`, and its reward, `(batch,)`, which is at least that of every
        candidate.
        """
        found, best = _best(candidates, reward(candidates, mask))
        lengths = mask.sum(dim=1, keepdim=True)
        for _ in range(self._rounds):
            flipped = found.unsqueeze(1).repeat(1, self._flips, 1)
            # shape: (batch, flips)
            places = (torch.rand(flipped.shape[:2], device=found.device) * lengths).long()
            tags = torch.randint(output_space.num_labels, flipped.shape[:2], device=found.device)
            flipped.scatter_(2, places.unsqueeze(2), tags.unsqueeze(2))
            tried, value = _best(flipped, reward(flipped, mask))
            better = value > best
            found = torch.where(better.unsqueeze(1), tried, found)
            best = torch.where(better, value, best)
        return found, best


def _best(outputs: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    best, place = values.max(dim=1)
    return outputs[torch.arange(len(outputs), device=outputs.device), place], best
