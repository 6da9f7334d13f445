"""
The step of two players, for a loop of any kind: the two nets with their losses (`TwoNets`), and an object that updates
them in turns with optimizers of its own (`TwoPlayerStep`). AllenNLP's trainer is built of the same pieces.
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
