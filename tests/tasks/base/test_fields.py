import pytest
import torch
from allennlp.data import Token, Vocabulary
from allennlp.data.fields import TextField

from seal.tasks.base.fields import KnownLabelsField, LabelSetField, NamedColumns
from tests.multilabel import vocabulary
from tests.one_sentence import message_of


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


def columns(*names):
    return NamedColumns(list(names), "labels", "label", "fruit.arff")


@pytest.mark.parametrize(
    "names, told",
    [
        ("az", "'z'"),
        ("a", "'b'"),
        ("aa", "'a'"),
        ("aba", "'a'"),
    ],
)
def test_other_names_are_an_error(names, told):
    assert message_of(columns(*names).order, vocabulary("ab")).startswith(f"fruit.arff: the label {told}")
