"""
What a model answers to a person who tries it: what is predicted, what else it thought of, and what each scored.
"""

import base64
import binascii
import io
import itertools
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import Batch, Instance
from allennlp.models.archival import Archive
from allennlp.nn.util import move_to_device
from allennlp.predictors import Predictor

from seal.commands.demo_alternatives import ALTERNATIVES, broken, draws_of, rows_of, scores_of, structure_of, why
from seal.common.linear_trees import as_brackets, without_unknown_tags
from seal.common.tag_encodings import tags_to_spans
from seal.common.vocabularies import ATTRIBUTES
from seal.models import MultilabelModel, ParsingModel, SegmentationModel, SrlModel, TaggingModel, TextMultilabelModel
from seal.models.srl import predicate_words
from seal.predictors.line_predictor import finite
from seal.structure.k_best_sets import k_best_sets
from seal.structure.label_set_structure import LabelSetStructure
from seal.structure.tag_structure import TagPaths
from seal.two_player.task_state import TaskState

#: How many labels are shown, and how many lines of text are read.
LABELS, LINES = 30, 20


class Answers:
    """
    The answers of a model, as plain values for the page.

    # Parameters

    name : `str`
        How the page calls the model.
    archive : `Archive`
    """

    #: What the page asks for, and what it shows where there is no example.
    asks = "text"
    sample = "The chef sold the old car to a neighbour ."

    def __init__(self, name: str, archive: Archive, **arguments: Any) -> None:
        self.name = name
        self.model = archive.model.eval()
        self.reader = archive.validation_dataset_reader
        if self.model.loss_net is not None:
            arguments["energy"] = True
        kind = Predictor.by_name(self.model.default_predictor)
        self.predictor = kind(self.model, archive.dataset_reader, **arguments)
        self._data = archive.config.get("validation_data_path")

    def about(self) -> JsonDict:
        """What the page is told of the model."""
        examples = self._some_examples() or [self.sample]
        return {"name": self.name, "asks": self.asks, "examples": examples, "labels": self._labels()}

    def answer(self, given: str) -> list[JsonDict]:
        """
        The blocks that the page shows for an input.

        # Raises

        `ConfigurationError` if the input is wrong.
        """
        raise NotImplementedError

    def _records(self, text: str) -> Iterator[tuple[JsonDict, JsonDict]]:
        """What each line of a text asks for, and its record."""
        lines = [line for line in text.splitlines() if line.strip()]
        if not lines:
            raise ConfigurationError("there is nothing to predict: the text is blank.")
        if len(lines) > LINES:
            raise ConfigurationError(f"the page takes {LINES} lines at a time, and there are {len(lines)}.")
        for request in map(self.predictor.read, lines):
            record = self.predictor.predict_json(request)
            if "error" in record:
                raise ConfigurationError(record["error"])
            yield request, record

    def _labels(self) -> list[str]:
        """The labels of spans, each of which gets a colour."""
        return []

    def _tensors(self, instance: Instance) -> dict[str, Any]:
        self.reader.apply_token_indexers(instance)
        batch = Batch([instance])
        batch.index_instances(self.model.vocab)
        return move_to_device(batch.as_tensor_dict(), next(self.model.parameters()).device)

    def _some_examples(self) -> list[str]:
        """A few inputs of the validation data, where these are at hand."""
        path = str(self._data or "").partition("#")[0]
        if not os.path.exists(path):
            return []
        found: dict[str, None] = {}
        for instance in itertools.islice(self.reader.read(self._data), 200):
            if len(found) == 6:
                break
            found[self._as_input(instance)] = None
        return list(found)

    def _as_input(self, instance: Instance) -> str:
        """An instance as what a person would give."""
        raise NotImplementedError


