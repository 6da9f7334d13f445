from typing import List

from allennlp.data import Vocabulary


def names_of(vocab: Vocabulary, namespace: str) -> List[str]:
    """The names of a namespace in the order of their numbers, with those for padding and unknown words, if any."""
    index = vocab.get_index_to_token_vocabulary(namespace)
    return [index[i] for i in range(len(index))]
