"""The labels of an output space: a list of their names, or a namespace of a vocabulary."""

from typing import List, Protocol, Sequence, Union


class Namespaces(Protocol):
    """What is read of a vocabulary, such as AllenNLP's."""

    def get_vocab_size(self, namespace: str) -> int: ...

    def get_token_from_index(self, index: int, namespace: str) -> str: ...


Vocabulary = Union[Sequence[str], Namespaces]


def labels_of(vocab: Vocabulary, namespace: str) -> List[str]:
    """The labels in the order of their indices; those of `namespace`, unless `vocab` is the list of them itself."""
    if isinstance(vocab, Sequence):
        return list(vocab)
    return [vocab.get_token_from_index(i, namespace) for i in range(vocab.get_vocab_size(namespace))]
