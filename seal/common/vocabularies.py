"""The namespaces of seal's vocabularies, and the names in a namespace in the order of their indices."""

from collections.abc import Sequence
from typing import Protocol, Union

# AllenNLP gives no padding entry to namespaces that end in "labels".
#: The labels of instances.
LABELS = "labels"
#: The attributes that are features, of data with a row of numbers an instance.
ATTRIBUTES = "attribute_labels"
#: How the training data write brackets, quotes and the like (`seal.tasks.base.token_forms`).
WRITTEN = "written_form_labels"
#: How the training data write tags of spans (`seal.common.tag_notation`).
NOTATIONS = "tag_notation_labels"


class Namespaces(Protocol):
    """The interface of a vocabulary, such as AllenNLP's."""

    def get_vocab_size(self, namespace: str) -> int: ...

    def get_token_from_index(self, index: int, namespace: str) -> str: ...


Vocabulary = Union[Sequence[str], Namespaces]


def labels_of(vocab: Vocabulary, namespace: str) -> list[str]:
    """The labels of a namespace in the order of their indices; `vocab` may also be the list of labels."""
    if isinstance(vocab, Sequence):
        return list(vocab)
    return [vocab.get_token_from_index(i, namespace) for i in range(vocab.get_vocab_size(namespace))]


class IndexedNames(Protocol):
    """A vocabulary whose namespaces have entries for padding and unknown words, too."""

    def get_index_to_token_vocabulary(self, namespace: str) -> dict[int, str]: ...


def names_of(vocab: IndexedNames, namespace: str) -> list[str]:
    """The names of a namespace in the order of their indices, including any entries for padding and unknown words."""
    index = vocab.get_index_to_token_vocabulary(namespace)
    return [index[i] for i in range(len(index))]
