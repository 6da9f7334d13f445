import torch
from allennlp.data import Vocabulary
from allennlp.data.fields import MultiLabelField


class LabelSetField(MultiLabelField):
    """
    A `MultiLabelField` of names, with a tensor in floating point, which leaves out labels that the vocabulary lacks.
    Label namespaces have no unknown entry, and AllenNLP's field ends in a `KeyError`. Models find such labels in the
    metadata: they count them as missed in evaluation and refuse to learn from them (`seal.metrics.UnknownGold`).
    """

    def __init__(self, labels: list[str], label_namespace: str) -> None:
        super().__init__(labels, label_namespace)

    def index(self, vocab: Vocabulary) -> None:
        known = vocab.get_token_to_index_vocabulary(self._label_namespace)
        self._label_ids = [known[label] for label in self.labels if label in known]
        self._num_labels = len(known)

    def as_tensor(self, padding_lengths: dict[str, int]) -> torch.Tensor:
        """0 or 1: `(labels,)`."""
        return super().as_tensor(padding_lengths).float()
