import pickle
from pathlib import Path

import pytest
from allennlp.common import Params
from allennlp.data import Token, Vocabulary
from allennlp.data.token_indexers import PretrainedTransformerMismatchedIndexer, TokenIndexer

import seal.plugin  # noqa: F401
from seal.tasks.base.sentence_pieces import ALONE, SentencePiecesIndexer
from tests.small_tokenizers import FAMILIES, save_tokenizer

SENTENCES = [
    ["Anna", "sells", "honey"],
    ["Why", "did", "n't", "Anna", "buy", "the", "well", "-", "known", "ginger", "?"],
    ["a", "a", "1", ".", "The", "knife", ",", "a"],
    ["honey"],
]
ALL = [(family, fast) for family in FAMILIES for fast in (True, False)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("tokenizers")
    made = {}

    def make(family: str, fast: bool = True) -> Path:
        if (family, fast) not in made:
            made[family, fast] = save_tokenizer(family, fast, root / f"{family}_{fast}")
        return made[family, fast]

    return make


def indexed(indexer, words):
    return indexer.tokens_to_indices([Token(word) for word in words], Vocabulary())


@pytest.mark.parametrize("family, fast", ALL)
def test_the_pieces_are_those_of_the_whole_sentence(folder, family, fast):
    indexer = SentencePiecesIndexer(str(folder(family, fast)), tokenizer_kwargs={"use_fast": fast})
    tokenizer = indexer._allennlp_tokenizer.tokenizer
    assert tokenizer.is_fast is fast
    for words in SENTENCES:
        found = indexed(indexer, words)
        assert found["token_ids"] == tokenizer.encode(" ".join(words))
        # Each word has its own pieces, and all of them together are those of the sentence, in order.
        starts, ends = zip(*found["offsets"])
        assert all(start <= end for start, end in found["offsets"])
        assert [start - 1 for start in starts[1:]] == list(ends[:-1])


@pytest.mark.parametrize("family", ["roberta", "gpt2"])
def test_what_was_wrong_with_the_pieces_of_words_alone(folder, family):
    """Only the first word was as in pretraining."""
    model = str(folder(family))
    alone, inside = SentencePiecesIndexer(model, pieces=ALONE), SentencePiecesIndexer(model)
    names = inside._allennlp_tokenizer.tokenizer.convert_ids_to_tokens
    assert "".join(names(indexed(inside, SENTENCES[0])["token_ids"])).count("Ġ") == 2
    assert "".join(names(indexed(alone, SENTENCES[0])["token_ids"])).count("Ġ") == 0
    assert indexed(alone, ["Anna"]) == indexed(inside, ["Anna"])


def test_words_without_pieces_and_strange_ones(folder):
    indexer = SentencePiecesIndexer(str(folder("wordpiece")))
    found = indexed(indexer, ["\u200b", "Anna", "\u200b", "honey"])
    assert found["offsets"][0] == found["offsets"][2] == (-1, -1)
    assert found["token_ids"] == indexed(indexer, ["Anna", "honey"])["token_ids"]
    for family in FAMILIES:
        indexer = SentencePiecesIndexer(str(folder(family)))
        for word in ("\u00a0", "Ġ", "▁", "##a", "…", "\U0001f600", "-LRB-", "a b"):
            found = indexed(indexer, ["Anna", word, "honey"])
            assert found["offsets"][2][1] == len(found["token_ids"]) - 1 - indexer._num_added_end_tokens


def test_the_name_that_configs_have(folder):
    indexer = TokenIndexer.from_params(
        Params({"type": "pretrained_transformer_mismatched", "model_name": str(folder("roberta")), "max_length": 8})
    )
    assert isinstance(indexer, SentencePiecesIndexer)
    assert isinstance(indexer, PretrainedTransformerMismatchedIndexer)
    words = ["Anna", "sells", "honey"] * 4
    copied = pickle.loads(pickle.dumps(indexer))
    assert indexed(copied, words)["token_ids"] == indexed(indexer, words)["token_ids"]
