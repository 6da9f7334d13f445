from typing import Union

from allennlp.data import Vocabulary
from allennlp.data.fields import SequenceField, SequenceLabelField


class KnownLabelsField(SequenceLabelField):
    """
    A `SequenceLabelField` of strings in which a label that the vocabulary lacks is a placeholder, index 0. Label
    namespaces have no unknown entry, and AllenNLP's field ends in a `KeyError`. Models find such labels in the
    metadata: they count them as missed in evaluation and refuse to learn from them (`seal.metrics.UnknownGold`).

    # Parameters

    labels : `Union[list[str], list[int]]`
        Strings, or indices, which bypass the vocabulary.
    sequence_field : `SequenceField`
    label_namespace : `str`
    """

    def __init__(
        self, labels: Union[list[str], list[int]], sequence_field: SequenceField, label_namespace: str
    ) -> None:
        super().__init__(labels, sequence_field, label_namespace)

    def index(self, vocab: Vocabulary) -> None:
        if self._indexed_labels is None:
            known = vocab.get_token_to_index_vocabulary(self._label_namespace)
            self._indexed_labels = [known.get(label, 0) for label in self.labels]
