import torch
from allennlp.data import Token, Vocabulary
from allennlp.data.fields import TextField

from seal.dataset_readers.fields import KnownLabelsField, LabelSetField


def test_an_unknown_label_is_a_placeholder():
    vocab = Vocabulary(tokens_to_add={"srl_tags": ["O", "B-V"]})
    words = TextField([Token("cats"), Token("sleep")])
    for labels, expected in ((["O", "B-V"], [0, 1]), (["B-ARG7", "B-V"], [0, 1]), ([1, 1], [1, 1])):
        field = KnownLabelsField(labels, words, "srl_tags")
        field.index(vocab)
        assert field.as_tensor(field.get_padding_lengths()).tolist() == expected


def test_a_tensor_of_zeros_and_ones_without_unknown_labels():
    vocab = Vocabulary({"labels": {"a": 3, "b": 2, "c": 1}})
    for labels, expected in ((["c", "a"], [1.0, 0.0, 1.0]), ([], [0.0] * 3), (["d", "b"], [0.0, 1.0, 0.0])):
        field = LabelSetField(labels, "labels")
        field.index(vocab)
        assert torch.equal(field.as_tensor({}), torch.tensor(expected))
