"""
What a trained model says about data with gold: its mistakes, how far its probabilities can be trusted, and examples.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Optional

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance
from allennlp.models.archival import Archive
from allennlp.nn.util import move_to_device

from seal.common.linear_trees import as_brackets, brackets_of
from seal.common.significance import ACCURACY, EXACT, Statistic, f1_of_counts, mean_f1, mean_of
from seal.common.tag_encodings import tags_to_spans
from seal.dataset_readers.segmentation import as_pixels
from seal.metrics import bracket_counts
from seal.metrics.srl_score import frame_counts
from seal.metrics.tagging_score import tagging_sums
from seal.models import MultilabelModel, ParsingModel, SegmentationModel, SrlModel, TaggingModel
from seal.models.seal_model import SealModel
from seal.predictors.words import describe
from seal.two_player.task_state import TaskState

_AT_ONCE = 32
_PICTURES = 6
_NO_GOLD = "the data have no gold, with which predictions could be compared."
#: What stands for an argument, a span or a label that the other side lacks.
NOTHING = "(nothing)"


class Example(NamedTuple):
    """
    An instance of the data.

    # Parameters

    source : `str`
        `file:line`.
    text : `str`
        Empty where `gold` has all its words.
    gold, predicted : `str`
    right : `bool`
        Whether all of the prediction is.
    loss : `float`, optional
        Cross-entropy of the task-net, in nats; `None` where the energy predicts.
    energy_of_gold, energy_of_predicted : `float`, optional
        `None` without a loss-net.
    """

    source: str
    text: str
    gold: str
    predicted: str
    right: bool
    loss: Optional[float] = None
    energy_of_gold: Optional[float] = None
    energy_of_predicted: Optional[float] = None


class Picture(NamedTuple):
    """
    An image, `(H, W, 3)` in [0, 1], with the masks `(H, W)` of gold and of the prediction, and their IoU in percent.
    """

    source: str
    image: numpy.ndarray
    gold: numpy.ndarray
    predicted: numpy.ndarray
    iou: float


class Findings:
    """
    # Attributes

    examples : `list[Example]`
        In the order of the data.
    confusions : `Counter`
        How often gold `a` was predicted as `b`, by `(a, b)`, where these differ.
    confidences, hits : `list[numpy.ndarray]`
        The probability of each decision, and whether it was right: of a whole tag sequence, or of each label or pixel.
    f1_at : `dict[float, float]`
        Of label sets: the mean F1 of rows, in percent, by the least probability of a predicted label.
    pictures : `list[Picture]`
        Of masks: the images with the least overlap of gold and prediction, that one first.
    statistics : `dict[str, Statistic]`
        The scores that another run on the same examples may be compared in, by name, and what they are of `counts`.
    counts : `list[dict[str, float]]`
        What each example adds to the scores.
    keys : `list[str]`
        What tells whether another run has the same examples: the line and gold of each.
    """

    def __init__(self) -> None:
        self.examples: list[Example] = []
        self.confusions: Counter = Counter()
        self.confidences: list[numpy.ndarray] = []
        self.hits: list[numpy.ndarray] = []
        self.f1_at: dict[float, float] = {}
        self.pictures: list[Picture] = []
        self.statistics: dict[str, Statistic] = {}
        self.counts: list[dict[str, float]] = []
        self.keys: list[str] = []

    def count(self, source: str, gold: str, /, **counts: float) -> None:
        """Adds what an example adds to the scores."""
        self.keys.append(f"{str(source).rpartition(':')[2]} {gold}")
        self.counts.append(counts)

    def calibration(self, bins: int = 10) -> tuple[list[tuple[float, float, int]], float]:
        """
        How far confidences can be trusted.

        # Returns

        For each of `bins` equal parts of [0, 1] that has decisions, their mean confidence, the share that was right and
        their number; and the expected calibration error (ECE), the mean of the differences over all decisions, 0 to 1.
        """
        confidences, hits = (numpy.concatenate([*parts, numpy.zeros(0)]) for parts in (self.confidences, self.hits))
        places = numpy.minimum((confidences * bins).astype(int), bins - 1)
        found = [
            (float(confidences[inside].mean()), float(hits[inside].mean()), int(inside.sum()))
            for inside in (places == place for place in range(bins))
            if inside.any()
        ]
        error = sum(abs(confidence - share) * count for confidence, share, count in found)
        return found, error / max(len(confidences), 1)

    def hardest(self, number: int) -> list[Example]:
        """The examples with the largest loss, that one first."""
        scored = [example for example in self.examples if example.loss is not None]
        return sorted(scored, key=lambda example: -example.loss)[:number]

    def misjudged(self, number: int) -> list[Example]:
        """Wrong predictions whose energy is below gold's, the furthest below first: the loss-net is wrong, too."""
        there = [one for one in self.examples if not one.right and one.energy_of_gold is not None]
        below = [one for one in there if one.energy_of_predicted < one.energy_of_gold]
        return sorted(below, key=lambda one: one.energy_of_predicted - one.energy_of_gold)[:number]


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
    def __init__(self, model: SealModel) -> None:
        self._model = model
        self.found = Findings()
        self.found.statistics = self.statistics()

    def statistics(self) -> dict[str, Statistic]:
        raise NotImplementedError

    def add(self, instances: list[Instance], batch: dict[str, Any]) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        pass

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


