"""
Fields of instances: labels that the vocabulary may lack, and words whose written forms it counts.
"""

import torch
from allennlp.data import Vocabulary
from allennlp.data.fields import MetadataField, MultiLabelField, SequenceLabelField

from seal.common.vocabularies import WRITTEN
from seal.common.written_forms import count_forms


class KnownLabelsField(SequenceLabelField):
    """
    A `SequenceLabelField` of strings in which a label that the vocabulary lacks is a placeholder, index 0. Label
    namespaces have no unknown entry, and AllenNLP's field ends in a `KeyError`. Models find such labels in the
    metadata: they count them as missed in evaluation and refuse to learn from them (`seal.metrics.UnknownGold`). Labels
    that are indices bypass the vocabulary.
    """

    def index(self, vocab: Vocabulary) -> None:
        if self._indexed_labels is None:
            known = vocab.get_token_to_index_vocabulary(self._label_namespace)
            self._indexed_labels = [known.get(label, 0) for label in self.labels]


class LabelSetField(MultiLabelField):
    """
    A `MultiLabelField` of names, with a tensor in floating point, which leaves out labels that the vocabulary lacks,
    for the same reason.
    """

    def index(self, vocab: Vocabulary) -> None:
        known = vocab.get_token_to_index_vocabulary(self._label_namespace)
        self._label_ids = [known[label] for label in self.labels if label in known]
        self._num_labels = len(known)

    def as_tensor(self, padding_lengths: dict[str, int]) -> torch.Tensor:
        """0 or 1: `(labels,)`."""
        return super().as_tensor(padding_lengths).float()


class WordsField(MetadataField):
    """
    The metadata of a sentence, from whose `words` the vocabulary learns how its data write brackets, quotes and the
    like. Prediction brings raw text to these forms.
    """

    def count_vocab_items(self, counter: dict[str, dict[str, int]]) -> None:
        for form, count in count_forms(self.metadata["words"]).items():
            counter[WRITTEN][form] += count
