"""
AllenNLP trainers that train both nets in turns or by implicit gradients, in phases; a stopped run goes on. Also their
callbacks and checks.
"""

from seal.training.alternating_trainer import AlternatingTrainer
from seal.training.divergence import NonFiniteLoss
from seal.training.implicit_gradient_trainer import ImplicitGradientTrainer
from seal.training.micro_batches import GroupedLoader
from seal.training.optimizers import FusedAdamW
from seal.training.phased_trainer import PhasedTrainer
from seal.training.phases import Phase
from seal.training.players import Player, TwoPlayerScheduler
from seal.training.replicas import ReplicaAccelerator
from seal.training.resumable_trainer import ResumableCheckpointer, ResumableTrainer
from seal.training.trace_inference import TraceInference
from seal.training.trace_inference_networks import TraceInferenceNetworks
from seal.training.tune_thresholds import TuneThresholds
from seal.two_player import TwoPlayerOptimizer
