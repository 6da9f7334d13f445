"""
The nets: the task-net, the loss-net, cost-augmented networks, and the encoders that they are made of (`encoders`). Nets
that read text with AllenNLP's embedders or a transformer are imported only when they are asked for.
"""

from seal.nets.cost_augmented_net import CostAugmentedNet, SeparatedNet, SharedNet
from seal.nets.encoders import AttentionDecoder, Encoder, FeatureMlp
from seal.nets.task_and_loss_net import LossNet, TaskNet, TaskNetOutput
from seal.nets.tree_beam import TreeBeam, tree_beam
from seal.nets.unrolled_net import UnrolledNet
from seal.registry import on_demand

__getattr__ = on_demand(
    __name__,
    {"StackedNet": "stacked_net", "Seq2SeqWordEncoder": "encoders", "TransformerWordEncoder": "encoders"},
)