class _SentenceAnswers(Answers):
    """Of sentences: what is predicted is one of a few whole outputs that compete."""

    def answer(self, given: str) -> list[JsonDict]:
        return [block for request, record in self._records(given) for block in self._blocks(request, record)]

    def _blocks(self, request: JsonDict, record: JsonDict) -> Iterable[JsonDict]:
        """The blocks of a sentence."""
        raise NotImplementedError

    def _best(self, outputs: list[JsonDict], columns: dict[str, torch.Tensor]) -> list[JsonDict]:
        """The task-net's best outputs with their numbers, and the chosen one wherever it is."""
        for output, numbers in zip(outputs, rows_of(columns)):
            output["numbers"] = numbers
        return outputs[:ALTERNATIVES] + [output for output in outputs[ALTERNATIVES:] if output["chosen"]]

    @property
    def _score(self) -> str:
        """That for which a structure decides."""
        structure = structure_of(self.model)
        return "f1" if structure is None else structure.main_score

    def _as_input(self, instance: Instance) -> str:
        return " ".join(instance["metadata"].metadata["words"])


class _TagAnswers(_SentenceAnswers):
    """Entities or tags: a block for each sentence."""

    def _blocks(self, request: JsonDict, record: JsonDict) -> Iterable[JsonDict]:
        # The words as the model reads them, which may write brackets and quotes in another way.
        _, instance = self.predictor.prepare(request)
        yield self._block(record, record["words"], instance, "")

    def _labels(self) -> list[str]:
        tags = self.model.output_space.labels
        if self.model.output_space.encoding is None:
            return tags
        return list(dict.fromkeys(tag[2:] for tag in tags if tag != "O"))

    def _block(self, record: JsonDict, words: list[str], instance: Instance, heading: str) -> JsonDict:
        return {
            "kind": "spans",
            "heading": heading,
            "words": words,
            "spans": self._spans(record["tags"]),
            "numbers": _numbers(record),
            "alternatives": self._alternatives(instance, record["tags"]),
            "why": why(self.model, self._score),
        }

    def _spans(self, tags: list[str]) -> list[tuple[str, int, int]]:
        if self.model.output_space.encoding is not None:
            return tags_to_spans(tags)
        return [(tag, place, place) for place, tag in enumerate(tags)]

    @torch.no_grad()
    def _alternatives(self, instance: Instance, chosen: list[str]) -> list[JsonDict]:
        """The best outputs of the task-net, with what scores them: a structure and its terms, or a loss-net."""
        model, structure = self.model, structure_of(self.model)
        if model.task_net is None or model.inference is not None:
            return []
        tensors = self._tensors(instance)
        state = model.task_state(**tensors)
        most = ALTERNATIVES if structure is None else structure.num_candidates
        tags, log_prob = model.output_space.k_best(state.logits, most, state.mask)
        competing = None
        if structure is not None:
            words = instance["metadata"].metadata["words"]
            keys = predicate_words(tensors["predicate"], [words]) if "predicate" in tensors else [""]
            competing = TagPaths(tags, log_prob, state.mask, keys=keys).competing(structure.scheme)
        columns = scores_of(model, log_prob, competing, self._score)
        if model.loss_net is not None:
            columns["energy of the loss-net"] = model.energy(state, tags)[0]
        columns |= broken(model, tags, state.mask)
        # A short sentence has fewer outputs than were asked for; what is left has no probability, and comes last.
        rows = tags[0, : int(log_prob[0].isfinite().sum()), : len(chosen)].tolist()
        named = [[model.output_space.labels[tag] for tag in row] for row in rows]
        return self._best([{"spans": self._spans(row), "chosen": row == chosen} for row in named], columns)


class _FrameAnswers(_TagAnswers):
    """Roles: a block for each frame."""

    def _blocks(self, request: JsonDict, record: JsonDict) -> Iterable[JsonDict]:
        if not record["frames"]:
            yield {"kind": "text", "text": f"{' '.join(record['words'])}: no predicate was found"}
        sentence, _ = self.predictor.prepare(request)
        for frame in record["frames"]:
            instance = self.reader.text_to_instance(sentence.words, frame["index"])
            yield self._block(frame, record["words"], instance, frame["predicate"])


