"""`TagPaths`: the k-best lists of a tagger for a batch of sentences or frames."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Optional

import torch

from seal.common.setting_checks import require
from seal.registry import ConfigurationError
from seal.structure.tag_sequences import ExcludedGold, TagCandidates, TagScheme, find_gold


@dataclass
class TagPaths:
    """
    The k-best lists of tag sequences of a batch of instances. A run saves the lists of its training data.

    # Parameters

    tags : `torch.Tensor`, `(batch, candidates, tokens)`
        The best first, of any integer type.
    log_prob : `torch.Tensor`, `(batch, candidates)`
        In nats; `-inf` for a filler.
    mask : `torch.BoolTensor`, `(batch, tokens)`
    gold : `torch.Tensor`, `(batch, tokens)`, optional
    keys : `list[str]`, optional
        The word of each instance's predicate, for frames.
    token_log_prob : `torch.Tensor`, `(batch, candidates, tokens)`, optional
        `log P(y_t|x)`, the logarithm of the task-net's marginal, of each tag of each candidate.
    words : `list[list[str]]`, optional
        The words of each instance.
    places : `list[int]`, optional
        The index of each frame's predicate among its words.
    lemmas : `list[Optional[str]]`, optional
        The lemma of each frame's predicate, where the data have it.
    groups : `list[int]`, optional
        The number of each instance's group. By default instances of equal words, whatever their case, are one group.
        An energy's counts of training data leave out all of an instance's group.

    # Raises

    `ConfigurationError` if the shapes do not fit each other.
    """

    tags: torch.Tensor
    log_prob: torch.Tensor
    mask: torch.Tensor
    gold: Optional[torch.Tensor] = None
    keys: list[str] = field(default_factory=list)
    token_log_prob: Optional[torch.Tensor] = None
    words: list[list[str]] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    lemmas: list[Optional[str]] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.tags.dim() != 3:
            raise ConfigurationError(f"tags: (batch, candidates, tokens) is needed, not {tuple(self.tags.shape)}.")
        batch, candidates, tokens = self.tags.shape
        for name, wanted in {"log_prob": (batch, candidates), "mask": (batch, tokens), "gold": (batch, tokens)}.items():
            found = getattr(self, name)
            if found is not None and tuple(found.shape) != wanted:
                raise ConfigurationError(
                    f"{name}: {wanted} is needed for tags of {tuple(self.tags.shape)}, not {tuple(found.shape)}."
                )
        if len(self.keys) not in (0, batch):
            raise ConfigurationError(f"keys: one for each of the {batch} instances is needed, found {len(self.keys)}.")

    def inputs(self) -> list[Hashable]:
        """
        A key for each instance, equal within a group of equal inputs: `groups`, else the words, else the candidates
        with their log-probabilities, which are equal for equal inputs.
        """
        if self.groups:
            return list(self.groups)
        if self.words:
            return list(map(tuple, self.words))
        tags, log_prob = (self.tags.long() * self.mask.unsqueeze(1)).tolist(), self.log_prob.float().tolist()
        lengths = self.mask.sum(dim=1).tolist()
        return [
            tuple((*sequence[:length], round(number, 3)) for sequence, number in zip(*row))
            for *row, length in zip(tags, log_prob, lengths)
        ]

    def candidates(self, scheme: TagScheme, excluded: Optional[ExcludedGold] = None) -> TagCandidates:
        tags = self.tags.long()
        gold = None if self.gold is None else find_gold(tags, self.gold.long(), self.mask)
        token_log_prob = None if self.token_log_prob is None else self.token_log_prob.float()
        inputs = (token_log_prob, self.words, self.places)
        return TagCandidates(tags, self.log_prob, self.mask, scheme, gold, self.keys, excluded, *inputs)

    def record(self, gold: torch.Tensor) -> dict:
        """The arguments of `TagPaths` for these paths with `gold`: small tensors on the CPU, and plain values."""
        return {
            "tags": self.tags.to("cpu", torch.int16),
            "log_prob": self.log_prob.float().cpu(),
            "mask": self.mask.cpu(),
            "gold": gold.to("cpu", torch.int16),
            "keys": list(self.keys),
            "token_log_prob": None if self.token_log_prob is None else self.token_log_prob.to("cpu", torch.half),
            "words": [list(words) for words in self.words],
            "places": list(self.places),
            "lemmas": list(self.lemmas),
        }

    def gold_candidates(self, scheme: TagScheme) -> TagCandidates:
        """The same instances with gold as the only candidate."""
        gold = require(self.gold, "gold").long().unsqueeze(1)
        first = torch.zeros(len(gold), dtype=torch.long)
        log_prob = torch.zeros(len(gold), 1)
        return TagCandidates(gold, log_prob, self.mask, scheme, first, self.keys, words=self.words, places=self.places)
