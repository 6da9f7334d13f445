from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance

from seal.common.linear_trees import as_brackets, brackets_of, counted_brackets, without_unknown_tags
from seal.tasks.parsing import bracket_counts
from seal_inspect.examples.examiner import NO_GOLD, Examiner
from seal_inspect.findings import CONSTITUENT, NOTHING, Example
from seal_inspect.significance import EXACT, Statistic, f1_of_counts
from seal_inspect.structure_choices import weighed_trees


class TreeExaminer(Examiner):
    """Examines trees. A whole tree is a decision; a confusion has different labels over the same words."""

    unit = CONSTITUENT

    def statistics(self) -> dict[str, Statistic]:
        return {"f1": f1_of_counts(), "exact_match": EXACT}

    def add(self, instances: list[Instance], batch: dict[str, Any]) -> None:
        model = self._model
        if "symbols" not in batch:
            raise ConfigurationError(NO_GOLD)
        model.with_energy = model.loss_net is not None
        state, output = model.task_state(**batch), model(**batch)
        ours = model.make_output_human_readable(dict(output))["symbols"]
        columns = {"loss": model.output_space.cross_entropy(state.logits, state.gold, state.mask).tolist()}
        if model.with_energy:
            columns["energy_of_gold"] = model.energy(state, state.gold.unsqueeze(1)).squeeze(1).tolist()
            columns["energy_of_predicted"] = output["energy"].tolist()
        weighed = weighed_trees(model, batch, ours) if self._structured else None
        right = []
        for row, instance in enumerate(instances):
            item = instance["metadata"].metadata
            words, gold, found = item["words"], item["symbols"], ours[row]
            numbers = {name: values[row] for name, values in columns.items()}
            known, choice = set(gold) <= set(model.output_space.labels), None
            if not known:
                numbers = {}  # No output of the model stands for this gold.
            counts = bracket_counts(found, gold, item["tags"])
            if weighed is not None:
                own = weighed[row].own
                own_counts = bracket_counts(own, gold, item["tags"]).sums()
                text = without_unknown_tags(as_brackets(own, words))
                choice = self._choice(text, weighed[row], own_counts, counts.sums(), known)
            right.append(counts.exact)
            self.found.confusions.update(_confused_labels(gold, found))
            texts = (without_unknown_tags(as_brackets(symbols, words)) for symbols in (gold, found))
            self.found.examples.append(Example(item["source"], "", *texts, counts.exact, **numbers, choice=choice))
            self.found.count(item["source"], " ".join(gold), **counts.sums())
            wanted, ours_of_row = (counted_brackets(symbols, item["tags"]) for symbols in (gold, found))
            sides = wanted, ours_of_row, wanted & ours_of_row
            self.found.count_labels(*([label for label, *_ in side.elements()] for side in sides))
        self.found.confidences.append(self._probabilities(output).numpy())
        self.found.hits.append(numpy.array(right))


def _confused_labels(gold: Sequence[str], found: Sequence[str]) -> Iterable[tuple[str, str]]:
    """The labels of constituents, in gold and in what was found, that the other side has not over these words."""
    wanted, ours = Counter(brackets_of(gold)), Counter(brackets_of(found))
    missed, added = list((wanted - ours).elements()), list((ours - wanted).elements())
    for label, *words in missed:
        other = next((one for one in added if one[1:] == tuple(words)), None)
        if other is not None:
            added.remove(other)
        yield label, NOTHING if other is None else other[0]
    for label, *_ in added:
        yield NOTHING, label
