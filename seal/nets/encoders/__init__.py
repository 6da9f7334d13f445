from seal.nets.encoders.encoder import Encoder
from seal.nets.encoders.features import FeatureMlp
from seal.nets.encoders.seq2seq import Seq2SeqPredicateEncoder
from seal.nets.encoders.transformer import TransformerPredicateEncoder
