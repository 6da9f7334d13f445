"""A wrong setting, or a wrong value, is named."""

from functools import partial

import pytest
import torch
from allennlp.common import Params
from transformers import DistilBertConfig, DistilBertModel

from seal.nets import AttentionDecoder, TaskNet
from seal.nets.encoders import CouplingConvolution, FeatureMlp, FullyConvolutional, ImageConvolution
from seal.nets.encoders.adapters import Adapters
from seal.registry import ConfigurationError
from tests.label_sets import label_set
from tests.nets.encoders.test_seq2seq import encoder_of
from tests.nets.encoders.test_seq2vec import net_of as text_net
from tests.nets.test_cost_augmented_net import net_of
from tests.nets.test_loss_net import loss_net
from tests.spine import tag_sequence
from tests.trees import SYMBOLS, WordVectors


def distilbert():
    return DistilBertModel(DistilBertConfig(vocab_size=30, dim=16, n_layers=1, n_heads=2, hidden_dim=24))


def decoder(symbols=SYMBOLS, **settings):
    return AttentionDecoder(WordVectors(), symbols, **settings)


def features(size=4, **settings):
    FeatureMlp(**{"hidden_dim": 3, "num_layers": 2, "input_dim": 4, **settings})({"features": torch.zeros(2, size)})


def unrolled(**settings):
    encoder = {"type": "feature_mlp", "input_dim": 4, "hidden_dim": 5, "num_layers": 1}
    given = {"encoder": encoder, "energies": [{"type": "label_interaction", "hidden_dim": 3}], **settings}
    return TaskNet.from_params(Params({"type": "unrolled", **given}), output_space=label_set(3))


LSTM = {"type": "lstm", "input_size": 4, "hidden_size": 3}


@pytest.mark.parametrize(
    "make, named",
    [
        (partial(Adapters, dim=0), "encoder.adapters.dim"),
        (partial(Adapters, placement="lora"), "placement.*'lora'"),
        (lambda: Adapters().insert(distilbert()), "DistilBertModel"),
        (partial(decoder, hidden_dim=0), "encoder.hidden_dim"),
        (partial(decoder, symbol_dim=0), "encoder.symbol_dim"),
        (partial(decoder, num_layers=0), "encoder.num_layers"),
        (partial(decoder, ["O", "B-A"]), "symbols"),
        (partial(CouplingConvolution, width=0), "0"),
        (partial(CouplingConvolution, channels=3), "channels"),
        (partial(CouplingConvolution, levels=0), "levels"),
        (partial(CouplingConvolution, depth=0), "depth"),
        (partial(CouplingConvolution, levels=11), "encoder.levels.*11"),
        (partial(features, dropout=[0.1]), "encoder.dropout.*2.*1"),
        (partial(features, num_layers=0), "num_layers"),
        (partial(features, 5), "encoder.input_dim: .*5.*4"),
        (partial(FullyConvolutional, channels=[4, 0]), "0"),
        (partial(FullyConvolutional, channels=[4, 5], up_channels=[3, 3]), "encoder.up_channels"),
        (partial(FullyConvolutional, kernel_size=4), "kernel_size 4"),
        (partial(ImageConvolution, kernel_size=2), "kernel_size"),
        (partial(encoder_of, predicate_dim=3), "encoder.encoder.*8 and 7"),
        (partial(text_net, input_size=5), "encoder.encoder.*4 and 5"),
        (lambda: net_of("stacked", tag_sequence(4), encoder=LSTM), "8.*4"),
        (partial(loss_net, energies=[]), "loss_net.energies"),
        (partial(unrolled, num_steps=0), "num_steps"),
        (partial(unrolled, step_size=0.0), "step_size"),
        (partial(unrolled, momentum=1.0), "momentum"),
        (partial(unrolled, entropy_weight=-1.0), "entropy_weight"),
        (partial(unrolled, truncation=0), "truncation"),
        (partial(unrolled, energies=[]), "energies"),
    ],
)
def test_it_is_named(make, named):
    with pytest.raises(ConfigurationError, match=named):
        make()
