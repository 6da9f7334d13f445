import torch

from seal.hypergradients.parameter_layout import ParameterLayout
from tests.hypergradients.bilevel import leaf


def parameters():
    return {
        "matrix": torch.nn.Parameter(torch.arange(6.0).view(2, 3).T),
        "scalar": torch.nn.Parameter(torch.tensor(7.0)),
        "empty": torch.nn.Parameter(torch.zeros(0, 2)),
        "half": torch.nn.Parameter(torch.tensor([8.0, 9.0]).bfloat16()),
    }


def test_there_and_back():
    named = parameters()
    layout = ParameterLayout(named)
    flat = layout.flatten_named(named)
    assert flat.tolist() == [0, 3, 1, 4, 2, 5, 7, 8, 9] and layout.size == 9
    assert flat.dtype == torch.float and not flat.requires_grad
    back = layout.named(flat)
    assert list(back) == list(named)
    for name, value in back.items():
        assert torch.equal(value, named[name]) and value.dtype == named[name].dtype
    assert layout.flatten([None] * 4).tolist() == [0] * 9


def test_precision_is_the_highest_and_at_least_float32():
    half = torch.nn.Parameter(torch.ones(2).half())
    assert ParameterLayout({"a": half}).dtype == torch.float
    assert ParameterLayout({"a": half, "b": leaf(1.0)}).dtype == torch.double


def test_a_tensor_with_two_names_counts_once():
    first, second = leaf(1.0, 2.0), leaf(3.0)
    layout = ParameterLayout({"a": first, "b": second, "c": first})
    assert layout.size == 3 and layout.flatten(layout.tensors).tolist() == [1, 2, 3]
    named = layout.named(torch.tensor([4.0, 5.0, 6.0]))
    assert named["c"] is named["a"] and named["b"].tolist() == [6]
    assert layout.names_shared_with(ParameterLayout({"x": first})) == ["a", "c"]
    assert layout.names_shared_with(ParameterLayout({"x": leaf(1.0, 2.0)})) == []


def test_a_transposed_vector_is_taken_by_place_not_by_memory():
    layout = ParameterLayout(parameters())
    flat = torch.arange(18.0).view(9, 2)[:, 0]
    assert layout.split(flat)[0].tolist() == [[0, 2], [4, 6], [8, 10]]
