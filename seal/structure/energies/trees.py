"""Energies of trees."""

import math
from collections import Counter
from collections.abc import Iterator

import torch
from torch import nn

from seal.common.linear_trees import WORD
from seal.common.setting_checks import check_range
from seal.structure.joint_score import CandidateEnergy
from seal.structure.serialization import from_bytes, to_bytes
from seal.structure.trees import Constituent, TreeCandidates


class TreeEnergy(CandidateEnergy):
    """
    The base of energies of trees that are linear in a few counts, `E(x, y) = sum_i w_i f_i(x, y)`. The counts of
    candidates are taken once, however often the weights change.

    # Parameters

    num_features : `int`
    """

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(num_features))

    def features(self, candidates: TreeCandidates, row: int) -> list[list[float]]:
        """`f(x, y)` of each candidate of one sentence."""
        raise NotImplementedError

    def forward(self, candidates: TreeCandidates) -> torch.Tensor:
        if self not in candidates.counted:
            counted = torch.zeros(*candidates.log_prob.shape, len(self.weight))
            for row, trees in enumerate(candidates.trees):
                if not trees:
                    continue
                counted[row, : len(trees)] = torch.tensor(self.features(candidates, row))
            candidates.counted[self] = counted
        counted = candidates.counted[self] = candidates.counted[self].to(self.weight)
        return counted @ self.weight


class CountedTreeEnergy(TreeEnergy):
    """One that needs tables of what training trees have: `tables`, a dictionary of strings and numbers."""

    tables: dict

    def get_extra_state(self) -> torch.Tensor:
        return to_bytes(self.tables)

    def set_extra_state(self, state: torch.Tensor) -> None:
        self.tables = from_bytes(state)


@CandidateEnergy.register("tree_rules")
class TreeRules(CountedTreeEnergy):
    """
    `E(y) = -w sum_c log p(rule of c) + v (number of rules that training has not) + sum_l u_l (constituents of label l)`
    over the constituents `c` of a tree. A rule is a label with those of its children; `p` is its share among the rules
    of its label in training trees, shrunk towards a small number for rules that are new,
    `p(r) = (n(r) + c / 100) / (n(label) + c)`. The gold of training sentences with the same words is left out.

    # Parameters

    labels : `list[str]`
    shrinkage : `float`, optional (default = `1.0`)
        `c`, above 0.
    """

    def __init__(self, labels: list[str], shrinkage: float = 1.0) -> None:
        super().__init__(2 + len(labels))
        check_range("structure.energies: the shrinkage of 'tree_rules'", shrinkage, above=0)
        self.shrinkage = shrinkage
        self._place = {label: 2 + number for number, label in enumerate(labels)}
        self.tables = {"rules": {}, "labels": {}}

    def prepare(self, gold: TreeCandidates) -> None:
        rules: Counter = Counter()
        labels: Counter = Counter()
        for row in range(len(gold.trees)):
            (tree,) = gold.constituents(row)
            rules.update(map(_key, tree))
            labels.update(constituent.label for constituent in tree)
        self.tables = {"rules": dict(rules), "labels": dict(labels)}

    def features(self, candidates: TreeCandidates, row: int) -> list[list[float]]:
        own = [constituent for tree in candidates.own_gold(row) for constituent in tree]
        own_rules, own_labels = Counter(map(_key, own)), Counter(constituent.label for constituent in own)
        found = []
        for tree in candidates.constituents(row):
            counts = [0.0] * len(self.weight)
            for constituent in tree:
                rule, label = _key(constituent), constituent.label
                seen = self.tables["rules"].get(rule, 0) - own_rules[rule]
                of_label = self.tables["labels"].get(label, 0) - own_labels[label]
                counts[0] -= math.log((seen + self.shrinkage / 100) / (of_label + self.shrinkage))
                counts[1] += seen == 0
                if label in self._place:
                    counts[self._place[label]] += 1
            found.append(counts)
        return found


def _key(constituent: Constituent) -> str:
    return " ".join(constituent.rule)


# Words further apart say little about each other, and their pairs are many.
_FAR = 12


