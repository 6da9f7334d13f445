"""`TreeStructure`, which reranks the trees of a beam search, and `KBestTrees`, the results of such a search."""

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
    The k-best lists of trees of a batch of sentences. A run saves the lists of its training data.

    # Parameters

    trees : `list[list[list[str]]]`
        The symbols of each tree of each sentence, the best tree first.
    words : `list[list[str]]`
    log_prob : `torch.Tensor`, `(batch, candidates)`
        In nats; `-inf` for fillers, where a sentence has fewer trees than others.
    gold : `list[list[str]]`, optional
        The symbols of the gold trees.
    tags : `list[list[str]]`, optional
        The part of speech of each word; scores leave out punctuation by these.
    own : `list[list[str]]`, optional
        The predictions without a structure, if they are not the first trees: a narrower beam may find others.
    """

    trees: list[list[list[str]]]
    words: list[list[str]]
    log_prob: torch.Tensor
    gold: list[list[str]] | None = None
    tags: list[list[str]] | None = None
    own: list[list[str]] | None = None

    def candidates(self, excluded: list[list[list[str]]] | None = None) -> TreeCandidates:
        """The candidates for energies; `excluded` as for `TreeCandidates`."""
        gold = None
        if self.gold is not None:
            places = [trees.index(tree) if tree in trees else -1 for trees, tree in zip(self.trees, self.gold)]
            gold = torch.tensor(places, dtype=torch.long)
        return TreeCandidates(self.trees, self.words, self.log_prob, gold, excluded, self.tags)

    def inputs(self) -> list[tuple[str, ...]]:
        """A key for each instance, equal for equal inputs: its words."""
        return list(map(tuple, self.words))

    def gold_candidates(self) -> TreeCandidates:
        """The same instances with gold as the only candidate."""
        return self._alone(require(self.gold, "gold"))

    def task_net_candidates(self) -> TreeCandidates:
        """The same instances with the prediction without a structure as the only candidate."""
        return self._alone([trees[0] for trees in self.trees] if self.own is None else self.own)

    def _alone(self, trees: list[list[str]]) -> TreeCandidates:
        places = torch.zeros(len(trees), dtype=torch.long)
        only = [[tree] for tree in trees]
        return TreeCandidates(only, self.words, torch.zeros(len(trees), 1), places, tags=self.tags)


@Structure.register("trees")
class TreeStructure(CandidateStructure):
    """
    Reranks the trees of a beam search. For each of the scores `f1` (of labelled brackets) and `exact_match` the gate
    chooses on validation data between the task-net's `own` tree, the `likeliest` tree under the joint score, and the
    tree of the best `expected_score`.

    # Parameters

    symbols : `list[str]`
        The symbols of trees. The model gives them.
    energies : `list[str | dict]`, optional (default = `["tree_rules", "tree_attachments"]`)
        The terms of the energy by their registered names, alone or with settings.
    num_candidates : `int`, optional (default = `20`)
        The width of the beam, whose trees are the candidates.
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
        return _joined([part.gold_candidates() for part in training]), {}

    def training_candidates(
        self, training: Sequence[KBestTrees], gold: TreeCandidates, groups: torch.Tensor
    ) -> list[TreeCandidates]:
        trees_of_group: defaultdict[int, list[list[str]]] = defaultdict(list)
        for group, (tree,) in zip(groups.tolist(), gold.trees):
            trees_of_group[group].append(tree)
        excluded = iter([trees_of_group[group] for group in groups.tolist()])
        return [part.candidates(list(islice(excluded, len(part.trees)))) for part in training]

    def _ratios(
        self,
        parts: Sequence[KBestTrees],
        candidates: Sequence[TreeCandidates],
        chosen: dict[str, list[torch.Tensor]],
    ) -> dict[str, dict[str, Ratio]]:
        golds = [part.gold_candidates() for part in parts]
        owns = [part.task_net_candidates() for part in parts]
        brackets = {
            name: _with_gold(owns if name == OWN else candidates, golds, index) for name, index in chosen.items()
        }
        return {
            name: {option: score(option_brackets) for option, option_brackets in brackets.items()}
            for name, score in zip(self.scores, (_f1, _exact_match))
        }

    # Prediction.

    @torch.no_grad()
    def decide(self, trees: KBestTrees, score: Optional[str] = None) -> torch.Tensor:
        """The index of the candidate chosen by the decision for `score`, by default the main score: `(batch,)`."""
        return self.choose(trees, score)[0]

    @torch.no_grad()
    def probability_of(self, best: KBestTrees, trees: Sequence[list[str]], log_prob: torch.Tensor) -> torch.Tensor:
        """
        The calibrated probability that `trees` are gold, `(batch,)`, 0 to 1; without a calibration, the task-net's.

        # Parameters

        best : `KBestTrees`
        trees : `Sequence[list[str]]`
            The symbols of a tree for each sentence, which may be a candidate or not.
        log_prob : `torch.Tensor`, `(batch,)`
            Their log-probability under the task-net, in nats.
        """
        if self.calibration is None:
            return log_prob.double().clamp(max=0).exp()
        candidates = replace(best, gold=list(trees)).candidates()
        place, score = require(candidates.gold, "gold").to(log_prob.device), self.joint_scores(candidates)
        inside = self.calibration.log_probabilities(score, candidates.log_prob)
        inside = inside.gather(1, place.clamp(min=0).unsqueeze(1)).squeeze(1)
        others = self.calibration.log_probability_of_others(score, candidates.log_prob, log_prob.unsqueeze(1)).squeeze(
            1
        )
        return torch.where(place >= 0, inside, others).exp()

    def similarity(self, candidates: TreeCandidates, indices: torch.Tensor, rows: Rows = slice(None)) -> torch.Tensor:
        f1 = torch.zeros(*indices.shape, indices.shape[1], dtype=torch.double)
        instances = torch.arange(len(candidates.trees))[rows].tolist()
        for row, (instance, compared) in enumerate(zip(instances, indices.tolist())):
            brackets = candidates.brackets[instance]
            for i, index in enumerate(compared):
                for j, other in enumerate(compared[: i + 1]):
                    if index < len(brackets) and other < len(brackets):
                        total = brackets[index].total() + brackets[other].total()
                        shared = 2 * (brackets[index] & brackets[other]).total()
                        f1[row, i, j] = f1[row, j, i] = shared / total if total else 1.0
        return f1.to(indices.device)


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
    """For each sentence the brackets of the chosen tree, and the brackets of gold."""
    return [
        (trees[index], gold_tree)
        for part, gold, indices in zip(candidates, golds, chosen)
        for trees, (gold_tree,), index in zip(part.brackets, gold.brackets, indices.tolist())
    ]


def _f1(brackets: list[tuple[Counter, Counter]]) -> Ratio:
    """F1 of labelled brackets over all sentences; `brackets` are pairs of a prediction and gold."""
    shared = torch.tensor([(predicted & gold).total() for predicted, gold in brackets], dtype=torch.double)
    sizes = torch.tensor([predicted.total() + gold.total() for predicted, gold in brackets], dtype=torch.double)
    return Ratio(2 * shared, sizes)


def _exact_match(brackets: list[tuple[Counter, Counter]]) -> Ratio:
    """The share of trees all of whose brackets are right."""
    return Ratio.mean(torch.tensor([predicted == gold for predicted, gold in brackets], dtype=torch.double))