class _TreeAnswers(_SentenceAnswers):
    """The tree of each sentence as a picture, and the other trees of the beam."""

    def _blocks(self, request: JsonDict, record: JsonDict) -> Iterable[JsonDict]:
        """
        # Raises

        `ConfigurationError` if the tree cannot be drawn.
        """
        from seal.predictors.tree_drawings import as_svg

        try:
            picture = base64.b64encode(as_svg(record["tree"]).encode("utf-8")).decode()
        except ValueError as error:
            raise ConfigurationError("the tree has too many constituents inside each other to be drawn.") from error
        _, instance = self.predictor.prepare(request)
        yield {
            "kind": "tree",
            "text": without_unknown_tags(record["tree"]),
            "image": f"data:image/svg+xml;base64,{picture}",
            "numbers": _numbers(record),
            "alternatives": self._alternatives(instance, record),
            "why": why(self.model, self._score),
        }

    @torch.no_grad()
    def _alternatives(self, instance: Instance, record: JsonDict) -> list[JsonDict]:
        tensors, model = self._tensors(instance), self.model
        several = structure_of(model) is not None
        given = tensors["tokens"], tensors["metadata"], several
        candidates = model.candidates(*given)
        columns = scores_of(model, candidates.log_prob, candidates.competing() if several else None, self._score)
        if model.loss_net is not None:
            columns["energy of the loss-net"] = model.energies(*given)[0]
        trees = [as_brackets(tree, record["words"]) for tree in candidates.trees[0]]
        rows = [{"text": without_unknown_tags(tree), "chosen": tree == record["tree"]} for tree in trees]
        return self._best(rows, columns)


_LINE = "A label is predicted where its bar, the probability by which it is chosen, reaches the line."
_NO_LINE = "Bars are the task-net's own probabilities; a whole set was chosen, in which other things count, too."


class _LabelAnswers(Answers):
    """Labels with their probabilities and thresholds."""

    sample = "Cocoa exports fell by a third."

    def __init__(self, name: str, archive: Archive) -> None:
        super().__init__(name, archive, probabilities=True)

    def answer(self, given: str) -> list[JsonDict]:
        return [self._block(request, record) for request, record in self._records(given)]

    @torch.no_grad()
    def _block(self, request: JsonDict, record: JsonDict) -> JsonDict:
        model, structure = self.model, structure_of(self.model)
        state = None if model.inference is not None else model.task_state(**self._inputs(request))
        probabilities, note = record["probabilities"], _LINE
        thresholds: list[Optional[float]] = model.threshold.expand(len(probabilities)).tolist()
        if structure is not None and state is not None:
            deciding = structure.deciding(state.logits, model.score)
            if deciding is None:
                thresholds, note = [None] * len(probabilities), _NO_LINE
            else:
                values, threshold = deciding
                probabilities = dict(zip(model.output_space.labels, map(finite, values[0].tolist())))
                thresholds = [threshold] * len(probabilities)
        labels = [
            {"name": name, "probability": value, "threshold": threshold, "predicted": name in record["labels"]}
            for (name, value), threshold in zip(probabilities.items(), thresholds)
        ]
        labels.sort(key=lambda label: (not label["predicted"], -(label["probability"] or 0)))
        return {
            "kind": "labels",
            "labels": labels[:LABELS],
            "text": note,
            "numbers": _numbers(record),
            "alternatives": [] if state is None else self._alternatives(state, list(record["labels"])),
            "why": why(self.model, self.model.score),
        }

    def _inputs(self, request: JsonDict) -> dict[str, Any]:
        """What the model is given of one request."""
        return self._tensors(self.predictor.prepare(request))

    @torch.no_grad()
    def _alternatives(self, state: TaskState, chosen: list[str]) -> list[JsonDict]:
        """The best label sets and the chosen one: by the joint probability or, without a structure, the task-net's."""
        model, structure = self.model, structure_of(self.model)
        names = model.output_space.labels
        predicted = torch.tensor([[name in chosen for name in names]]).to(state.logits)
        if structure is None:
            sets = k_best_sets(state.logits, ALTERNATIVES)[0].to(state.logits)
            columns = scores_of(model, model.output_space.log_prob(state.logits, sets.unsqueeze(0)), None, model.score)
            places = list(range(len(sets)))
        else:
            sets, columns, places = _competing_sets(model, structure, state.logits, predicted)
        if not any(bool((one == predicted).all()) for one in sets):
            # Of a set that does not compete, only the task-net and the loss-net say something.
            own = model.output_space.log_prob(state.logits, predicted.unsqueeze(0))[0]
            none = own.new_tensor([torch.nan])
            for name, values in columns.items():
                columns[name] = torch.cat([values, own if name == "log-probability" else none])
            places.append(len(columns["log-probability"]) - 1)
            sets = torch.cat([sets, predicted])
        columns = {name: values[places] for name, values in columns.items()}
        if model.loss_net is not None:
            columns["energy of the loss-net"] = model.energy(state, sets.unsqueeze(0))[0]
        columns |= broken(model, sets.unsqueeze(0))
        return [
            {
                "text": ", ".join(names[label] for label in one.nonzero().flatten().tolist()) or "no label",
                "chosen": bool((one == predicted).all()),
                "numbers": numbers,
            }
            for one, numbers in zip(sets, rows_of(columns))
        ]

    def _as_input(self, instance: Instance) -> str:
        return " ".join(token.text for token in instance["tokens"])