class _TagExaminer(_Examiner):
    """Of tag sequences: the whole is a hit or not; spans, or words where there are none, are confused."""

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
        for (source, words, gold, ours), hit, numbers in zip(named, right, self._numbers(state, tags)):
            if not set(gold) <= set(labels):
                numbers = {}  # No output of the model stands for this gold.
            texts = (self._shown(words, tags) for tags in (gold, ours))
            self.found.examples.append(Example(source, "", *texts, right=hit, **numbers))
            self.found.count(source, " ".join(gold), **self._counts(gold, ours))

    def _counts(self, gold: Sequence[str], ours: Sequence[str]) -> dict[str, float]:
        if isinstance(self._model, SrlModel):
            return {**frame_counts(ours, gold).sums(), "sentence": 1}
        return tagging_sums(ours, gold, self._has_spans)

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
        right = []
        for row, instance in enumerate(instances):
            item = instance["metadata"].metadata
            words, gold, found = item["words"], item["symbols"], ours[row]
            numbers = {name: values[row] for name, values in columns.items()}
            if not set(gold) <= set(model.output_space.labels):
                numbers = {}  # No output of the model stands for this gold.
            counts = bracket_counts(found, gold, item["tags"])
            right.append(counts.exact)
            self.found.confusions.update(_confused_labels(gold, found))
            texts = (as_brackets(symbols, words) for symbols in (gold, found))
            self.found.examples.append(Example(item["source"], "", *texts, right=counts.exact, **numbers))
            self.found.count(item["source"], " ".join(gold), **counts.sums())
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

    def statistics(self) -> dict[str, Statistic]:
        return {"f1": mean_f1("f1"), "micro_f1": f1_of_counts(), "subset_accuracy": mean_of("exact", "rows")}

    def __init__(self, model: SealModel) -> None:
        super().__init__(model)
        self._rows: list[tuple[numpy.ndarray, numpy.ndarray]] = []

    def add(self, instances: list[Instance], batch: dict[str, Any]) -> None:
        state, output = self._model.task_state(**batch), self._model(**batch)
        numbers = self._numbers(state, output["predicted"])
        names = self._model.output_space.labels
        gold, predicted = state.gold.bool().cpu().numpy(), output["predicted"].cpu().numpy()
        self._rows.append((output["probabilities"].cpu().numpy(), gold))
        for instance, wanted, found, row in zip(instances, gold, predicted, numbers):
            self.found.confusions.update((names[label], NOTHING) for label in numpy.flatnonzero(wanted & ~found))
            self.found.confusions.update((NOTHING, names[label]) for label in numpy.flatnonzero(found & ~wanted))
            texts = (", ".join(names[label] for label in numpy.flatnonzero(side)) for side in (wanted, found))
            text = " ".join(token.text for token in instance["tokens"]) if "tokens" in instance.fields else ""
            source = instance["metadata"].metadata["source"]
            self.found.examples.append(Example(source, text, *texts, right=bool((wanted == found).all()), **row))
            correct, sizes = int((wanted & found).sum()), (int(wanted.sum()), int(found.sum()))
            self.found.count(
                source,
                ", ".join(sorted(names[label] for label in numpy.flatnonzero(wanted))),
                f1=2 * correct / sum(sizes) if sum(sizes) else self._model.empty_f1,
                correct=correct,
                gold=sizes[0],
                predicted=sizes[1],
                exact=bool((wanted == found).all()),
                rows=1,
            )

    def finish(self) -> None:
        if not self._rows:
            return
        probabilities, gold = (numpy.concatenate(part) for part in zip(*self._rows))
        self.found.confidences.append(probabilities.ravel())
        self.found.hits.append(gold.ravel())
        for threshold in numpy.linspace(0.05, 0.95, 19):
            predicted = probabilities >= threshold
            sizes = predicted.sum(axis=1) + gold.sum(axis=1)
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
        probabilities, predicted = output["probabilities"].cpu().numpy(), output["predicted"].cpu().numpy()
        self.found.confidences.append(probabilities.ravel())
        self.found.hits.append(gold.ravel())
        for instance, wanted, found in zip(instances, gold, predicted):
            union = (wanted | found).sum()
            iou = 100 * float((wanted & found).sum() / union) if union else 100.0
            source = instance["metadata"].metadata["source"] if "metadata" in instance.fields else ""
            image = as_pixels(instance["image"].tensor).numpy() / 255
            self.found.pictures.append(Picture(source, image, wanted, found, iou))
            self.found.count(source, str(wanted.sum()), iou=iou / 100, images=1)
        self.found.pictures = sorted(self.found.pictures, key=lambda picture: picture.iou)[:_PICTURES]


_EXAMINERS = (
    (SrlModel, _TagExaminer),
    (TaggingModel, _TagExaminer),
    (ParsingModel, _TreeExaminer),
    (MultilabelModel, _LabelExaminer),
    (SegmentationModel, _MaskExaminer),
)
