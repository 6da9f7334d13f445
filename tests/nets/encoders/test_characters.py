import pytest
import torch
from allennlp.common import Params
from allennlp.modules import TokenEmbedder
from allennlp.modules.token_embedders import TokenCharactersEncoder

from seal.nets.encoders import characters
from seal.nets.encoders.characters import distinct_rows


def encoder_of(kind="seal_character_encoding", **changes):
    encoder = {"type": "cnn", "embedding_dim": 3, "num_filters": 5, "ngram_filter_sizes": [2, 4], **changes}
    settings = {"type": kind, "embedding": {"embedding_dim": 3, "num_embeddings": 20}, "encoder": encoder}
    torch.manual_seed(0)
    return TokenEmbedder.from_params(Params(settings))


def words(longest=12, number=30):
    """Four rows of words; many occur several times, some are shorter than a filter, and there is padding."""
    torch.manual_seed(1)
    lengths = torch.randint(0, longest + 1, (number, 1))
    lengths[0] = longest
    distinct = torch.randint(1, 20, (number, longest)) * (torch.arange(longest) < lengths)
    return distinct[torch.cat([torch.arange(number), torch.randint(number, (4 * 20 - number,))])].view(4, 20, longest)


@pytest.mark.parametrize("changes", [{}, {"output_dim": 4}, {"conv_layer_activation": "gelu"}])
@pytest.mark.parametrize("longest", [4, 8, 12])
def test_vectors_and_gradients_are_those_of_allennlp(changes, longest):
    found, expected = (encoder_of(kind, **changes) for kind in ("seal_character_encoding", "character_encoding"))
    assert found.state_dict().keys() == expected.state_dict().keys()
    assert type(expected) is TokenCharactersEncoder
    for encoder in (found, expected):
        encoder.vectors = encoder(words(longest))
        (encoder.vectors * torch.linspace(-1, 1, encoder.vectors.numel()).view_as(encoder.vectors)).sum().backward()
    torch.testing.assert_close(found.vectors, expected.vectors, rtol=1e-5, atol=1e-6)
    for (name, one), other in zip(found.named_parameters(), expected.parameters()):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-5, msg=name)


def test_each_distinct_word_is_encoded_once(monkeypatch):
    encoder, batch, encoded = encoder_of(), words(), []
    original = characters.convolved
    monkeypatch.setattr(characters, "convolved", lambda *a: encoded.append(len(a[1])) or original(*a))
    encoder(batch)
    assert sum(encoded) == len(batch.flatten(0, 1).unique(dim=0)) < 40


def test_distinct_rows():
    rows = words().flatten(0, 1)
    distinct, places = distinct_rows(rows)
    assert torch.equal(distinct[places], rows) and len(distinct) == len(rows.unique(dim=0))


def test_words_with_equal_hashes_stay_apart(monkeypatch):
    monkeypatch.setattr(characters, "_FACTOR", 1)
    rows = torch.tensor([[1, 2], [2, 1], [1, 2]])
    distinct, places = distinct_rows(rows)
    assert torch.equal(distinct[places], rows)


def test_dropout_is_drawn_for_each_word():
    encoder = TokenEmbedder.from_params(
        Params(
            {
                "type": "seal_character_encoding",
                "dropout": 0.5,
                "embedding": {"embedding_dim": 3, "num_embeddings": 20},
                "encoder": {"type": "cnn", "embedding_dim": 3, "num_filters": 50, "ngram_filter_sizes": [2]},
            }
        )
    )
    one, other = encoder(torch.tensor([[[1, 2, 3], [1, 2, 3]]]))[0]
    assert not torch.equal(one == 0, other == 0)
