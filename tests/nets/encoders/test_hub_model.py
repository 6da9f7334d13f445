import pytest
from transformers import AutoModel, BertConfig, DebertaV2Config, GPT2Config, RobertaConfig, XLNetConfig

from seal.nets.encoders.transformer import positions_of

SIZES = dict(vocab_size=8, hidden_size=4, num_hidden_layers=1, num_attention_heads=1, intermediate_size=4)


@pytest.mark.parametrize(
    "config, positions",
    [
        (BertConfig(max_position_embeddings=64, **SIZES), 64),
        (RobertaConfig(max_position_embeddings=66, pad_token_id=1, **SIZES), 64),
        (GPT2Config(vocab_size=8, n_positions=64, n_embd=4, n_layer=1, n_head=1), 64),
        (DebertaV2Config(relative_attention=True, position_biased_input=True, **SIZES), 512),
        (DebertaV2Config(relative_attention=True, position_biased_input=False, **SIZES), None),
        (XLNetConfig(vocab_size=8, d_model=4, n_layer=1, n_head=1, d_inner=4), None),
    ],
)
def test_positions(config, positions):
    assert positions_of(AutoModel.from_config(config)) == positions
