from typing import Iterable, List, Optional, Union

from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.data.fields import SequenceField, SequenceLabelField


class KnownLabelsField(SequenceLabelField):
    """
    A `SequenceLabelField` of strings whose error names the file and line of a label that the vocabulary lacks. Label
    namespaces have no unknown entry, and AllenNLP's error is a `KeyError` without the file.

    # Parameters

    labels : `Union[List[str], List[int]]`
        Strings, or indices, which bypass the vocabulary.
    sequence_field : `SequenceField`
    label_namespace : `str`
    source : `str`, optional
        Where the labels are from, `file:line`.
    lines : `List[int]`, optional
        The line of each label in that file, where they have lines of their own.
    """

    def __init__(
        self,
        labels: Union[List[str], List[int]],
        sequence_field: SequenceField,
        label_namespace: str,
        source: Optional[str] = None,
        lines: Optional[List[int]] = None,
    ) -> None:
        super().__init__(labels, sequence_field, label_namespace)
        self._source, self._lines = source, lines

    def index(self, vocab: Vocabulary) -> None:
        if self._indexed_labels is not None:
            return  # The labels are indices.
        more = (
            " (the config's datasets_for_vocab_creation says which files count, vocabulary.tokens_to_add adds labels)"
        )
        check_known(self.labels, vocab, self._label_namespace, self._source, more, self._lines)
        super().index(vocab)


def check_known(
    labels: Iterable[str],
    vocab: Vocabulary,
    namespace: str,
    source: Optional[str],
    more: str,
    lines: Optional[List[int]] = None,
) -> None:
    """
    Raises `ConfigurationError` at a label that the vocabulary lacks; `more` is the end of its advice. `source` is
    `file:line` and, with `lines`, the line of the label takes the place of that one.
    """
    known = vocab.get_token_to_index_vocabulary(namespace)
    for index, label in enumerate(labels):
        if label not in known:
            if source and lines is not None:
                source = f"{source.rpartition(':')[0]}:{lines[index]}"
            where = f"{source}: " if source else ""
            raise ConfigurationError(
                f"{where}the label '{label}' is not in the model's vocabulary ('{namespace}'), which comes from its "
                f"training data: correct the label, or train with data that has it{more}."
            )
