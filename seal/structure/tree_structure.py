from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Optional

import torch

from seal.common.setting_checks import require
from seal.structure.candidate_structure import OWN, CandidateStructure
from seal.structure.decisions import Rows
from seal.structure.energies.trees import TreeEnergy
from seal.structure.scores import Ratio
from seal.structure.structure import Structure, make_energies
from seal.structure.trees import TreeCandidates


@dataclass
class KBestTrees:
    """
    The best trees of some sentences, as a run keeps them of its training data.

    # Parameters

    trees : `list[list[list[str]]]`
        The symbols of each, the best first.
    words : `list[list[str]]`
    log_prob : `torch.Tensor`, `(batch, candidates)`
        In nats; `-inf` where a sentence has fewer.
    gold : `list[list[str]]`, optional
        The symbols of the gold trees.
    tags : `list[list[str]]`, optional
        The part of speech of each word, which scores need to leave punctuation out.
    own : `list[list[str]]`, optional
        What is predicted without a structure, if it is not the best of these trees: a narrower beam may find another.
    """

    trees: list[list[list[str]]]
    words: list[list[str]]
    log_prob: torch.Tensor
    gold: list[list[str]] | None = None
    tags: list[list[str]] | None = None
    own: list[list[str]] | None = None

    def candidates(self, own: list[list[list[str]]] | None = None) -> TreeCandidates:
        """`own` as for `TreeCandidates`."""
        gold = None
        if self.gold is not None:
            places = [trees.index(tree) if tree in trees else -1 for trees, tree in zip(self.trees, self.gold)]
            gold = torch.tensor(places, dtype=torch.long)
        return TreeCandidates(self.trees, self.words, self.log_prob, gold, own, self.tags)

    def inputs(self) -> list[tuple[str, ...]]:
        """What the task-net has read of each sentence."""
        return list(map(tuple, self.words))

    def gold_alone(self) -> TreeCandidates:
        """With gold as the only candidate."""
        return self._alone(require(self.gold, "gold"))

    def own_alone(self) -> TreeCandidates:
        """With what is predicted without a structure as the only candidate."""
        return self._alone([trees[0] for trees in self.trees] if self.own is None else self.own)

    def _alone(self, trees: list[list[str]]) -> TreeCandidates:
        places = torch.zeros(len(trees), dtype=torch.long)
        only = [[tree] for tree in trees]
        return TreeCandidates(only, self.words, torch.zeros(len(trees), 1), places, tags=self.tags)


