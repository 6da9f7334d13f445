import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token, Vocabulary
from allennlp.data.fields import TextField

from seal.dataset_readers.fields import KnownLabelsField, LabelSetField, NamedColumns


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


def vocabulary(*names):
    vocab = Vocabulary()
    for name in names:
        vocab.add_token_to_namespace(name, "labels")
    return vocab


def test_order_finds_each_entry_of_the_vocabulary():
    assert columns("a", "b", "c").order(vocabulary("c", "a", "b")).tolist() == [2, 0, 1]
    assert columns("a", "b").ordered([1, 0]).names == ["b", "a"]


def test_another_vocabulary_is_another_order():
    found = columns("a", "b")
    assert found.order(vocabulary("a", "b")).tolist() == [0, 1]
    assert found.order(vocabulary("b", "a")).tolist() == [1, 0]


def test_counted_names_keep_their_order():
    counter = {"labels": {"b": 0, "a": 0, "c": 0}}
    columns("b", "a", "c").count(counter)
    vocab = Vocabulary(counter=counter)
    assert [vocab.get_token_from_index(i, "labels") for i in range(3)] == ["b", "a", "c"]


def test_other_names_are_an_error():
    with pytest.raises(ConfigurationError, match="fruit.arff: the label 'z' is not among those the model was"):
        columns("a", "z").order(vocabulary("a", "b"))
    with pytest.raises(ConfigurationError, match="fruit.arff: the label 'b' is missing"):
        columns("a").order(vocabulary("a", "b"))
    for names in (("a", "a"), ("a", "b", "a")):
        with pytest.raises(ConfigurationError, match="fruit.arff: the label 'a' is there twice"):
            columns(*names).order(vocabulary("a", "b"))
