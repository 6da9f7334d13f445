import numpy
import torch

from seal.common.plain import plain


def test_numbers_of_numpy_and_torch_are_pythons():
    made = plain({"a": [numpy.float64(0.5), {"b": (torch.tensor(3), "word", None)}]})
    assert made == {"a": [0.5, {"b": (3, "word", None)}]}
    assert type(made["a"][0]) is float and type(made["a"][1]["b"][0]) is int


def test_tensors_stay():
    tensor = torch.ones(2)
    assert plain([tensor])[0] is tensor
