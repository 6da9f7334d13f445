"""
Encoders: an instance's tensors in, vectors out. Those of features and images need torch alone. Those of text need
AllenNLP, and are imported only when they are asked for.
"""

from seal.nets.encoders.attention_decoder import AttentionDecoder
from seal.nets.encoders.coupling import CouplingConvolution
from seal.nets.encoders.encoder import Encoder, FeatureMlp
from seal.nets.encoders.image import FullyConvolutional, ImageConvolution
from seal.registry import on_demand

__getattr__ = on_demand(
    __name__,
    {
        "CharacterEncoder": "characters",
        "Seq2SeqWordEncoder": "seq2seq",
        "Seq2VecTextEncoder": "seq2seq",
        "TextTransformer": "transformer",
        "TransformerWordEncoder": "transformer",
    },
)
