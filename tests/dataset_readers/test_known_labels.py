from allennlp.data import Token, Vocabulary
from allennlp.data.fields import TextField

from seal.dataset_readers.known_labels import KnownLabelsField


def test_an_unknown_label_is_a_placeholder():
    vocab = Vocabulary(tokens_to_add={"srl_tags": ["O", "B-V"]})
    words = TextField([Token("cats"), Token("sleep")])
    for labels, expected in ((["O", "B-V"], [0, 1]), (["B-ARG7", "B-V"], [0, 1]), ([1, 1], [1, 1])):
        field = KnownLabelsField(labels, words, "srl_tags")
        field.index(vocab)
        assert field.as_tensor(field.get_padding_lengths()).tolist() == expected
