from typing import Any

import numpy
from allennlp.data import Instance

from seal.tasks.base.seal_model import SealModel
from seal_inspect.examples.examiner import Examiner
from seal_inspect.findings import NOTHING, Example
from seal_inspect.significance import Statistic, f1_of_counts, mean_f1, mean_of
from seal_inspect.structure_choices import weighed_sets


class LabelExaminer(Examiner):
    """Examines label sets. Each label is a decision; a mistake is a missed or an additional label."""

    unit = "label"

    def statistics(self) -> dict[str, Statistic]:
        return {"f1": mean_f1("f1"), "micro_f1": f1_of_counts(), "subset_accuracy": mean_of("exact", "rows")}

    def __init__(self, model: SealModel) -> None:
        super().__init__(model)
        self._rows: list[tuple[numpy.ndarray, ...]] = []

    def add(self, instances: list[Instance], batch: dict[str, Any]) -> None:
        state, output = self._model.task_state(**batch), self._model(**batch)
        numbers = self._numbers(state, output["predicted"])
        names = self._model.output_space.labels
        gold, predicted = state.gold.bool().cpu().numpy(), output["predicted"].cpu().numpy()
        # Labels of gold that no column stands for, as training never had them.
        missed = self._model.unknown_gold.names_of(batch.get("metadata")) or [[] for _ in instances]
        weighed = None
        if self._structured:
            weighed = weighed_sets(self._model, state.logits, state.gold, output["predicted"])
        self.found.confidences.append(output.get("marginals", output["probabilities"]).cpu().numpy().ravel())
        self.found.hits.append(gold.ravel())
        self._rows.append((output["probabilities"].cpu().numpy(), gold, numpy.array(list(map(len, missed)))))
        for place, (instance, row) in enumerate(zip(instances, numbers)):
            wanted = [names[label] for label in numpy.flatnonzero(gold[place])] + missed[place]
            found = [names[label] for label in numpy.flatnonzero(predicted[place])]
            correct = [label for label in found if label in wanted]
            self.found.confusions.update((label, NOTHING) for label in wanted if label not in correct)
            self.found.confusions.update((NOTHING, label) for label in found if label not in correct)
            self.found.count_labels(wanted, found, correct)
            text = " ".join(token.text for token in instance["tokens"]) if "tokens" in instance.fields else ""
            source = instance["metadata"].metadata["source"]
            right = len(correct) == len(wanted) == len(found)
            row = {} if missed[place] else row  # No output of the model stands for this gold.
            counts, choice = self._counts(wanted, found), None
            if weighed is not None:
                own = [names[label] for label in weighed[place].own.nonzero().flatten().tolist()]
                own_counts = self._counts(wanted, own)
                choice = self._choice(", ".join(own), weighed[place], own_counts, counts, not missed[place])
            texts = ", ".join(wanted), ", ".join(found)
            self.found.examples.append(Example(source, text, *texts, right, **row, choice=choice))
            self.found.count(source, ", ".join(sorted(wanted)), **counts)

    @property
    def _main_score(self) -> str:
        return self._model.score

    def _counts(self, wanted: list[str], found: list[str]) -> dict[str, float]:
        correct, sizes = len(set(found).intersection(wanted)), len(wanted) + len(found)
        return {
            "f1": 2 * correct / sizes if sizes else self._model.empty_f1,
            "correct": correct,
            "gold": len(wanted),
            "predicted": len(found),
            "exact": correct == len(wanted) == len(found),
            "rows": 1,
        }

    def finish(self) -> None:
        if not self._rows:
            return
        probabilities, gold, missed = (numpy.concatenate(part) for part in zip(*self._rows))
        for threshold in numpy.linspace(0.05, 0.95, 19):
            predicted = probabilities >= threshold
            sizes = predicted.sum(axis=1) + gold.sum(axis=1) + missed
            correct = (predicted & gold).sum(axis=1)
            f1 = numpy.where(sizes == 0, self._model.empty_f1, 2 * correct / numpy.maximum(sizes, 1))
            self.found.f1_at[round(float(threshold), 2)] = float(100 * f1.mean())
