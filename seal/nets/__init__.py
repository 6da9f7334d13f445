from seal.nets.cost_augmented_net import CostAugmentedNet, SeparatedNet, SharedNet, StackedNet
from seal.nets.encoders import Encoder, Seq2SeqWordEncoder, TransformerWordEncoder
from seal.nets.loss_net import LossNet
from seal.nets.task_net import TaskNet, TaskNetOutput