@Structure.register("trees")
class TreeStructure(CandidateStructure):
    """
    Chooses among the best trees of a beam search. For each of the scores `f1` (of labelled brackets) and `exact_match`
    the gate chooses on validation data between the task-net's `own` tree, the `likeliest` one under the joint score,
    and the one of the best `expected_score`.

    # Parameters

    symbols : `list[str]`
        The symbols of trees. Given by the model.
    energies : `list[str | dict]`, optional (default = `["tree_rules", "tree_attachments"]`)
        The terms of the energy by their registered names, alone or with settings.
    num_candidates : `int`, optional (default = `20`)
        The width of the beam, all of whose trees compete.
    penalties, least : as for `Structure`
    """

    kind = instances = family = "trees"

    def __init__(
        self,
        symbols: list[str],
        energies: list[Any] | None = None,
        num_candidates: int = 20,
        penalties: Sequence[float] = (1.0, 3.0, 10.0, 30.0, 100.0),
        least: float = 0.1,
    ) -> None:
        labels = [symbol[1:] for symbol in symbols if symbol[0] == "("]
        if energies is None:
            energies = ["tree_rules", "tree_attachments"]
        terms = make_energies(energies, labels, TreeEnergy)
        super().__init__(terms, num_candidates, penalties, None, least)

    def candidates(self, trees: KBestTrees) -> TreeCandidates:
        return trees.candidates()

    # Learning.

    def _read(self, training: Sequence[KBestTrees], groups: torch.Tensor) -> tuple[TreeCandidates, dict]:
        return _joined([part.gold_alone() for part in training]), {}

    def to_learn(
        self, training: Sequence[KBestTrees], gold: TreeCandidates, groups: torch.Tensor
    ) -> list[TreeCandidates]:
        of_group: defaultdict[int, list[list[str]]] = defaultdict(list)
        for group, (tree,) in zip(groups.tolist(), gold.trees):
            of_group[group].append(tree)
        owns = iter([of_group[group] for group in groups.tolist()])
        return [part.candidates(list(islice(owns, len(part.trees)))) for part in training]

    def _ratios(
        self,
        parts: Sequence[KBestTrees],
        candidates: Sequence[TreeCandidates],
        chosen: dict[str, list[torch.Tensor]],
    ) -> dict[str, dict[str, Ratio]]:
        golds = [part.gold_alone() for part in parts]
        owns = [part.own_alone() for part in parts]
        brackets = {
            name: _with_gold(owns if name == OWN else candidates, golds, index) for name, index in chosen.items()
        }
        return {
            name: {option: score(of_option) for option, of_option in brackets.items()}
            for name, score in zip(self.scores, (_f1, _exact_match))
        }

    # Prediction.

    @torch.no_grad()
    def decide(self, trees: KBestTrees, score: Optional[str] = None) -> torch.Tensor:
        """The index of the candidate that the decision for `score`, by default the main one, chooses, `(batch,)`."""
        return self.choose(trees, score)[0]

    @torch.no_grad()
    def probability_of(self, best: KBestTrees, trees: Sequence[list[str]], log_prob: torch.Tensor) -> torch.Tensor:
        """
        How likely `trees`, one for each sentence, are to be gold, whether they are candidates or not; `log_prob`,
        `(batch,)`, is what the task-net says of them. `(batch,)`, 0 to 1; what the task-net says where there is no
        calibration.
        """
        if self.calibration is None:
            return log_prob.double().clamp(max=0).exp()
        candidates = replace(best, gold=list(trees)).candidates()
        place, score = require(candidates.gold, "gold").to(log_prob.device), self.joint_scores(candidates)
        inside = self.calibration.log_probabilities(score, candidates.log_prob)
        inside = inside.gather(1, place.clamp(min=0).unsqueeze(1)).squeeze(1)
        others = self.calibration.of_others(score, candidates.log_prob, log_prob.unsqueeze(1)).squeeze(1)
        return torch.where(place >= 0, inside, others).exp()

    def similarity(self, candidates: TreeCandidates, kept: torch.Tensor, rows: Rows = slice(None)) -> torch.Tensor:
        found = torch.zeros(*kept.shape, kept.shape[1], dtype=torch.double)
        numbers = torch.arange(len(candidates.trees))[rows].tolist()
        for row, (number, places) in enumerate(zip(numbers, kept.tolist())):
            brackets = candidates.brackets[number]
            for one, place in enumerate(places):
                for other, another in enumerate(places[: one + 1]):
                    if place < len(brackets) and another < len(brackets):
                        both = brackets[place].total() + brackets[another].total()
                        shared = 2 * (brackets[place] & brackets[another]).total()
                        found[row, one, other] = found[row, other, one] = shared / both if both else 1.0
        return found.to(kept.device)


def _joined(parts: Sequence[TreeCandidates]) -> TreeCandidates:
    return TreeCandidates(
        [trees for part in parts for trees in part.trees],
        [words for part in parts for words in part.words],
        torch.cat([part.log_prob for part in parts]),
        torch.cat([require(part.gold, "gold") for part in parts]),
    )


def _with_gold(
    candidates: Sequence[TreeCandidates], golds: Sequence[TreeCandidates], chosen: Sequence[torch.Tensor]
) -> list[tuple[Counter, Counter]]:
    """The brackets of the chosen tree of each sentence, and those of gold."""
    return [
        (trees[place], own)
        for part, gold, places in zip(candidates, golds, chosen)
        for trees, (own,), place in zip(part.brackets, gold.brackets, places.tolist())
    ]


def _f1(brackets: list[tuple[Counter, Counter]]) -> Ratio:
    """Of labelled brackets, over all sentences."""
    shared = torch.tensor([(found & gold).total() for found, gold in brackets], dtype=torch.double)
    sizes = torch.tensor([found.total() + gold.total() for found, gold in brackets], dtype=torch.double)
    return Ratio(2 * shared, sizes)


def _exact_match(brackets: list[tuple[Counter, Counter]]) -> Ratio:
    """The share of trees all of whose brackets are right."""
    return Ratio.mean(torch.tensor([found == gold for found, gold in brackets], dtype=torch.double))
