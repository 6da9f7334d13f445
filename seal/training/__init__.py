"""
AllenNLP trainers that train both nets in turns or by implicit gradients, in phases, with their callbacks and checks. A
stopped run can be continued.
"""

import seal.plugin  # noqa: F401  patches AllenNLP
from seal.training.batch_groups import GroupedLoader
from seal.training.callbacks import TraceInference, TraceInferenceNetworks, TuneThresholds
from seal.training.checkpoints import NonFiniteLoss, ResumableCheckpointer
from seal.training.distributed import ReplicaAccelerator
from seal.training.implicit_gradient_trainer import ImplicitGradientTrainer
from seal.training.phases import Phase
from seal.training.players import FusedAdamW, Player, TwoPlayerScheduler
from seal.training.trainer import AlternatingTrainer
from seal.two_player import TwoPlayerOptimizer
