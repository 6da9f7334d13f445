"""A wrong setting, or a wrong value, is named."""

from functools import partial

import pytest
import torch

from seal.energies import LabelInteractionEnergy, LogPartitionEnergy, MaskConvolutionEnergy, SelfAttentionEnergy
from seal.energies.mask_convolution import check_convolutions
from seal.output_spaces import BinaryMask
from seal.registry import ConfigurationError
from tests.energies.test_constraints import energy as rules
from tests.energies.test_tag_language_model import energy_of
from tests.label_sets import label_set
from tests.spine import tag_sequence


def attention(**settings):
    return SelfAttentionEnergy(9, tag_sequence(3), **settings)


@pytest.mark.parametrize(
    "make, named",
    [
        (lambda: rules(BinaryMask(2)), "masks"),
        (lambda: rules(label_set(3), weight=-1), "weight"),
        (partial(check_convolutions, "the net", [3, 0], 3), "the net.*0"),
        (partial(check_convolutions, "the net", [3], 4), "the net.*kernel_size 4"),
        (partial(check_convolutions, "the net", [3], -1), "the net.*kernel_size -1"),
        (lambda: LabelInteractionEnergy(7, label_set(3), hidden_dim=0), "hidden_dim.*'label_interaction'"),
        (lambda: LogPartitionEnergy(2, label_set(3), hidden_dim=0), "hidden_dim.*'log_partition'"),
        (lambda: MaskConvolutionEnergy(3, BinaryMask(4), channels=[0]), "'mask_convolution'"),
        (lambda: MaskConvolutionEnergy(3, BinaryMask(4), kernel_size=2), "'mask_convolution'.*kernel_size 2"),
        (lambda: MaskConvolutionEnergy(3, BinaryMask(4), hidden_dims=[4, 0]), "hidden_dims.*0"),
        (partial(attention, dropout=-0.1), "dropout.*'self_attention'.*-0.1"),
        (partial(attention, dropout=1.5), "dropout.*1.5"),
        (partial(attention, pooling="max"), "pooling.*'max'"),
        (partial(attention, num_heads=0), "num_heads"),
        (partial(attention, num_layers=0), "num_layers"),
        (partial(attention, hidden_dim=6, num_heads=4), "hidden_dim 6.*num_heads, 4"),
        (partial(attention, hidden_dim=5, num_heads=1), "hidden_dim 5"),
        (partial(energy_of, hidden_dim=0), "hidden_dim.*'tag_language_model'"),
        (partial(energy_of, embedding_dim=0), "embedding_dim"),
        (partial(energy_of, gamma=1.0, word_dim=0), "word_dim"),
        (partial(energy_of, word_dim=3), "word_dim.*gamma"),
        (partial(energy_of, gamma=-1.0), "gamma.*-1.0"),
        (partial(energy_of, word_embedder=torch.nn.Identity()), "gamma"),
        (partial(energy_of, gamma=1.0, frozen=True), "frozen.*word_embedder"),
        (partial(energy_of, pretrained_file="/absent.tar.gz"), "pretrained_file.*absent.tar.gz"),
    ],
)
def test_it_is_named(make, named):
    with pytest.raises(ConfigurationError, match=named):
        make()
