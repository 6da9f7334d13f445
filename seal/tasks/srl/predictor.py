"""The predictor of semantic roles for raw text."""

from typing import Any, Optional

import torch
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.data.fields import MetadataField
from allennlp.models import Model
from allennlp.predictors import Predictor

from seal.common.setting_checks import check_that, check_whole, require
from seal.common.tag_encodings import tags_to_spans
from seal.tasks.base.fields import field_of
from seal.tasks.base.predictor import finite, probabilities_of
from seal.tasks.base.sentence_predictor import MAX_WORDS, SentencePredictor, groups_with_progress, read_request
from seal.tasks.base.words import EnglishSplitter, describe
from seal.tasks.srl.model import SrlModel
from seal.tasks.srl.predicates import (
    IndexedSentence,
    ModelPredicateFinder,
    PredicateFinder,
    Row,
    TaggerPredicateFinder,
    as_tensors,
)


@Predictor.register("seal_srl")
class SrlPredictor(SentencePredictor):
    """
    Who did what to whom, for raw text: the predictor of `seal_srl` models.

    ```python
    predictor = Predictor.from_path("model.tar.gz", predictor_name="seal_srl")
    for frame in predictor.predict("The boy broke the vase .")["frames"]:
        print(frame["description"])  # [ARG0 The boy] [V broke] [ARG1 the vase] .
    ```

    A line of the input of `predict` is a sentence as plain text or, where it starts with `{`, a JSON
    object with `sentence` (text), or with `words` and optionally `predicates` (a list of indices; without it
    they are found); and optionally `id`. `frames`, as files of data have them, are ignored. Its record has

    - `id`: the line's, if it has one.
    - `words`: those given, or the words into which spaCy's rules split the sentence. The model reads them as its
      training data write them, such as `-LRB-` for `(`.
    - `offsets`: `[start, end)` of each word in the sentence, in characters; where `words` were given, in the
      words joined by a space.
    - `frames`: one for each predicate, none where a sentence has none:
        - `predicate`: the word.
        - `index`: the index of that word.
        - `tags`: a BIO tag for each word.
        - `spans`: `role`, `start` and `end` (indices of the first word and of the last, inclusive) and
          `text`.
        - `description`: the words with the spans in brackets.
        - `probability`: how likely the whole frame is to be right, in [0, 1]: of a model with a structure that has
          learned something, calibrated on validation data, otherwise the task-net's.
        - `probability_own`: in the first case, the task-net's.
        - `energy`: where it was asked for, the loss-net's energy of the frame; low is good.

    # Parameters

    model : `SrlModel`
    dataset_reader : `SrlReader`
    frozen, energy :
        As for `LinePredictor`.
    predicate_threshold : `float`, optional (default = `0.5`)
        Words with at least this probability, by the head that was trained with the model, are predicates.
    predicates_from : `str`, optional (default = `None`)
        A `seal_tagging` model, by its name, archive, folder or `hf://USER/MODEL`: words that it tags as verbs are
        predicates, too. For text with words that the model was not trained on. `None`: the one that the model's
        `predicates_from` names, if any; empty: none.
    frames_per_batch : `int`, optional (default = `32`)
        The most frames in one pass of the model, or sentences whose predicates are found in one pass. Long sentences
        have fewer.
    max_words : `int`, optional (default = `10000`)
        Sentences with more words get an error in place of a prediction. Memory grows with their number.
    split_sentences : `bool`, optional (default = `False`)
        Split a text into sentences, as for `SentencePredictor`.

    # Raises

    `ConfigurationError` as for `LinePredictor`, and if an argument is out of range.
    """

    registered_name = "seal_srl"
    model_class = SrlModel
    keys = ("sentence", "words", "predicates", "frames")

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        frozen: bool = True,
        predicate_threshold: float = 0.5,
        predicates_from: Optional[str] = None,
        frames_per_batch: int = 32,
        max_words: int = MAX_WORDS,
        energy: bool = False,
        split_sentences: bool = False,
        **unknown: Any,
    ) -> None:
        super().__init__(
            model, dataset_reader, frozen, energy, EnglishSplitter(), max_words, split_sentences, **unknown
        )
        is_share = type(predicate_threshold) in (int, float) and 0 <= predicate_threshold <= 1
        check_that(is_share, "predicate_threshold", "in [0, 1]", predicate_threshold)
        check_whole("frames_per_batch", frames_per_batch, least=1)
        self._finder: PredicateFinder = ModelPredicateFinder(
            self._model, self.cuda_device, predicate_threshold, frames_per_batch
        )
        if predicates_from is None:
            predicates_from = self._model.predicates_from
        if predicates_from not in (None, ""):
            check_that(isinstance(predicates_from, str), "predicates_from", "the name of a model", predicates_from)
            self._finder = TaggerPredicateFinder(predicates_from, self.cuda_device, beside=self._finder)
        self._frames_per_batch = frames_per_batch

    def prepare(self, inputs: JsonDict) -> tuple[IndexedSentence, Optional[list[int]]]:
        request = read_request(inputs)
        sequence, words = self._sequence(request)
        return IndexedSentence(sequence, self._dataset_reader, self._model.vocab, words), request.predicates

    def records(self, prepared: list[tuple[IndexedSentence, Optional[list[int]]]]) -> list[JsonDict]:
        """
        Finds the predicates of all sentences, then decodes the frames of all sentences, each in as few passes
        of the model as `frames_per_batch` allows.
        """
        sentences = [sentence for sentence, _ in prepared]
        frames = self._frames(sentences, [predicates for _, predicates in prepared])
        sequences = [sentence.sequence for sentence in sentences]
        return [{"words": one.words, "offsets": one.offsets, "frames": found} for one, found in zip(sequences, frames)]

    def predict_batch_instance(self, instances: list[Instance]) -> list[JsonDict]:
        """
        The records of a reader's instances (`--use-dataset-reader`): the frame of the instance's predicate or, for an
        instance without one, the frames of the predicates that are found. In a record `predicates` says which of the
        two it has (`"given"` or `"found"`), and `id` where the sentence is from.
        """
        self.note_gold(instances)
        inputs, sources = [], []
        for instance in instances:
            metadata = field_of(instance, "metadata", MetadataField).metadata
            predicate = metadata["predicate"]
            inputs.append({"words": metadata["words"], "predicates": None if predicate is None else [predicate]})
            sources.append({"id": metadata["source"], "predicates": "found" if predicate is None else "given"})
        return [{**source, **record} for source, record in zip(sources, self.predict_batch_json(inputs))]

    def _frames(self, sentences: list[IndexedSentence], predicates: list[Optional[list[int]]]) -> list[list[JsonDict]]:
        """The frames of each sentence, for its predicates or, where these are `None`, for those that are found."""
        self._set_model()
        unknown = [place for place, indices in enumerate(predicates) if indices is None]
        found = dict(zip(unknown, self._finder.find([sentences[place] for place in unknown])))
        rows: list[Row] = []
        owner: list[int] = []
        for place, indices in enumerate(predicates):
            for index in found[place] if indices is None else indices:
                rows.append(Row(sentences[place], index))
                owner.append(place)
        frames: list[JsonDict] = [{} for _ in rows]
        for places in groups_with_progress([row.sentence.size for row in rows], self._frames_per_batch, "frames"):
            batch = [rows[place] for place in places]
            for place, frame in zip(places, self._decode(batch)):
                frames[place] = frame
        of_sentence: list[list[JsonDict]] = [[] for _ in sentences]
        for place, frame in zip(owner, frames):
            of_sentence[place].append(frame)
        return of_sentence

    # Not `torch.inference_mode`, in which inference by an energy could not switch on the gradients that it needs.
    @torch.no_grad()
    def _decode(self, rows: list[Row]) -> list[JsonDict]:
        output = self._model(**as_tensors(rows, self.cuda_device))
        # A sum of rounded logarithms may be a little over 0.
        own = output["log_prob"].double().clamp(max=0).exp().tolist()
        calibrated = output["probability"].tolist() if "probability" in output else [None] * len(rows)
        tags = self._model.make_output_human_readable({"tags": output["tags"]})["tags"]
        frames = []
        for i, row in enumerate(rows):
            frame = _frame(row, tags[i][: row.sentence.num_words])
            frame |= probabilities_of(calibrated[i], finite(own[i]))
            if self._energy:
                frame["energy"] = finite(output["energy"][i].item())
            frames.append(frame)
        return frames


def _frame(row: Row, tags: list[str]) -> JsonDict:
    sequence, predicate = row.sentence.sequence, require(row.predicate, "a predicate")
    spans = tags_to_spans(tags)
    return {
        "predicate": sequence.words[predicate],
        "index": predicate,
        "tags": tags,
        "spans": sequence.spans(spans, "role"),
        "description": describe(sequence.words, spans),
    }