@CandidateEnergy.register("tree_attachments")
class TreeAttachments(CountedTreeEnergy):
    """
    Which words hang on which: `eats soup with a spoon`, and not `soup with a spoon`. A constituent `c` that is not the
    first child hangs on the last word `g` of its parent's first child, the verb of `VP` or the noun of `NP`. Of the
    pairs of `g` with `c`'s first word, and of those with its last word, `N` are in training sentences in this order and
    at most 12 words apart, and of these `A` hang on each other in gold:

    `E(x, y) = -sum_c sum_pairs w_(label of c, pair) log [((A + a s) / (N + a)) / s]`

    with the share `s = sum A / sum N` of all pairs of that label. Training sentences with the same words are left out.

    # Parameters

    labels : `list[str]`
    shrinkage : `float`, optional (default = `1.0`)
        `a`, above 0.
    """

    def __init__(self, labels: list[str], shrinkage: float = 1.0) -> None:
        super().__init__(2 * len(labels))
        check_range("structure.energies: the shrinkage of 'tree_attachments'", shrinkage, above=0)
        self.shrinkage = shrinkage
        self._place = {label: 2 * number for number, label in enumerate(labels)}
        self.tables = {"pairs": {}, "hang": {}, "kinds": {}, "total": 0}

    def prepare(self, gold: TreeCandidates) -> None:
        pairs: Counter = Counter()
        hang: Counter = Counter()
        for row, words in enumerate(gold.words):
            (tree,) = gold.constituents(row)
            pairs.update(_pairs(words))
            hang.update(key for _, key in _hanging(tree, words))
        kinds: Counter = Counter()
        for key, count in hang.items():
            kinds[_kind_of(key)] += count
        self.tables = {"pairs": dict(pairs), "hang": dict(hang), "kinds": dict(kinds), "total": sum(pairs.values())}

    def features(self, candidates: TreeCandidates, row: int) -> list[list[float]]:
        words, own = candidates.words[row], candidates.own_gold(row)
        own_hang = Counter(key for tree in own for _, key in _hanging(tree, words))
        own_pairs = Counter({pair: len(own) * count for pair, count in Counter(_pairs(words)).items()} if own else ())
        own_kinds = Counter(map(_kind_of, own_hang.elements()))
        total = max(self.tables["total"] - own_pairs.total(), 1)
        found = []
        for tree in candidates.constituents(row):
            counts = [0.0] * len(self.weight)
            for kind, key in _hanging(tree, words):
                label, which, pair = key.split(" ", 2)
                of_kind = f"{label} {which}"
                share = (self.tables["kinds"].get(of_kind, 0) - own_kinds[of_kind]) / total
                if label not in self._place or share <= 0:
                    continue
                hang = self.tables["hang"].get(key, 0) - own_hang[key]
                number = self.tables["pairs"].get(pair, 0) - own_pairs[pair]
                estimate = (max(hang, 0) + self.shrinkage * share) / (max(number, 0) + self.shrinkage)
                counts[self._place[label] + kind] -= math.log(estimate / share)
            found.append(counts)
        return found


def _kind_of(key: str) -> str:
    """The label and the 0 or 1 of a key of `_hanging`."""
    return key.rsplit(" ", 2)[0]


def _pairs(words: list[str]) -> Iterator[str]:
    """Two words in their order, in lower case, once for each two places."""
    for place, first in enumerate(words):
        for second in words[place + 1 : place + 1 + _FAR]:
            yield f"{first.lower()} {second.lower()}"


def _hanging(tree: list[Constituent], words: list[str]) -> Iterator[tuple[int, str]]:
    """
    For each constituent that hangs on a word at most so far away: 0 and the key of its first word, 1 and that of its
    last. A key is the label, the 0 or 1, and the two words.
    """
    for parent in tree:
        _, _, end = parent.children[0]
        governor = words[end - 1].lower()
        for label, start, stop in parent.children[1:]:
            if label == WORD:
                continue
            for kind, place in enumerate((start, stop - 1)):
                if 0 < place - (end - 1) <= _FAR:
                    yield kind, f"{label} {kind} {governor} {words[place].lower()}"
