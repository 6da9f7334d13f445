import copy
from dataclasses import dataclass
from functools import cached_property

import torch
from torch.nn import functional as F


@dataclass
class CompetingLabelSets:
    """
    Label sets that compete, the same for all instances.

    # Parameters

    logits : `torch.Tensor`, `(batch, labels)`
        The task-net's log-odds of each label.
    sets : `torch.Tensor`, `(candidates, labels)`
        0 or 1, floating.
    counts : `torch.Tensor`, `(candidates,)`
        How often each set occurs in the training data.
    gold : `torch.LongTensor`, `(batch,)`, optional
        The index of each instance's gold set, -1 where it does not compete.
    own : `bool`, optional (default = `False`)
        Whether the instances are training data. Their own occurrence is then left out: gold counts one less, and gold
        that occurs once does not compete.
    """

    logits: torch.Tensor
    sets: torch.Tensor
    counts: torch.Tensor
    gold: torch.Tensor | None = None
    own: bool = False

    def __post_init__(self) -> None:
        if self.own:
            alone = (self.gold >= 0) & (self.counts[self.gold] <= 1)
            self._dropped = torch.where(alone, self.gold, -1)
            self.gold = torch.where(alone, -1, self.gold)
        # log P(y|x) = sum_l y_l z_l - softplus(z_l)
        self.log_prob = self.product(self.logits) - F.softplus(self.logits).sum(dim=1, keepdim=True)
        if self.own:
            rows = (self._dropped >= 0).nonzero().squeeze(1)
            self.log_prob[rows, self._dropped[rows]] = -torch.inf

    def outputs_and_mask(self) -> tuple[torch.Tensor, None]:
        """What constraints are asked about, the same for all instances."""
        return self.sets.unsqueeze(0), None

    def with_gold(self) -> "CompetingLabelSets":
        """The instances whose gold competes."""
        rows = (self.gold >= 0).nonzero().squeeze(1)
        if len(rows) == len(self.gold):
            return self
        some = copy.copy(self)
        some.__dict__.pop("log_counts", None)
        some.logits, some.gold, some.log_prob = self.logits[rows], self.gold[rows], self.log_prob[rows]
        return some

    def product(self, weights: torch.Tensor) -> torch.Tensor:
        """`sum_l w_l y_l`: `(labels,)` to `(candidates,)`, `(batch, labels)` to `(batch, candidates)`."""
        return weights @ self.sets.T

    def sizes(self) -> torch.Tensor:
        """The number of labels of each candidate, `(candidates,)`."""
        return self.sets.sum(dim=1).long()

    @cached_property
    def log_counts(self) -> torch.Tensor:
        """
        The logarithm of the candidates' counts, an instance's own occurrence left out: `(candidates,)`, or `(batch,
        candidates)` for training data.
        """
        logs = self.counts.clamp(min=1).log()
        if not self.own:
            return logs
        logs = logs.repeat(len(self.logits), 1)
        rows = (self.gold >= 0).nonzero().squeeze(1)
        gold = self.gold[rows]
        logs[rows, gold] = (self.counts[gold] - 1).clamp(min=1).log()
        return logs


def known_sets(gold: torch.Tensor, limit: int = 20000) -> tuple[torch.Tensor, torch.Tensor]:
    """
    The label sets that occur, the most frequent first.

    # Parameters

    gold : `torch.Tensor`, `(rows, labels)`, 0 or 1
    limit : `int`, optional (default = `20000`)
        Only so many, the most frequent ones.

    # Returns

    `(sets (sets, labels), counts (sets,))`, both floating.
    """
    sets, counts = gold.bool().unique(dim=0, return_counts=True)
    order = counts.argsort(descending=True, stable=True)[:limit]
    return sets[order].float(), counts[order].float()


def index_of(sets: torch.Tensor, gold: torch.Tensor) -> torch.Tensor:
    """The index in `sets (sets, labels)` of each row of `gold (rows, labels)`, -1 where it is not there: `(rows,)`."""
    index = {row.tobytes(): i for i, row in enumerate(sets.bool().cpu().numpy())}
    found = [index.get(row.tobytes(), -1) for row in gold.bool().cpu().numpy()]
    return torch.tensor(found, dtype=torch.long, device=gold.device)
