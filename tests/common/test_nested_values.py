import numpy
import torch

from seal.common.nested_values import plain, shapes_of


def test_numbers_of_numpy_and_torch_are_pythons():
    made = plain({"a": [numpy.float64(0.5), {"b": (torch.tensor(3), "word", None)}]})
    assert made == {"a": [0.5, {"b": (3, "word", None)}]}
    assert type(made["a"][0]) is float and type(made["a"][1]["b"][0]) is int


def test_tensors_stay():
    tensor = torch.ones(2)
    assert plain([tensor])[0] is tensor


def test_shapes_by_name():
    assert shapes_of({"a": torch.zeros(2, 3), "b": torch.zeros(())}) == {"a": (2, 3), "b": ()}
