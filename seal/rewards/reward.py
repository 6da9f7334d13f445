from collections.abc import Callable
from typing import Optional

import torch

from seal.common.setting_checks import check_range
from seal.registry import ConfigurationError, Registrable
from seal.rewards.citation_words import WORD_RULES, closes, found_by_rules

#: `R(x, .)` of a batch: discrete outputs `(batch, samples, tokens)` and their mask, `(batch, tokens)` or `None`, to
#: `(batch, samples)`, in [0, 1].
BatchReward = Callable[[torch.Tensor, Optional[torch.Tensor]], torch.Tensor]


class Reward(Registrable):
    """
    The reward `R(x, y)`: how well a tagging agrees with prior knowledge of the task. It is in [0, 1] and computed
    without gold. It is noisy: gold need not have the highest reward.
    """

    def of(self, sentences: list[list[str]], labels: list[str], device: Optional[torch.device] = None) -> BatchReward:
        """
        The reward of a batch. It computes the features of the words once; the result then evaluates many taggings at a
        time.

        # Parameters

        sentences : `list[list[str]]`
            The words of each sentence.
        labels : `list[str]`
            The tags, in the order of their indices.
        device : `torch.device`, optional
            The device of the outputs.

        # Raises

        `ConfigurationError` if the reward has no rule for these tags.
        """
        raise NotImplementedError


#: The default weights of the rules; each rule for single words has 1.
WEIGHTS: dict[str, float] = {**dict.fromkeys(WORD_RULES, 1.0), "once": 4.0, "closed": 4.0, "complete": 1.0}


@Reward.register("citation")
class CitationReward(Reward):
    """
    The reward `R(x, y) = sum_r w_r R_r(x, y) / sum_r w_r`: how well the fields of a reference agree with rules of thumb
    (implicit-training paper, "Citation Field Extraction", which has such a reward but does not print it). Each rule is
    in [0, 1]:

    - a rule for single words (`WORD_RULES`: a year is a date, `pp` is part of the pages, ...): the share of the words
      it matches that have a tag it allows; 1 where it matches none
    - `once`: the number of different fields divided by the number of runs of equal tags; 1 where no field occurs twice
    - `closed`: the share of changes from one field to another that follow punctuation. It is 0 without a change: a
      reference has several fields, and a single run of one tag would break few other rules
    - `complete`: 1/2 if there is an author (or editor), and 1/2 if there is a title

    The rules for single words add up to one score for each word and tag, which is computed once a batch. The reward of
    a tagging then needs only the sum of its words' scores and a count of its changes.

    # Parameters

    weights : `dict[str, float]`, optional
        The weights that differ from `WEIGHTS`, by rule; 0 leaves a rule out.

    # Raises

    `ConfigurationError` if a rule is unknown, a weight is negative or all are 0.
    """

    def __init__(self, weights: Optional[dict[str, float]] = None) -> None:
        for name, weight in (weights or {}).items():
            if name not in WEIGHTS:
                raise ConfigurationError(f"reward.weights: there is no rule '{name}'; there are {', '.join(WEIGHTS)}.")
            check_range(f"reward.weights.{name}", weight, least=0)
        self._weights = {**WEIGHTS, **(weights or {})}
        if not any(self._weights.values()):
            raise ConfigurationError("reward.weights: all are 0, so no rule is left.")

    def of(
        self, sentences: list[list[str]], labels: list[str], device: Optional[torch.device] = None
    ) -> "CitationBatchReward":
        named = set().union(*(rule.tags for rule in WORD_RULES.values()))
        if not named & set(labels):
            raise ConfigurationError(
                f"reward: 'citation' knows the tags {', '.join(sorted(named))}, and the vocabulary has none of them."
            )
        return CitationBatchReward(sentences, labels, self._weights, device)


class CitationBatchReward:
    """
    The `CitationReward` of a batch of references.

    # Parameters

    sentences, labels, device :
        As for `Reward.of`.
    weights : `dict[str, float]`
        The weights of all rules.
    """

    def __init__(
        self,
        sentences: list[list[str]],
        labels: list[str],
        weights: dict[str, float],
        device: Optional[torch.device] = None,
    ) -> None:
        tokens, rules = max(map(len, sentences)), list(WORD_RULES.values())
        # shape: (batch, rules, tokens)
        found = torch.zeros(len(sentences), len(rules), tokens)
        # shape: (batch, tokens)
        closing = torch.zeros(len(sentences), tokens, dtype=torch.bool)
        for row, words in enumerate(sentences):
            found[row, :, : len(words)] = torch.tensor(found_by_rules(tuple(words)), dtype=torch.float)
            closing[row, : len(words)] = torch.tensor([closes(word) for word in words])
        allowed = torch.tensor([[float(label in rule.tags) for label in labels] for rule in rules])
        weight = torch.tensor([weights[name] for name in WORD_RULES])
        count = found.sum(dim=2)
        shares = found * (weight / count.clamp(min=1)).unsqueeze(2)
        #: The scores of each word and tag, `(batch, tokens, tags)`, and of the rules that match no word, `(batch, 1)`.
        with torch.autocast("cpu", enabled=False):
            self._scores = torch.einsum("brt,rc->btc", shares, allowed).to(device)
        self._idle = (weight * (count == 0)).sum(dim=1, keepdim=True).to(device)
        self._closing = closing.unsqueeze(1).to(device)
        self._weights, self._total = weights, sum(weights.values())
        self._authors = [labels.index(label) for label in ("author", "editor") if label in labels]
        self._titles = [labels.index(label) for label in ("title",) if label in labels]

    @torch.no_grad()
    def __call__(self, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        # The outputs may have more padding than these references, from a batch with longer ones.
        outputs = outputs[..., : self._closing.shape[2]]
        if mask is None:
            real = torch.ones_like(self._closing)
        else:
            real = mask[:, : outputs.shape[2]].unsqueeze(1)
        # Padding gets the first word's tag, which adds no field.
        outputs = torch.where(real, outputs, outputs[..., :1])
        # shape: (batch, tokens, samples)
        of_words = self._scores.gather(2, outputs.transpose(1, 2)) * real.transpose(1, 2)
        total = of_words.sum(dim=1) + self._idle

        changes = (outputs[..., 1:] != outputs[..., :-1]) & real[..., 1:]
        num_changes = changes.sum(dim=2)
        # shape: (batch, samples, tags)
        present = torch.zeros(*outputs.shape[:2], self._scores.shape[2], device=outputs.device)
        present.scatter_(2, outputs, 1.0)
        total = total + self._weights["once"] * present.sum(dim=2) / (1 + num_changes)
        closed = (changes & self._closing[..., :-1]).sum(dim=2) / num_changes.clamp(min=1)
        total = total + self._weights["closed"] * closed
        halves = [present[..., tags].amax(dim=2) for tags in (self._authors, self._titles) if tags]
        return (total + self._weights["complete"] * sum(halves) / 2) / self._total
