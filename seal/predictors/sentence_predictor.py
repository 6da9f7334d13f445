from typing import Any

from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model

from seal.common.length_groups import size_of
from seal.predictors.limits import check_characters, check_words, noted_groups
from seal.predictors.line_predictor import LinePredictor, check_whole_number, without
from seal.predictors.lines import SentenceRequest, read_line
from seal.predictors.words import SplitAsTrained, WordSequence, WordSplitter, join_words


class SentencePredictor(LinePredictor):
    """
    The base of the predictors of sentences. A line is a sentence as plain text or, where it starts with `{`, a JSON
    object with `sentence` or `words`. Unless a task's predictor defines otherwise, a sentence is one instance of the
    model, whose output `_record` makes the record.

    # Parameters

    model, dataset_reader, frozen, energy :
        As for `LinePredictor`.
    splitter : `WordSplitter`
        How text is split into words.
    max_words : `int`
        Sentences with more words get an error in place of a prediction.

    # Raises

    `ConfigurationError` if `max_words` is out of range.
    """

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        frozen: bool,
        energy: bool,
        splitter: WordSplitter,
        max_words: int,
    ) -> None:
        check_whole_number("max_words", max_words)
        super().__init__(model, dataset_reader, frozen, energy)
        self._max_words = max_words
        self._split = SplitAsTrained(splitter, model.vocab)

    def predict(self, sentence: str) -> JsonDict:
        """The record of a sentence."""
        return self.predict_json({"sentence": sentence})

    def read(self, line: str) -> JsonDict:
        return read_line(line)

    def _sequence(self, request: SentenceRequest) -> tuple[WordSequence, list[str]]:
        """The words as the record has them, and as the model reads them."""
        if request.words is None:
            check_characters(request.sentence)
            sequence, words = self._split(request.sentence)
        else:
            sequence, words = join_words(request.words), request.words
        check_words(sequence.words, self._max_words)
        return sequence, words

    def records(self, prepared: list[tuple[WordSequence, Instance]]) -> list[JsonDict]:
        self._set_model()
        records: list[JsonDict] = [{} for _ in prepared]
        sizes = [size_of(sequence.words) for sequence, _ in prepared]
        for places in noted_groups(sizes, len(prepared), "sentences"):
            outputs = self._model.forward_on_instances([prepared[place][1] for place in places])
            for place, output in zip(places, outputs):
                records[place] = self._record(prepared[place][0], output)
        return records

    def _record(self, sequence: WordSequence, output: dict[str, Any]) -> JsonDict:
        """The record of a sentence from the model's output for it."""
        raise NotImplementedError

    def predict_batch_instance(self, instances: list[Instance]) -> list[JsonDict]:
        """The records of a reader's instances (`--use-dataset-reader`); their gold is ignored."""
        self.note_gold(instances)
        metadata = [instance["metadata"].metadata for instance in instances]  # type: ignore[attr-defined]
        instances = [without(instance, self._model.gold_key) for instance in instances]
        records = self.records(list(zip([join_words(item["words"]) for item in metadata], instances)))
        return [{"id": item["source"], **record} for item, record in zip(metadata, records)]
