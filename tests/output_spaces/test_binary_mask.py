import torch

from seal.output_spaces import BinaryMask
from seal.scores import HammingCost, SoftF1, SoftIoU
from tests.label_sets import label_set

SPACE = BinaryMask([2, 3])


def test_it_is_the_label_set_of_its_pixels():
    """Whatever the arrangement, the figures are the same."""
    torch.manual_seed(1)
    labels = label_set(6)
    logits, gold = torch.randn(3, 2, 3, dtype=torch.double), (torch.rand(3, 2, 3) < 0.5).double()
    outputs = torch.rand(3, 4, 2, 3, dtype=torch.double)
    for score in (SoftF1(), SoftIoU(), HammingCost()):
        assert torch.allclose(score(SPACE, outputs, gold), score(labels, outputs.flatten(2), gold.flatten(1)))
    for function in ("inner", "log_prob"):
        expected = getattr(labels, function)(logits.flatten(1), outputs.flatten(2))
        assert torch.allclose(getattr(SPACE, function)(logits, outputs), expected)
    assert torch.allclose(SPACE.cross_entropy(logits, gold), labels.cross_entropy(logits.flatten(1), gold.flatten(1)))
    torch.manual_seed(2)
    draws = SPACE.sample(logits, 50)
    torch.manual_seed(2)
    assert torch.equal(draws.flatten(2), labels.sample(logits.flatten(1), 50))
    for found, expected in zip(SPACE.distinct(draws), labels.distinct(draws.flatten(2))):
        assert torch.equal(found.flatten(2) if found.dim() == 4 else found, expected)
    torch.manual_seed(3)
    soft = SPACE.relaxed_sample(logits, 5)
    assert soft.shape == (3, 5, 2, 3) and soft.min() > 0 and soft.max() < 1


def test_decoding_and_shapes():
    logits = torch.tensor([[[1.0, -1.0, 0.0], [-3.0, 2.0, -0.1]]])
    assert SPACE.decode(logits).tolist() == [[[1, 0, 1], [0, 1, 0]]]
    assert SPACE.relax(logits).shape == (1, 1, 2, 3)
    assert SPACE.straight_through(SPACE.relax(logits)).flatten().tolist() == [1, 0, 1, 0, 1, 0]
    assert torch.allclose(SPACE.relax(SPACE.to_logits(SPACE.relax(logits))[:, 0]), SPACE.relax(logits))
