from seal.energies.energy import Energy
from seal.energies.constraints import ConstraintsEnergy
from seal.energies.label_interaction import LabelInteractionEnergy
from seal.energies.linear_chain import LinearChainEnergy
from seal.energies.local import LocalEnergy
from seal.energies.mask_convolution import MaskConvolutionEnergy
from seal.energies.self_attention import SelfAttentionEnergy
from seal.energies.tag_language_model import TagLanguageModelEnergy
