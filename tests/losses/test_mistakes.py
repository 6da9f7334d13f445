"""A wrong setting, or a wrong value, is named."""

import pytest
import torch

from seal.losses import (
    CompoundLoss,
    ConstrainedLoss,
    EveryStepLoss,
    InferenceNetworkLoss,
    PartitionLoss,
    RegressionLoss,
    TaskLoss,
    TaskNetRankingLoss,
    ThroughDrawsLoss,
)
from seal.output_spaces import BinaryMask
from seal.registry import ConfigurationError
from tests.label_sets import label_set
from tests.losses.test_constrained import TWICE, constrained
from tests.losses.test_hinges import SEPARATE, loss_and_gradient
from tests.spine import tag_sequence

OF_C, OF_SETS = {"type": "at_most_one", "labels": ["C"]}, {**TWICE, "labels": ["l0"]}
TAGS, SETS = (torch.zeros(1, 2, 3), torch.zeros(1, 2).long()), (torch.zeros(2, 2), torch.zeros(2, 2))


@pytest.mark.parametrize(
    "make, named",
    [
        (lambda: ConstrainedLoss([]), "rule"),
        (lambda: constrained(-1.0), "task_loss.weight"),
        (lambda: constrained(1.0, OF_C).supervised(tag_sequence(3), *TAGS), "'C'"),
        (lambda: constrained().supervised(BinaryMask(2), torch.zeros(1, 2, 2), torch.zeros(1, 2, 2)), "masks"),
        (lambda: constrained(1.0, {**TWICE, "each": False}, log_space=True), "task_loss.log_space"),
        (lambda: constrained(1.0, OF_SETS, log_space=True).supervised(label_set(2), *SETS), "task_loss.log_space"),
        (lambda: EveryStepLoss("early"), "task_loss.weights"),
        (lambda: EveryStepLoss().supervised_in_steps(label_set(2), None, *SETS), "'every_step'"),
        (lambda: CompoundLoss(perceptron_weight=-1), "perceptron_weight"),
        (lambda: loss_and_gradient(SEPARATE, -1.0, [0.0] * 3), "3"),
        (lambda: InferenceNetworkLoss(cost_augmented_cross_entropy_weight=-1.0), "cost_augmented_cross_entropy_weight"),
        (lambda: InferenceNetworkLoss(perceptron_weight=-0.5), "task_loss.perceptron_weight.*-0.5"),
        (lambda: InferenceNetworkLoss(margin_weight=-0.5), "task_loss.margin_weight.*-0.5"),
        (lambda: InferenceNetworkLoss(perceptron_weight=0.0, margin_weight=0.0), "both 0"),
        (lambda: PartitionLoss(limit=-1.0), "energy_loss.limit"),
        (lambda: RegressionLoss(reduction="max"), "energy_loss.reduction.*'max'"),
        (lambda: TaskLoss(-1.0, 1.0), "task_loss.energy_weight.*-1.0"),
        (lambda: TaskLoss(1.0, -1.0), "task_loss.cross_entropy_weight.*-1.0"),
        (lambda: TaskLoss(0.0, 0.0), "both 0"),
        (lambda: TaskNetRankingLoss(num_samples=0), "task_loss.num_samples.*0"),
        (lambda: TaskNetRankingLoss(cross_entropy_weight=0), "cross_entropy_weight"),
        (lambda: ThroughDrawsLoss(num_samples=1), "task_loss.num_samples.*1"),
    ],
)
def test_it_is_named(make, named):
    with pytest.raises(ConfigurationError, match=named):
        make()
