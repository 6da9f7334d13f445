import torch
from allennlp.data import Vocabulary

from seal.dataset_readers.label_set_field import LabelSetField


def test_a_tensor_of_zeros_and_ones_without_unknown_labels():
    vocab = Vocabulary({"labels": {"a": 3, "b": 2, "c": 1}})
    for labels, expected in ((["c", "a"], [1.0, 0.0, 1.0]), ([], [0.0] * 3), (["d", "b"], [0.0, 1.0, 0.0])):
        field = LabelSetField(labels, "labels")
        field.index(vocab)
        assert torch.equal(field.as_tensor({}), torch.tensor(expected))
