"""
What a trained model says about data with gold: its mistakes, how far its probabilities can be trusted, and examples.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance
from allennlp.models.archival import Archive
from allennlp.nn.util import move_to_device

from seal.commands.demo_alternatives import structure_of, why
from seal.commands.findings import NOTHING, Choice, Example, Findings, Picture, energy_gap
from seal.commands.structure_choices import Weighed, weighed_sets, weighed_tags, weighed_trees
from seal.common.linear_trees import as_brackets, brackets_of, counted_brackets, without_unknown_tags
from seal.common.significance import ACCURACY, EXACT, Statistic, f1_of_counts, mean_f1, mean_of
from seal.common.tag_encodings import tags_to_spans
from seal.dataset_readers.segmentation import as_pixels
from seal.metrics import bracket_counts
from seal.metrics.srl_score import frame_counts
from seal.metrics.tagging_score import tagging_sums
from seal.models import MultilabelModel, ParsingModel, SegmentationModel, SrlModel, TaggingModel
from seal.models.seal_model import SealModel
from seal.models.srl import predicate_words
from seal.predictors.words import describe
from seal.two_player.task_state import TaskState

_AT_ONCE = 32
_PICTURES = 6
_NO_GOLD = "the data have no gold, with which predictions could be compared."


def examine(archive: Archive, path: str, most: int) -> Findings:
    """
    # Parameters

    archive : `Archive`
        Of a model of this package.
    path : `str`
        Data with gold, as the model's validation reader takes them.
    most : `int`
        How many instances are looked at, the file's first.

    # Raises

    `ConfigurationError` if the model is none of this package, or the data have no gold.
    """
    model, reader = archive.model.eval(), archive.validation_dataset_reader
    make = next((make for kind, make in _EXAMINERS if isinstance(model, kind)), None)
    if make is None:
        raise ConfigurationError(f"examples are for models of this package, not {type(model).__name__}.")
    examiner = make(model)
    instances = itertools.islice(reader.read(path), most)
    device = next(model.parameters()).device
    while chunk := list(itertools.islice(instances, _AT_ONCE)):
        for instance in chunk:
            reader.apply_token_indexers(instance)
        batch = Batch(chunk)
        batch.index_instances(model.vocab)
        with torch.no_grad():
            examiner.add(chunk, move_to_device(batch.as_tensor_dict(), device))
    examiner.finish()
    return examiner.found


class _Examiner:
    #: What has scores of its own.
    unit = ""

    def __init__(self, model: SealModel) -> None:
        self._model = model
        self.found = Findings()
        self.found.unit = self.unit
        self.found.statistics = self.statistics()
        #: Whether a structure has been learned, which may choose.
        self._structured = structure_of(model) is not None
        if self._structured:
            self.found.why = why(model, self._main_score)

    @property
    def _main_score(self) -> str:
        """That for which the structure decides."""
        return self._model.structure.main_score

    def statistics(self) -> dict[str, Statistic]:
        raise NotImplementedError

    def add(self, instances: list[Instance], batch: dict[str, Any]) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        pass

    def _choice(
        self, own: str, weighed: Weighed, own_counts: dict[str, float], counts: dict[str, float], known: bool
    ) -> Choice:
        """
        # Parameters

        own : `str`
            The task-net's own output, as text.
        own_counts, counts : `dict[str, float]`
            What it and the chosen output add to the scores.
        known : `bool`
            Whether some output of the model stands for gold.
        """
        self.found.own_counts.append(own_counts)
        of_gold, *others = weighed.energies
        energies = of_gold if known else None, *others
        return Choice(own, _nearness(own_counts), _nearness(counts), weighed.competes and known, *energies)

    def _numbers(self, state: TaskState, predicted: torch.Tensor) -> Iterable[dict[str, float]]:
        """The loss and the energies of each row."""
        if state.gold is None:
            raise ConfigurationError(_NO_GOLD)
        columns: dict[str, list[float]] = {}
        if self._model.inference is None:
            losses = self._model.output_space.cross_entropy(state.logits, state.gold, state.mask)
            columns["loss"] = losses.tolist()
        if self._model.loss_net is not None:
            outputs = torch.stack([state.gold, predicted.to(state.gold)], dim=1)
            energies = self._model.energy(state, outputs).tolist()
            columns["energy_of_gold"], columns["energy_of_predicted"] = map(list, zip(*energies))
        return [dict(zip(columns, row)) for row in zip(*columns.values())] or [{} for _ in state.gold]


def _nearness(counts: dict[str, float]) -> float:
    """How near an output is to gold, of its counts: F1, or accuracy where nothing is counted for F1, in percent."""
    if "f1" in counts:
        return 100 * counts["f1"]
    if "correct" not in counts:
        return 100 * counts["right"] / max(counts["tokens"], 1)
    sizes = counts["gold"] + counts["predicted"]
    return 200 * counts["correct"] / sizes if sizes else 100.0


class _TagExaminer(_Examiner):
    """Of tag sequences: the whole is a hit or not; spans, or words where there are none, are confused."""

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
                raise ConfigurationError(_NO_GOLD)
            ours = [labels[tag] for tag in tags[place].tolist()[: len(words)]]
            self.found.confusions.update(self._confused(gold, ours))
            named.append((instances[row]["metadata"].metadata["source"], words, gold, ours))
            right.append(list(gold) == ours)
        log_prob = output["log_prob"].cpu()[rows]
        self.found.confidences.append(log_prob.double().clamp(max=0).exp().numpy())
        self.found.hits.append(numpy.array(right))
        all_numbers = list(self._numbers(state, tags))
        weighed = weighed_tags(model, state, tags, self._keys(named, batch)) if self._structured else None
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

    def _keys(self, named: list[tuple], batch: dict[str, Any]) -> list[str]:
        """The predicate of each frame."""
        if not isinstance(self._model, SrlModel):
            return []
        frames = batch["predicate"][batch["predicate"].any(dim=1)]
        return predicate_words(frames, (words for _, words, *_ in named))

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


class _TreeExaminer(_Examiner):
    """Of trees: the whole is a hit or not; the labels of constituents over the same words are confused."""

    unit = "constituent"

    def statistics(self) -> dict[str, Statistic]:
        return {"f1": f1_of_counts(), "exact_match": EXACT}

    def add(self, instances: list[Instance], batch: dict[str, Any]) -> None:
        model = self._model
        if "symbols" not in batch:
            raise ConfigurationError(_NO_GOLD)
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
        self.found.confidences.append(output["log_prob"].cpu().double().clamp(max=0).exp().numpy())
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


class _LabelExaminer(_Examiner):
    """Of label sets: each label is a decision; labels are missed, or predicted without being gold."""

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
        self.found.confidences.append(probabilities.ravel())
        self.found.hits.append(gold.ravel())
        for threshold in numpy.linspace(0.05, 0.95, 19):
            predicted = probabilities >= threshold
            sizes = predicted.sum(axis=1) + gold.sum(axis=1) + missed
            correct = (predicted & gold).sum(axis=1)
            f1 = numpy.where(sizes == 0, self._model.empty_f1, 2 * correct / numpy.maximum(sizes, 1))
            self.found.f1_at[round(float(threshold), 2)] = float(100 * f1.mean())


class _MaskExaminer(_Examiner):
    """Of masks: each pixel is a decision."""

    def statistics(self) -> dict[str, Statistic]:
        return {"mean_iou": mean_of("iou", "images")}

    def add(self, instances: list[Instance], batch: dict[str, Any]) -> None:
        if "mask" not in batch:
            raise ConfigurationError(_NO_GOLD)
        output, gold = self._model(**batch), batch["mask"].bool().cpu().numpy()
        energies: list[list[float]] = [[] for _ in instances]
        if self._model.loss_net is not None:
            both = torch.stack([batch["mask"].bool(), output["predicted"]], dim=1)
            energies = self._model.mask_energies(batch["image"], both).tolist()
        probabilities, predicted = output["probabilities"].cpu().numpy(), output["predicted"].cpu().numpy()
        self.found.confidences.append(probabilities.ravel())
        self.found.hits.append(gold.ravel())
        for instance, wanted, found, numbers in zip(instances, gold, predicted, energies):
            union = (wanted | found).sum()
            iou = 100 * float((wanted & found).sum() / union) if union else 100.0
            source = instance["metadata"].metadata["source"] if "metadata" in instance.fields else ""
            image = as_pixels(instance["image"].tensor).numpy() / 255
            picture, right = Picture(source, image, wanted, found, iou, *numbers), bool((wanted == found).all())
            self.found.pictures.append(picture)
            sizes = f"{wanted.sum()} pixels", f"{found.sum()} pixels, IoU {iou:.1f}"
            self.found.examples.append(Example(source, "", *sizes, right, None, *numbers))
            if not right and numbers and energy_gap(picture) < 0:
                self.found.preferred.append(picture)
            self.found.count(source, str(wanted.sum()), iou=iou / 100, images=1)
        # Of a large file, images are not all kept.
        self.found.pictures = sorted(self.found.pictures, key=lambda picture: picture.iou)[:_PICTURES]
        self.found.preferred = sorted(self.found.preferred, key=energy_gap)[:_PICTURES]


_EXAMINERS = (
    (SrlModel, _TagExaminer),
    (TaggingModel, _TagExaminer),
    (ParsingModel, _TreeExaminer),
    (MultilabelModel, _LabelExaminer),
    (SegmentationModel, _MaskExaminer),
)
