"""
The terms of a loss-net's energy: some link an input to an output, others the parts of an output to each other. The
language model of tags reads words with AllenNLP's embedders, so it is imported only when it is asked for.
"""

from seal.energies.energy import (
    ConstraintsEnergy,
    Energy,
    LabelInteractionEnergy,
    LinearChainEnergy,
    LocalEnergy,
    LogPartitionEnergy,
)
from seal.energies.mask_convolution import MaskConvolutionEnergy
from seal.energies.self_attention import SelfAttentionEnergy
from seal.registry import on_demand

__getattr__ = on_demand(__name__, {"TagLanguageModelEnergy": "tag_language_model"})
