from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance

from seal.common.tag_encodings import tags_to_spans
from seal.tasks.base.words import describe
from seal.tasks.srl import SrlModel
from seal.tasks.srl.srl_score import frame_counts
from seal.tasks.tagging.tagging_score import tagging_sums
from seal_inspect.examples.examiner import NO_GOLD, Examiner
from seal_inspect.findings import NOTHING, Example
from seal_inspect.significance import ACCURACY, EXACT, Statistic, f1_of_counts, mean_of
from seal_inspect.structure_choices import weighed_tags


class TagExaminer(Examiner):
    """Examines tag sequences. A whole sequence is a decision; spans are confused, or words if there are none."""

    @property
    def unit(self) -> str:
        if isinstance(self._model, SrlModel):
            return "role"
        return "entity type" if self._has_spans else "tag"

    def statistics(self) -> dict[str, Statistic]:
        if isinstance(self._model, SrlModel):
            return {"f1": f1_of_counts(), "ucr": mean_of("duplicate", "sentence"), "exact_match": EXACT}
        return {**({"f1": f1_of_counts()} if self._has_spans else {}), "accuracy": ACCURACY, "exact_match": EXACT}

    def add(self, instances: list[Instance], batch: dict[str, Any]) -> None:
        model = self._model
        state, output = model.task_state(**batch), model(**batch)
        rows = torch.arange(len(instances))
        if isinstance(model, SrlModel):
            rows = batch["predicate"].any(dim=1).nonzero().squeeze(1).cpu()
        if not len(rows):
            return
        labels, tags = model.output_space.labels, output["tags"][rows.to(output["tags"].device)]
        named, right = [], []
        for place, row in enumerate(rows.tolist()):
            words = instances[row]["metadata"].metadata["words"]
            gold = instances[row]["metadata"].metadata["tags"]
            if gold is None:
                raise ConfigurationError(NO_GOLD)
            ours = [labels[tag] for tag in tags[place].tolist()[: len(words)]]
            self.found.confusions.update(self._confused(gold, ours))
            named.append((instances[row]["metadata"].metadata["source"], words, gold, ours))
            right.append(list(gold) == ours)
        self.found.confidences.append(self._probabilities(output)[rows].numpy())
        self.found.hits.append(numpy.array(right))
        all_numbers = list(self._numbers(state, tags))
        metadata = [batch["metadata"][row] for row in rows.tolist()]
        weighed = weighed_tags(model, state, tags, metadata) if self._structured else None
        for place, ((source, words, gold, ours), hit, numbers) in enumerate(zip(named, right, all_numbers)):
            counts, choice, known = self._counts(gold, ours), None, set(gold) <= set(labels)
            if weighed is not None:
                own = [labels[tag] for tag in weighed[place].own.tolist()[: len(words)]]
                own_counts = self._counts(gold, own)
                choice = self._choice(self._shown(words, own), weighed[place], own_counts, counts, known)
            texts = (self._shown(words, tags) for tags in (gold, ours))
            # Without an output of the model that stands for gold, its numbers are of another one.
            numbers = numbers if known else {}
            self.found.examples.append(Example(source, "", *texts, right=hit, **numbers, choice=choice))
            self.found.count(source, " ".join(gold), **counts)
            self._count_labels(gold, ours)

    def _counts(self, gold: Sequence[str], ours: Sequence[str]) -> dict[str, float]:
        if isinstance(self._model, SrlModel):
            return {**frame_counts(ours, gold).sums(), "sentence": 1}
        return tagging_sums(ours, gold, self._has_spans)

    def _count_labels(self, gold: Sequence[str], ours: Sequence[str]) -> None:
        if isinstance(self._model, SrlModel):
            frame = frame_counts(ours, gold)
            sides = frame.gold, frame.predicted, frame.correct
        elif self._has_spans:
            wanted, found = set(tags_to_spans(gold)), set(tags_to_spans(ours))
            sides = tuple(Counter(span[0] for span in side) for side in (wanted, found, wanted & found))
        else:
            sides = gold, ours, [tag for tag, other in zip(gold, ours) if tag == other]
        self.found.count_labels(*sides)

    @property
    def _has_spans(self) -> bool:
        return self._model.output_space.encoding is not None

    def _shown(self, words: Sequence[str], tags: Sequence[str]) -> str:
        if self._has_spans:
            return describe(words, tags_to_spans(tags))
        return " ".join(f"{word}/{tag}" for word, tag in zip(words, tags))

    def _confused(self, gold: Sequence[str], ours: Sequence[str]) -> list[tuple[str, str]]:
        if not self._has_spans:
            return [(one, other) for one, other in zip(gold, ours) if one != other]
        places = [{span[1:]: span[0] for span in tags_to_spans(tags)} for tags in (gold, ours)]
        pairs = [tuple(at.get(place, NOTHING) for at in places) for place in {**places[0], **places[1]}]
        return [(one, other) for one, other in pairs if one != other]
