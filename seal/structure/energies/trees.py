"""Energies of constituency trees."""

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
    The base of linear energies of trees, `E(x, y) = sum_i w_i f_i(x, y)`. The features of a batch are computed once,
    and kept in `TreeCandidates.counted`.

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
    """The base of energies with counts of the training trees: `tables`, a dictionary of plain values."""

    tables: dict

    def get_extra_state(self) -> torch.Tensor:
        return to_bytes(self.tables)

    def set_extra_state(self, state: torch.Tensor) -> None:
        self.tables = from_bytes(state)


@CandidateEnergy.register("tree_rules")
class TreeRules(CountedTreeEnergy):
    """
    `E(y) = -w sum_c log p(rule of c) + v (number of unseen rules) + sum_l u_l (number of constituents of label l)`

    over the constituents `c` of a tree. A rule is a label and the labels of its children. With `n` the counts in the
    training trees, `p(r) = (n(r) + c / 100) / (n(label of r) + c)`. The counts leave out training sentences with the
    same words.

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
        left_out = [constituent for tree in candidates.excluded_constituents(row) for constituent in tree]
        left_out_rules = Counter(map(_key, left_out))
        left_out_labels = Counter(constituent.label for constituent in left_out)
        features = []
        for tree in candidates.constituents(row):
            values = [0.0] * len(self.weight)
            for constituent in tree:
                rule, label = _key(constituent), constituent.label
                rule_count = self.tables["rules"].get(rule, 0) - left_out_rules[rule]
                label_count = self.tables["labels"].get(label, 0) - left_out_labels[label]
                values[0] -= math.log((rule_count + self.shrinkage / 100) / (label_count + self.shrinkage))
                values[1] += rule_count == 0
                if label in self._place:
                    values[self._place[label]] += 1
            features.append(values)
        return features


def _key(constituent: Constituent) -> str:
    return " ".join(constituent.rule)


# Pairs of words that are further apart are not counted.
_FAR = 12


@CandidateEnergy.register("tree_attachments")
class TreeAttachments(CountedTreeEnergy):
    """
    Attachments: whether `with a spoon` attaches to `eats` or to `soup` in `eats soup with a spoon`. A constituent `c`
    that is not the first child attaches to `g`, the last word of its parent's first child: the verb of a `VP`, the noun
    of an `NP`. There are two pairs of words: `g` with the first word of `c`, and `g` with its last word.

    `E(x, y) = -sum_c sum_pairs w_(label of c, pair) log [((A + a s) / (N + a)) / s]`

    `N` is the number of occurrences of the pair in training sentences, in this order and at most 12 words apart, `A`
    the number of these that are attachments in gold, and `s = sum A / sum N` the share over all pairs of that label.
    The counts leave out training sentences with the same words.

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
        attached: Counter = Counter()
        for row, words in enumerate(gold.words):
            (tree,) = gold.constituents(row)
            pairs.update(_pairs(words))
            attached.update(key for _, key in _attachments(tree, words))
        kinds: Counter = Counter()
        for key, count in attached.items():
            kinds[_kind_of(key)] += count
        self.tables = {"pairs": dict(pairs), "hang": dict(attached), "kinds": dict(kinds), "total": sum(pairs.values())}

    def features(self, candidates: TreeCandidates, row: int) -> list[list[float]]:
        words, left_out = candidates.words[row], candidates.excluded_constituents(row)
        left_out_attached = Counter(key for tree in left_out for _, key in _attachments(tree, words))
        sentence_pairs = Counter(_pairs(words)) if left_out else Counter()
        left_out_pairs = Counter({pair: len(left_out) * count for pair, count in sentence_pairs.items()})
        left_out_kinds = Counter(map(_kind_of, left_out_attached.elements()))
        total = max(self.tables["total"] - left_out_pairs.total(), 1)
        features = []
        for tree in candidates.constituents(row):
            values = [0.0] * len(self.weight)
            for last, key in _attachments(tree, words):
                label, which, pair = key.split(" ", 2)
                kind = f"{label} {which}"
                share = (self.tables["kinds"].get(kind, 0) - left_out_kinds[kind]) / total
                if label not in self._place or share <= 0:
                    continue
                attached = self.tables["hang"].get(key, 0) - left_out_attached[key]
                number = self.tables["pairs"].get(pair, 0) - left_out_pairs[pair]
                estimate = (max(attached, 0) + self.shrinkage * share) / (max(number, 0) + self.shrinkage)
                values[self._place[label] + last] -= math.log(estimate / share)
            features.append(values)
        return features


def _kind_of(key: str) -> str:
    """The label and the 0 or 1 of a key of `_attachments`."""
    return key.rsplit(" ", 2)[0]


def _pairs(words: list[str]) -> Iterator[str]:
    """Each ordered pair of words at most `_FAR` words apart, in lower case, once per occurrence."""
    for place, first in enumerate(words):
        for second in words[place + 1 : place + 1 + _FAR]:
            yield f"{first.lower()} {second.lower()}"


def _attachments(tree: list[Constituent], words: list[str]) -> Iterator[tuple[int, str]]:
    """
    For each constituent that attaches to a word at most `_FAR` words away: 0 and the key of the pair with its first
    word, 1 and the key of the pair with its last word. A key is the label, the 0 or 1, and the two words.
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
