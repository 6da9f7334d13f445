"""Energy losses `L_E`, which train the loss-net, and task losses `L_F`, which train the task-net under it."""

from seal.losses.constrained import ConstrainedLoss
from seal.losses.contrastive_divergence import ContrastiveDivergenceLoss, RewardedContrastiveDivergenceLoss
from seal.losses.energy_loss import Comparison, EnergyLoss, GoldEnergyLoss
from seal.losses.every_step import EveryStepLoss
from seal.losses.hinges import CompoundLoss, MarginLoss, PerceptronLoss
from seal.losses.inference_network import InferenceNetworkLoss
from seal.losses.partition import PartitionLoss
from seal.losses.ranking import NceRankingLoss, RankingLoss
from seal.losses.regression import RegressionLoss
from seal.losses.task_loss import NetTerms, TaskLoss
from seal.losses.task_net_ranking import TaskNetRankingLoss
from seal.losses.through_draws import ThroughDrawsLoss
