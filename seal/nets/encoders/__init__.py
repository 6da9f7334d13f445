from seal.nets.encoders.encoder import Encoder
from seal.nets.encoders.features import FeatureMlp
from seal.nets.encoders.image import FullyConvolutional, ImageConvolution
from seal.nets.encoders.seq2seq import Seq2SeqWordEncoder
from seal.nets.encoders.seq2vec import Seq2VecTextEncoder
from seal.nets.encoders.text_transformer import TextTransformer
from seal.nets.encoders.transformer import TransformerWordEncoder
