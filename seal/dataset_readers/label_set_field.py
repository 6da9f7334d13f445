from typing import Dict, List, Optional

import torch
from allennlp.data import Vocabulary
from allennlp.data.fields import MultiLabelField

from seal.dataset_readers.known_labels import check_known


class LabelSetField(MultiLabelField):
    """
    A `MultiLabelField` of names, with a tensor in floating point, whose error names the file and line of a label that
    the vocabulary lacks. Label namespaces have no unknown entry, and AllenNLP's error is a `KeyError` without the file.

    # Parameters

    labels : `List[str]`
    label_namespace : `str`
    source : `str`, optional
        Where the labels are from, `file:line`.
    """

    def __init__(self, labels: List[str], label_namespace: str, source: Optional[str] = None) -> None:
        super().__init__(labels, label_namespace)
        self._source = source

    def index(self, vocab: Vocabulary) -> None:
        more = ", or with all labels named in dataset_reader.labels"
        check_known(self.labels, vocab, self._label_namespace, self._source, more)
        super().index(vocab)

    def as_tensor(self, padding_lengths: Dict[str, int]) -> torch.Tensor:
        """0 or 1: `(labels,)`."""
        return super().as_tensor(padding_lengths).float()
