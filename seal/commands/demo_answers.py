"""
What a model answers to a person who tries it: what is predicted, what else it thought of, and what each scored.
"""

import base64
import binascii
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

from seal.common.linear_trees import as_brackets
from seal.common.tag_encodings import tags_to_spans
from seal.common.vocabularies import ATTRIBUTES
from seal.models import MultilabelModel, ParsingModel, SegmentationModel, SrlModel, TaggingModel, TextMultilabelModel
from seal.predictors.line_predictor import finite
from seal.structure.tag_structure import TagPaths

#: How many other outputs are shown, how many labels, and how many lines of text are read.
ALTERNATIVES, LABELS, LINES = 6, 30, 20


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
        model_type = archive.config["model"]["type"]
        self.predictor = Predictor.by_name(model_type)(self.model, archive.dataset_reader, **arguments)
        self._data = archive.config.get("validation_data_path")

    def about(self) -> JsonDict:
        """What the page is told of the model."""
        return {"name": self.name, "asks": self.asks, "examples": self._some_examples() or [self.sample]}

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

    def _tensors(self, instance: Instance) -> dict[str, Any]:
        self.reader.apply_token_indexers(instance)
        batch = Batch([instance])
        batch.index_instances(self.model.vocab)
        return move_to_device(batch.as_tensor_dict(), next(self.model.parameters()).device)

    @property
    def _structure(self) -> Any:
        """The structure that chooses; `None` without one, or where it has not been learned."""
        structure = self.model.structure
        return structure if structure is not None and structure.is_fitted else None

    def _scores(self, log_prob: torch.Tensor, competing: Any) -> dict[str, list[float]]:
        """What scores the outputs that compete for one sentence: the task-net, and a structure with its terms."""
        columns: dict[str, list[float]] = {"log-probability": log_prob[0].tolist()}
        if self._structure is not None:
            joint = self._structure.joint
            terms = {_words(energy): energy(competing).expand_as(log_prob)[0] for energy in joint.energies}
            columns["energy"] = sum(terms.values()).tolist()
            columns.update((name, values.tolist()) for name, values in terms.items())
            columns["joint probability"] = joint.probabilities(competing)[0].tolist()
        return columns

    def _best(self, outputs: list[JsonDict], columns: dict[str, list[float]]) -> list[JsonDict]:
        """The task-net's best outputs with their numbers, and the chosen one wherever it is."""
        for place, output in enumerate(outputs):
            output["numbers"] = {name: finite(values[place]) for name, values in columns.items()}
        return outputs[:ALTERNATIVES] + [output for output in outputs[ALTERNATIVES:] if output["chosen"]]

    def _as_input(self, instance: Instance) -> str:
        return " ".join(instance["metadata"].metadata["words"])


