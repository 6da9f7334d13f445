from seal.training.alternating_trainer import AlternatingTrainer, NonFiniteLoss
from seal.training.checkpointer import ResumableCheckpointer
from seal.training.optimizers import FusedAdamW
from seal.training.phases import Phase
from seal.training.player import Player
from seal.training.replicas import ReplicaAccelerator
from seal.training.resumable_trainer import ResumableTrainer
from seal.training.trace_inference_networks import TraceInferenceNetworks
from seal.training.two_player import TwoPlayerOptimizer, TwoPlayerScheduler
