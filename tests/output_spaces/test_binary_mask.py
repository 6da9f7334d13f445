import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from seal.output_spaces import BinaryMask, OutputSpace
from seal.scores import HammingCost, SoftF1, SoftIoU
from tests.label_sets import label_set
from tests.segmentation import all_masks

SPACE = BinaryMask([2, 3])


def test_probabilities_of_all_masks():
    torch.manual_seed(0)
    logits = 2 * torch.randn(2, 2, 3, dtype=torch.double)
    masks = all_masks(2, 3).expand(2, -1, -1, -1)
    log_prob = SPACE.log_prob(logits, masks)
    assert torch.allclose(log_prob.exp().sum(dim=1), torch.ones(2, dtype=torch.double))
    for i, k in ((0, 5), (1, 60)):
        product = 1.0
        for logit, y in zip(logits[i].flatten().tolist(), masks[i, k].flatten().tolist()):
            on = 1 / (1 + math.exp(-logit))
            product *= on if y else 1 - on
        assert log_prob[i, k].item() == pytest.approx(math.log(product))
    assert torch.allclose(SPACE.cross_entropy(logits, masks[:, 9]), -log_prob[:, 9])


def test_it_is_the_label_set_of_its_pixels():
    """Whatever the arrangement, the figures are the same."""
    torch.manual_seed(1)
    labels = label_set(6)
    logits, gold = torch.randn(3, 2, 3, dtype=torch.double), (torch.rand(3, 2, 3) < 0.5).double()
    outputs = torch.rand(3, 4, 2, 3, dtype=torch.double)
    for score in (SoftF1(), SoftIoU(), HammingCost()):
        assert torch.allclose(score(SPACE, outputs, gold), score(labels, outputs.flatten(2), gold.flatten(1)))
    assert torch.allclose(SPACE.inner(logits, outputs), labels.inner(logits.flatten(1), outputs.flatten(2)))
    torch.manual_seed(2)
    draws = SPACE.sample(logits, 50)
    torch.manual_seed(2)
    assert torch.equal(draws.flatten(2), labels.sample(logits.flatten(1), 50))
    merged, log_count = SPACE.distinct(draws)
    assert merged.shape[2:] == (2, 3)
    assert torch.allclose(log_count.exp().sum(dim=1), torch.full((3,), 50.0))
    torch.manual_seed(3)
    soft = SPACE.relaxed_sample(logits, 5)
    assert soft.shape == (3, 5, 2, 3) and soft.min() > 0 and soft.max() < 1


def test_soft_iou_of_a_mask_by_hand():
    gold = torch.tensor([[[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]])
    outputs = torch.tensor([[[[0.9, 0.2, 0.6], [0.0, 0.0, 0.0]], [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]]])
    assert SoftIoU()(SPACE, outputs, gold)[0].tolist() == pytest.approx([1.5 / 2.2, 1.0])
    empty = torch.zeros_like(gold)
    assert SoftIoU()(SPACE, empty.unsqueeze(1), empty).item() == 1.0


def test_decoding_and_shapes():
    logits = torch.tensor([[[1.0, -1.0, 0.0], [-3.0, 2.0, -0.1]]])
    assert SPACE.decode(logits).tolist() == [[[1, 0, 1], [0, 1, 0]]]
    assert SPACE.relax(logits).shape == (1, 1, 2, 3)
    assert SPACE.straight_through(SPACE.relax(logits)).flatten().tolist() == [1, 0, 1, 0, 1, 0]
    assert torch.allclose(SPACE.relax(SPACE.to_logits(SPACE.relax(logits))[:, 0]), SPACE.relax(logits))


def test_a_mask_of_real_positions_is_refused():
    with pytest.raises(TypeError, match="BinaryMask takes no mask: every pixel of an image is real"):
        SPACE.relax(torch.zeros(1, 2, 3), torch.ones(1, 2))


def test_from_a_config():
    space = OutputSpace.from_params(Params({"type": "binary_mask", "size": 24}))
    assert (space.height, space.width) == (24, 24)
    for size in (0, [3], [3, 0], [1, 2, 3]):
        with pytest.raises(ConfigurationError, match="output_space.size"):
            OutputSpace.from_params(Params({"type": "binary_mask", "size": size}))
