"""
The step of two players, for a loop of any kind: the two nets with their losses (`TwoNets`), and an object that updates
them in turns with optimizers of its own (`TwoPlayerStep`). AllenNLP's trainer is built of the same pieces.
"""

from seal.two_player.features import Features
from seal.two_player.loss_terms import LossTerms
from seal.two_player.micro_batch import MicroBatch
from seal.two_player.objectives import Objectives
from seal.two_player.optimizer import TwoPlayerOptimizer
from seal.two_player.random_stream import RandomStream
from seal.two_player.task_state import TaskState
from seal.two_player.turn import LOSS_NET, TASK_NET, LossNetTurn, Plan, TaskNetTurn, Turn
from seal.two_player.turns import Turns
from seal.two_player.two_nets import TwoNets
from seal.two_player.two_player_step import TwoPlayerStep, Updates
