from seal.losses.energy_loss import EnergyLoss
from seal.losses.margin import MarginLoss
from seal.losses.ranking import NceRankingLoss, RankingLoss
from seal.losses.task_loss import TaskLoss
