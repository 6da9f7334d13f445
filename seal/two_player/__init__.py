"""
One step of two-player training, for any training loop: `TwoNets` holds both nets and their losses, and `TwoPlayerStep`
updates the nets in turns. The AllenNLP trainers of `seal.training` use the same classes.
"""

from seal.common.random_states import RandomStream
from seal.two_player.objectives import Features, LossTerms, Objectives, TaskState
from seal.two_player.two_player_step import TwoNets, TwoPlayerStep, Updates
from seal.two_player.updates import (
    LOSS_NET,
    TASK_NET,
    AlternatingUpdates,
    MicroBatch,
    NotFinite,
    Plan,
    TwoPlayerOptimizer,
    Update,
)
