import torch

from seal.common.batches import select_rows


def test_select_rows():
    inputs = {"a": {"b": torch.arange(6).view(3, 2)}, "c": torch.arange(3)}
    chosen = select_rows(inputs, torch.tensor([2, 0]))
    assert chosen["a"]["b"].tolist() == [[4, 5], [0, 1]] and chosen["c"].tolist() == [2, 0]