class _TagAnswers(_SentenceAnswers):
    """Entities or tags: a block for each sentence."""

    def _blocks(self, request: JsonDict, record: JsonDict) -> Iterable[JsonDict]:
        # The words as the model reads them, which may write brackets and quotes in another way.
        _, instance = self.predictor.prepare(request)
        yield self._block(record, record["words"], instance, "")

    def _block(self, record: JsonDict, words: list[str], instance: Instance, heading: str) -> JsonDict:
        return {
            "kind": "spans",
            "heading": heading,
            "words": words,
            "spans": self._spans(record["tags"]),
            "numbers": _numbers(record),
            "alternatives": self._alternatives(instance, record["tags"]),
        }

    def _spans(self, tags: list[str]) -> list[tuple[str, int, int]]:
        if self.model.output_space.encoding is not None:
            return tags_to_spans(tags)
        return [(tag, place, place) for place, tag in enumerate(tags)]

    @torch.no_grad()
    def _alternatives(self, instance: Instance, chosen: list[str]) -> list[JsonDict]:
        """The best outputs of the task-net, with what scores them: a structure and its terms, or a loss-net."""
        model, structure = self.model, self._structure
        if model.task_net is None or model.inference is not None:
            return []
        tensors = self._tensors(instance)
        state = model.task_state(**tensors)
        most = ALTERNATIVES if structure is None else structure.num_candidates
        tags, log_prob = model.output_space.k_best(state.logits, most, state.mask)
        competing = None
        if structure is not None:
            words = instance["metadata"].metadata["words"]
            key = words[int(tensors["predicate"][0].argmax())].lower() if "predicate" in tensors else ""
            competing = TagPaths(tags, log_prob, state.mask, keys=[key]).competing(structure.scheme)
        columns = self._scores(log_prob, competing)
        if model.loss_net is not None:
            columns["energy of the loss-net"] = model.energy(state, tags)[0].tolist()
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
            "text": record["tree"],
            "image": f"data:image/svg+xml;base64,{picture}",
            "numbers": _numbers(record),
            "alternatives": self._alternatives(instance, record),
        }

    @torch.no_grad()
    def _alternatives(self, instance: Instance, record: JsonDict) -> list[JsonDict]:
        tensors = self._tensors(instance)
        several = self._structure is not None
        candidates = self.model.candidates(tensors["tokens"], tensors["metadata"], competing=several)
        columns = self._scores(candidates.log_prob, candidates.competing() if several else None)
        trees = [as_brackets(tree, record["words"]) for tree in candidates.trees[0]]
        return self._best([{"text": text, "chosen": text == record["tree"]} for text in trees], columns)


class _LabelAnswers(Answers):
    """Labels with their probabilities and thresholds."""

    sample = "Cocoa exports fell by a third."

    def __init__(self, name: str, archive: Archive) -> None:
        super().__init__(name, archive, probabilities=True)

    def answer(self, given: str) -> list[JsonDict]:
        return [self._block(record) for _, record in self._records(given)]

    def _block(self, record: JsonDict) -> JsonDict:
        probabilities = record["probabilities"]
        thresholds = self.model.threshold.expand(len(probabilities)).tolist()
        # A structure decides on whole sets: no threshold stands for it.
        by_sets = self.model.structure is not None and self.model.structure.is_fitted
        labels = [
            {
                "name": name,
                "probability": value,
                "threshold": None if by_sets else threshold,
                "predicted": name in record["labels"],
            }
            for (name, value), threshold in zip(probabilities.items(), thresholds)
        ]
        labels.sort(key=lambda label: (not label["predicted"], -(label["probability"] or 0)))
        return {"kind": "labels", "labels": labels[:LABELS], "numbers": _numbers(record)}

    def _as_input(self, instance: Instance) -> str:
        return " ".join(token.text for token in instance["tokens"])


class _FeatureAnswers(_LabelAnswers):
    asks = "features"
    sample = '{"features": {}}'

    def __init__(self, name: str, archive: Archive) -> None:
        super().__init__(name, archive)
        if archive.config["dataset_reader"].get("standardize"):
            self._data = None  # The reader's features are not those of the file, for which the page asks.

    def _as_input(self, instance: Instance) -> str:
        instance.index_fields(self.model.vocab)
        names = self.model.vocab.get_index_to_token_vocabulary(ATTRIBUTES)
        values = enumerate(instance["features"].tensor.tolist())
        return json.dumps({"features": {names[place]: round(value, 4) for place, value in values if value}})


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
        except ConfigurationError as error:
            raise ConfigurationError(str(error).replace(f"{path}: ", "").replace(path, "the image")) from error
        if "error" in record:
            raise ConfigurationError(record["error"])
        files = {key: record[f"{key}_file"] for key in ("overlay", "mask")}
        pictures = {key: _data_url(file) for key, file in files.items()}
        for file in files.values():
            os.unlink(file)
        shown = {"text": record["description"], "image": given, **pictures}
        return [{"kind": "mask", **shown, "numbers": _numbers(record)}]

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


def _words(energy: Any) -> str:
    """The name of a term of a structure: `RoleCounts` is `role counts`."""
    name = type(energy).__name__
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()


def _data_url(path: str) -> str:
    with open(path, "rb") as file:
        return "data:image/png;base64," + base64.b64encode(file.read()).decode()
