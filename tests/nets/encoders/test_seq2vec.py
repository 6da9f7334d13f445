import torch
from allennlp.common import Params
from allennlp.data import Vocabulary

from seal.nets.encoders import Encoder


def net_of(input_size=4, **settings):
    embedding = {"type": "embedding", "embedding_dim": 4, "num_embeddings": 8}
    params = {
        "type": "seq2vec",
        "embedder": {"token_embedders": {"tokens": embedding}},
        "encoder": {"type": "lstm", "bidirectional": True, "input_size": input_size, "hidden_size": 3},
        **settings,
    }
    return Encoder.from_params(Params(params), vocab=Vocabulary())


def test_the_vector_is_that_of_the_encoder_and_padding_says_nothing():
    net = net_of(dropout=0.5).eval()
    assert net.get_output_dim() == 6
    ids = torch.tensor([[2, 3, 0, 0], [4, 5, 6, 7]])
    found = net({"tokens": {"tokens": {"tokens": ids}}})
    table = net._embedder.token_embedder_tokens.weight
    for row, length in ((0, 2), (1, 4)):
        _, (last, _) = net._encoder._module(table[ids[row : row + 1, :length]])
        assert torch.allclose(found[row], last[:, 0].flatten(), atol=1e-6)
    net.train()
    assert not torch.equal(net({"tokens": {"tokens": {"tokens": ids}}}), found)


def test_dropout_is_on_words_and_vector():
    net, read = net_of(), []
    net._dropout.p = 1.0
    net._encoder.register_forward_pre_hook(lambda _, arguments: read.append(arguments[0]))
    assert not net({"tokens": {"tokens": {"tokens": torch.tensor([[1, 2]])}}}).any() and not read[0].any()
