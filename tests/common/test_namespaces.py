from allennlp.data import Vocabulary

from seal.common.namespaces import ATTRIBUTES, LABELS


def test_names_are_all_that_the_vocabulary_holds():
    vocab = Vocabulary()
    for namespace in (ATTRIBUTES, LABELS):
        assert [vocab.add_token_to_namespace(name, namespace) for name in ("b", "a")] == [0, 1]
        assert vocab.get_vocab_size(namespace) == 2
