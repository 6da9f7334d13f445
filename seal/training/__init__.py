from seal.training.alternating_trainer import AlternatingTrainer
from seal.training.checkpointer import ResumableCheckpointer
from seal.training.optimizers import FusedAdamW
from seal.training.player import Player, Warmup
from seal.training.replicas import ReplicaAccelerator
from seal.training.two_player import TwoPlayerOptimizer, TwoPlayerScheduler
