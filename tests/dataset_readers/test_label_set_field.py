import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from seal.dataset_readers.label_set_field import LabelSetField


def test_a_tensor_of_zeros_and_ones():
    vocab = Vocabulary({"labels": {"a": 3, "b": 2, "c": 1}})
    for labels, expected in ((["c", "a"], [1.0, 0.0, 1.0]), ([], [0.0, 0.0, 0.0])):
        field = LabelSetField(labels, "labels", "x:1")
        field.index(vocab)
        assert torch.equal(field.as_tensor({}), torch.tensor(expected))


def test_an_unknown_label_is_told_with_its_place():
    with pytest.raises(ConfigurationError, match=r"x:1: the label 'd' is not in the model's vocabulary \('labels'\)"):
        LabelSetField(["d"], "labels", "x:1").index(Vocabulary({"labels": {"a": 1}}))
