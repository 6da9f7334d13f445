"""Energy losses `L_E`, which train the loss-net, and task losses `L_F`, which train the task-net under it."""

from seal.losses.energy_loss import Comparison, EnergyLoss, GoldEnergyLoss, RegressionLoss
from seal.losses.hinges import CompoundLoss, MarginLoss, PerceptronLoss
from seal.losses.inference_network import InferenceNetworkLoss
from seal.losses.ranking import (
    ContrastiveDivergenceLoss,
    NceRankingLoss,
    PartitionLoss,
    RankingLoss,
    RewardedContrastiveDivergenceLoss,
)
from seal.losses.task_loss import ConstrainedLoss, EveryStepLoss, NetTerms, TaskLoss, TaskNetRankingLoss
from seal.losses.through_draws import ThroughDrawsLoss
