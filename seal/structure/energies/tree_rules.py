import math
from collections import Counter

from seal.common.setting_checks import check_range
from seal.structure.energies.tree_energy import CountedTreeEnergy
from seal.structure.joint_score import CandidateEnergy
from seal.structure.trees import CompetingTrees, Constituent


@CandidateEnergy.register("tree_rules")
class TreeRules(CountedTreeEnergy):
    """
    `E(y) = -w sum_c log p(rule of c) + v (number of rules that training has not) + sum_l u_l (constituents of label l)`
    over the constituents `c` of a tree. A rule is a label with those of its children; `p` is its share among the rules
    of its label in training trees, shrunk towards a small number for rules that are new,
    `p(r) = (n(r) + c / 100) / (n(label) + c)`. An instance's own gold is left out.

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

    def prepare(self, gold: CompetingTrees) -> None:
        rules: Counter = Counter()
        labels: Counter = Counter()
        for row in range(len(gold.trees)):
            (tree,) = gold.constituents(row)
            rules.update(map(_key, tree))
            labels.update(constituent.label for constituent in tree)
        self.tables = {"rules": dict(rules), "labels": dict(labels)}

    def features(self, competing: CompetingTrees, row: int) -> list[list[float]]:
        own = competing.own_gold(row)
        own_rules, own_labels = Counter(map(_key, own)), Counter(constituent.label for constituent in own)
        found = []
        for tree in competing.constituents(row):
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
