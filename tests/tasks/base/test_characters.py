import pytest
import torch
from allennlp.common import Params
from allennlp.data import Batch, Instance, Token, TokenIndexer, Vocabulary
from allennlp.data.fields import ListField, TextField

TEXTS = ["The cook cut bread", "", "a\u00e9", "The unforgettable cook cut the cook"]


def indexer(kind, **more):
    settings = {"character_tokenizer": {"start_tokens": ["<w>"], **more}, "min_padding_length": 4}
    return TokenIndexer.from_params(Params({"type": kind, **settings}))


def batch_of(kind, texts=TEXTS, vocab=None, made=None, **more):
    made = made or indexer(kind, **more)
    fields = [TextField([Token(word) for word in text.split()], {"c": made}) for text in texts]
    batch = Batch([Instance({"text": field, "list": ListField([field, field.empty_field()])}) for field in fields])
    vocab = vocab or Vocabulary.from_instances(batch)
    batch.index_instances(vocab)
    tensors = batch.as_tensor_dict()
    return [tensors[name]["c"]["token_characters"] for name in ("text", "list")], vocab


@pytest.mark.parametrize(
    "more", [{}, {"byte_encoding": "utf-8", "start_tokens": [300]}, {"lowercase_characters": True}]
)
@pytest.mark.parametrize("texts", [TEXTS, ["a b", "c"]])
def test_batches_are_those_of_allennlp(more, texts):
    (found, vocab), (expected, other) = (batch_of(kind, texts, **more) for kind in ("seal_characters", "characters"))
    assert vocab._token_to_index == other._token_to_index
    assert all(map(torch.equal, found, expected)) and vocab._token_to_index == other._token_to_index


def test_words_are_indexed_anew_by_another_vocabulary_or_one_that_has_grown():
    made = indexer("seal_characters")
    first, vocab = batch_of("", ["abc"], made=made)
    for grown in (Vocabulary(), vocab):
        for character in "cb\u00e9":
            grown.add_token_to_namespace(character, "token_characters")
        found, _ = batch_of("", ["abc \u00e9"], vocab=grown, made=made)
        expected, _ = batch_of("characters", ["abc \u00e9"], vocab=grown)
        assert all(map(torch.equal, found, expected))
