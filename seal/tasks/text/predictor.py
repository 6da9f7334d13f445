"""The predictor of label sets for raw text."""

from typing import Any

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import Batch, DatasetReader, Instance
from allennlp.data.fields import MetadataField, TextField
from allennlp.models import Model
from allennlp.nn.util import move_to_device
from allennlp.predictors import Predictor

from seal.common.length_groups import size_of
from seal.common.setting_checks import check_that, check_whole, with_parameters_of
from seal.files.records import read_json
from seal.tasks.base.fields import field_of
from seal.tasks.base.predictor import decodable, without
from seal.tasks.base.sentence_predictor import MAX_WORDS, check_characters, check_words, groups_with_progress
from seal.tasks.multilabel.predictor import LabelSetPredictor
from seal.tasks.text.model import TextMultilabelModel


@Predictor.register("seal_text_multilabel")
class TextMultilabelPredictor(LabelSetPredictor):
    """
    The labels of raw text: the predictor of `seal_text_multilabel` models.

    ```python
    predictor = Predictor.from_path("model.tar.gz", predictor_name="seal_text_multilabel")
    predictor.predict("Cocoa exports fell by a third")["labels"]  # {"cocoa": 0.97, "trade": 0.61}
    ```

    A line of the input of `predict` is plain text or, where it starts with `{`, a JSON object with the keys that
    the reader joins to a text (all of its `text_keys`, or else `text` or another of the keys that JSON lines may have)
    and optionally `id`; other keys, which files of data have, are ignored. Its record is as for `LabelSetPredictor`.

    # Parameters

    model : `TextMultilabelModel`
    dataset_reader : `TextMultilabelReader`
    frozen, top_k, energy, decision, probabilities :
        As for `LabelSetPredictor`.
    max_words : `int`, optional (default = `10000`)
        Texts with more tokens, after the reader has cut them, get an error in place of a prediction. Memory grows with
        their number.
    """

    registered_name = "seal_text_multilabel"
    model_class = TextMultilabelModel
    wanted = "a text"

    @with_parameters_of(LabelSetPredictor.__init__)
    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        frozen: bool = True,
        max_words: int = MAX_WORDS,
        **arguments: Any,
    ) -> None:
        check_whole("max_words", max_words, least=1)
        super().__init__(model, dataset_reader, frozen, **arguments)
        self._max_words = max_words

    def request(self, given: Any) -> JsonDict:
        """Turns an object, or a whole text, into a request, even if the reader joins texts from several keys."""
        check_that(isinstance(given, (str, dict)), "the input", "a text or an object with a text", given)
        return {"text": _Whole(given)} if isinstance(given, str) else given

    def read(self, line: str) -> JsonDict:
        line = decodable(line)
        if not line.lstrip().startswith("{"):
            return {"text": _Whole(line)}
        return read_json(line, "the line starts with '{' and is not JSON")

    def prepare(self, inputs: JsonDict) -> Instance:
        text = inputs.get("text")
        if not isinstance(text, _Whole):
            text = self._dataset_reader.text_of(inputs)
        check_characters(text)
        instance = self._dataset_reader.text_to_instance(text)
        self._model.check_length(len(instance["tokens"]))
        check_words(_words_of(instance), self._max_words)
        self._dataset_reader.apply_token_indexers(instance)
        return instance

    def records(self, prepared: list[Instance]) -> list[JsonDict]:
        return self._labelled(prepared)

    def predict_batch_instance(self, instances: list[Instance]) -> list[JsonDict]:
        """The records of a reader's instances (`--use-dataset-reader`); their gold labels are ignored."""
        self.note_gold(instances)
        instances = [without(instance, "labels") for instance in instances]
        records: list[JsonDict] = []
        good: list[int] = []
        for place, instance in enumerate(instances):
            source = field_of(instance, "metadata", MetadataField).metadata["source"]
            try:
                self._model.check_length(len(instance["tokens"]), source)
                records.append({"id": source})
                good.append(place)
            except ConfigurationError as error:
                records.append({"id": source, "error": str(error)})
        for place, record in zip(good, self._labelled([instances[place] for place in good])):
            records[place].update(record)
        return records

    def _labelled(self, instances: list[Instance]) -> list[JsonDict]:
        records: list[JsonDict] = [{} for _ in instances]
        sizes = [size_of(_words_of(instance)) for instance in instances]
        for places in groups_with_progress(sizes, len(instances), "texts"):
            batch = Batch([instances[place] for place in places])
            batch.index_instances(self._model.vocab)
            tokens = move_to_device(batch.as_tensor_dict()["tokens"], self._model.tuned_threshold.device)
            for place, record in zip(places, self._predict({"tokens": tokens})):
                records[place] = record
        return records


def _words_of(instance: Instance) -> list[str]:
    return [token.text or "" for token in field_of(instance, "tokens", TextField)]


class _Whole(str):
    """A whole text, which the reader does not join with other texts."""
