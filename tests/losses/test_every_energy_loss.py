"""What holds for each energy loss: candidates count as often as they were drawn, and padding takes no part."""

import pytest
import torch

from seal.losses import (
    Comparison,
    CompoundLoss,
    ContrastiveDivergenceLoss,
    MarginLoss,
    NceRankingLoss,
    PartitionLoss,
    PerceptronLoss,
    RankingLoss,
    RegressionLoss,
)
from seal.output_spaces import Candidates
from seal.scores import L1Cost, SoftIoU
from tests.losses.one_instance import Given, loss_and_gradient
from tests.spine import mask_of, tag_sequence

LOSSES = {
    "margin": MarginLoss(Given()),
    "perceptron": PerceptronLoss(),
    "compound": CompoundLoss(Given(), perceptron_weight=0.5),
    "ranking": RankingLoss(),
    "nce_ranking": NceRankingLoss(),
    "partition": PartitionLoss(),
    "contrastive_divergence": ContrastiveDivergenceLoss(Given()),
    "regression, sum": RegressionLoss(Given()),
    "regression, mean": RegressionLoss(Given(), "mean"),
}
# Of the candidates two have an open hinge, with a margin and without.
GOLD, GOLD_NOISE = -0.5, -1.2
ENERGY, GIVEN, NOISE = [-0.8, 0.5, -1.3], [0.4, 0.7, 0.25], [-0.9, -2.0, -1.6]


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_a_count_stands_for_repeats(loss):
    counts = [3, 1, 2]

    def repeat(values):
        return [value for value, count in zip(values, counts) for _ in range(count)]

    merged, gradient = loss_and_gradient(loss, GOLD, ENERGY, GIVEN, counts, NOISE, GOLD_NOISE)
    repeated, (of_gold, *parts) = loss_and_gradient(
        loss, GOLD, repeat(ENERGY), repeat(GIVEN), None, repeat(NOISE), GOLD_NOISE
    )
    assert merged == pytest.approx(repeated)
    assert gradient == pytest.approx([of_gold, sum(parts[:3]), parts[3], sum(parts[4:])]) and any(parts)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_fillers_are_silent(loss):
    value, gradient = loss_and_gradient(loss, GOLD, ENERGY, GIVEN, None, NOISE, GOLD_NOISE)
    more = ENERGY + [-50.0, 3.0], GIVEN + [0.9, 0.2], [1, 1, 1, 0, 0], NOISE + [-1.0, -100.0]
    filled = loss_and_gradient(loss, GOLD, *more, GOLD_NOISE)
    assert filled[0] == pytest.approx(value) and filled[1] == pytest.approx(gradient + [0, 0])


@pytest.mark.parametrize(
    "loss",
    [
        MarginLoss(),
        ContrastiveDivergenceLoss(),
        ContrastiveDivergenceLoss(L1Cost()),
        RegressionLoss(),
        RegressionLoss(SoftIoU(), "mean"),
    ],
)
@pytest.mark.parametrize("relaxed", [False, True])
def test_padding_takes_no_part(loss, relaxed):
    """Every row of a padded batch as alone; noise stands at padding."""
    torch.manual_seed(0)
    space, lengths, gold = tag_sequence(3), [4, 1, 2], torch.randint(3, (3, 4))
    outputs = torch.randn(3, 5, 4, 3).softmax(-1) if relaxed else torch.randint(3, (3, 5, 4))
    gold_energy, energy = torch.randn(3), torch.randn(3, 5)
    found = loss(Comparison(gold_energy, energy, Candidates(outputs), gold, space, mask_of(lengths)))
    for i, n in enumerate(lengths):
        row, single = slice(i, i + 1), Candidates(outputs[i : i + 1, :, :n])
        alone = loss(Comparison(gold_energy[row], energy[row], single, gold[row, :n], space))
        assert torch.allclose(found[row], alone)
