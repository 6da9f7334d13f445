from allennlp.data import Vocabulary

from seal.common.vocabularies import ATTRIBUTES, LABELS, labels_of, names_of
from tests.spine import vocabulary


def test_a_list_is_the_labels_and_a_vocabulary_has_them_in_a_namespace():
    names = ["b", "a", "c"]
    assert labels_of(names, "tags") == labels_of(tuple(names), "any") == names
    assert labels_of(vocabulary(names, "tags"), "tags") == names
    assert labels_of(vocabulary(names, "tags"), "others_labels") == []


def test_names_are_all_that_the_vocabulary_holds():
    vocab = Vocabulary()
    for namespace in (ATTRIBUTES, LABELS):
        assert [vocab.add_token_to_namespace(name, namespace) for name in ("b", "a")] == [0, 1]
        assert vocab.get_vocab_size(namespace) == 2


def test_names_with_those_for_padding():
    vocab = Vocabulary()
    vocab.add_token_to_namespace("word", "tokens")
    assert names_of(vocab, "tokens") == ["@@PADDING@@", "@@UNKNOWN@@", "word"]