class _FeatureAnswers(_LabelAnswers):
    asks = "features"
    sample = '{"features": {}}'

    def __init__(self, name: str, archive: Archive) -> None:
        super().__init__(name, archive)
        if archive.config["dataset_reader"].get("standardize"):
            self._data = None  # The reader's features are not those of the file, for which the page asks.

    def _inputs(self, request: JsonDict) -> dict[str, Any]:
        return {"features": self.predictor.features([self.predictor.prepare(request)])}

    def _as_input(self, instance: Instance) -> str:
        instance.index_fields(self.model.vocab)
        names = self.model.vocab.get_index_to_token_vocabulary(ATTRIBUTES)
        values = enumerate(instance["features"].tensor.tolist())
        return json.dumps({"features": {names[place]: round(value, 4) for place, value in values if value}})


_LIKELIEST = "the likeliest mask"
_DRAWS = (
    "Green is the task-net's likeliest mask, which is predicted. The others are draws from the task-net, among which "
    "the loss-net learns to tell gold. Of an image larger than what the nets read, masks and numbers here are of the "
    "part in the middle, and the energy above is the mean of all parts."
)


class _MaskAnswers(Answers):
    """The foreground of an image, given as a data URL, laid over it."""

    asks = "image"
    sample = ""

    def __init__(self, name: str, archive: Archive) -> None:
        self._folder = tempfile.TemporaryDirectory()
        super().__init__(name, archive, folder=os.path.join(self._folder.name, "masks"))

    def answer(self, given: str) -> list[JsonDict]:
        path = os.path.join(self._folder.name, "image")
        start, _, content = given.partition(",")
        try:
            if not start.startswith("data:image/"):
                raise ValueError
            with open(path, "wb") as file:
                file.write(base64.b64decode(content, validate=True))
        except (ValueError, binascii.Error) as error:
            raise ConfigurationError("choose an image, such as a PNG or a JPEG.") from error
        try:
            record = self.predictor.predict_json({"image": path})
            image = self.predictor.prepare({"image": path}).image
        except ConfigurationError as error:
            raise ConfigurationError(str(error).replace(f"{path}: ", "").replace(path, "the image")) from error
        if "error" in record:
            raise ConfigurationError(record["error"])
        files = {key: record[f"{key}_file"] for key in ("overlay", "mask")}
        pictures = {key: _data_url(file) for key, file in files.items()}
        for file in files.values():
            os.unlink(file)
        shown = {"text": record["description"], "image": given, **pictures}
        alternatives = self._alternatives(image)
        return [{"kind": "mask", **shown, "numbers": _numbers(record), "alternatives": alternatives, "why": _DRAWS}]

    @torch.no_grad()
    def _alternatives(self, image: torch.Tensor) -> list[JsonDict]:
        """The task-net's likeliest mask and draws from it, of the part in the middle that the nets read at once."""
        model = self.model
        if model.inference is not None:
            return []
        state = model.task_state(**model.middle({"image": image.unsqueeze(0).to(next(model.parameters()))}))
        masks = draws_of(model, state.logits, ALTERNATIVES - 1)
        columns = {"log-probability": model.output_space.log_prob(state.logits, masks)[0]}
        if model.loss_net is not None:
            columns["energy of the loss-net"] = model.energy(state, masks)[0]
        return [
            {"image": _mask_url(mask), "text": text, "chosen": text == _LIKELIEST, "numbers": row}
            for mask, text, row in zip(masks[0], [_LIKELIEST, *["a draw"] * (ALTERNATIVES - 1)], rows_of(columns))
        ]

    def _as_input(self, instance: Instance) -> str:
        from PIL import Image

        from seal.dataset_readers.segmentation import as_pixels

        path = os.path.join(self._folder.name, "example.png")
        Image.fromarray(as_pixels(instance["image"].tensor).numpy()).save(path)
        return _data_url(path)


_KINDS = (
    (SrlModel, _FrameAnswers),
    (TaggingModel, _TagAnswers),
    (ParsingModel, _TreeAnswers),
    (TextMultilabelModel, _LabelAnswers),
    (MultilabelModel, _FeatureAnswers),
    (SegmentationModel, _MaskAnswers),
)


def answers_of(name: str, archive: Archive, predicates_from: Optional[str] = None) -> Answers:
    """
    # Raises

    `ConfigurationError` if the model is none of this package, or `predicates_from`, an argument of the predictor of
    roles, is given for one of another task.
    """
    if predicates_from is not None:
        if not isinstance(archive.model, SrlModel):
            raise ConfigurationError(f"--predicates-from is for models of roles, and {name} is none; leave it out.")
        return _FrameAnswers(name, archive, predicates_from=predicates_from)
    for kind, make in _KINDS:
        if isinstance(archive.model, kind):
            return make(name, archive)
    raise ConfigurationError(f"{name}: the page is for models of this package, not {type(archive.model).__name__}.")


def _numbers(record: JsonDict) -> dict[str, Any]:
    return {key: record[key] for key in ("probability", "energy") if key in record}


def _competing_sets(
    model: MultilabelModel, structure: LabelSetStructure, logits: torch.Tensor, predicted: torch.Tensor
) -> tuple[torch.Tensor, dict[str, torch.Tensor], list[int]]:
    """
    The best sets among those that compete, and the predicted one if it does: `(sets, labels)`; what scores all that
    compete, by column; and the places there of these sets.
    """
    competing = structure.competing(logits)
    log_prob = torch.cat([part.log_prob for part in competing.parts()], dim=1)
    columns = scores_of(model, log_prob, competing, model.score)
    joint = columns["joint probability"]
    places = [place for place in joint.topk(min(ALTERNATIVES, len(joint))).indices.tolist() if joint[place] > 0]
    known = int(structure.set_index().of(predicted)[0])
    if known >= 0 and known not in places:
        places.append(known)
    return competing.outputs(torch.tensor([places], device=logits.device))[0], columns, places


def _mask_url(mask: torch.Tensor) -> str:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray((255 * mask).byte().cpu().numpy()).save(file, "PNG")
    return _as_data_url(file.getvalue())


def _data_url(path: str) -> str:
    with open(path, "rb") as file:
        return _as_data_url(file.read())


def _as_data_url(content: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(content).decode()
