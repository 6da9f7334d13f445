import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Optional

import torch
from allennlp.data import Token, Vocabulary
from allennlp.data.token_indexers import TokenCharactersIndexer, TokenIndexer
from torch.nn import functional as F

# The most distinct words in the cache.
_MOST_WORDS = 100_000


@TokenIndexer.register("seal_characters")
class CharactersIndexer(TokenCharactersIndexer):
    """
    A faster version of AllenNLP's indexer `characters`, with the same parameters and batches: it looks up the
    characters of a distinct word once, and an instance holds a tensor, which is padded in a batch.
    """

    def count_vocab_items(self, token: Token, counter: dict[str, dict[str, int]]) -> None:
        for character in self._characters(token):
            if getattr(character, "text_id", None) is None:
                counter[self._namespace][character.text] += 1

    def tokens_to_indices(self, tokens: Sequence[Token], vocabulary: Vocabulary) -> dict[str, torch.Tensor]:  # type: ignore[override]
        # `get_vocab_size` would create a missing namespace.
        known = self._namespace in vocabulary.get_namespaces()
        size = vocabulary.get_vocab_size(self._namespace) if known else 0
        if self._indexed_by is not vocabulary or self._size != size:
            self._indices.clear()
            self._indexed_by, self._size = vocabulary, size
        rows = [self._row(token, vocabulary) for token in itertools.chain(self._start_tokens, tokens, self._end_tokens)]
        longest = max(map(len, rows), default=0)
        padded = [row + [0] * (longest - len(row)) for row in rows]
        return {"token_characters": torch.tensor(padded, dtype=torch.int32).view(len(rows), longest)}

    def get_padding_lengths(self, indexed_tokens: dict[str, torch.Tensor]) -> dict[str, int]:  # type: ignore[override]
        words, longest = indexed_tokens["token_characters"].shape
        return {
            "token_characters": max(words, self._token_min_padding_length),
            "num_token_characters": max(longest, self._min_padding_length),
        }

    def as_padded_tensor_dict(  # type: ignore[override]
        self, tokens: dict[str, torch.Tensor], padding_lengths: dict[str, int]
    ) -> dict[str, torch.Tensor]:
        indices = tokens["token_characters"]
        words, longest = padding_lengths["token_characters"], padding_lengths["num_token_characters"]
        return {"token_characters": F.pad(indices, (0, longest - indices.shape[1], 0, words - indices.shape[0])).long()}

    def get_empty_token_list(self) -> dict[str, torch.Tensor]:  # type: ignore[override]
        return {"token_characters": torch.zeros(0, 0, dtype=torch.int32)}

    #: The vocabulary of the cached indices, and its number of characters.
    _indexed_by: Optional[Vocabulary] = None
    _size: int = 0

    @cached_property
    def _indices(self) -> dict[str, list[int]]:
        return {}

    @cached_property
    def _split(self) -> dict[str, list[Any]]:
        return {}

    def _row(self, token: Token, vocabulary: Vocabulary) -> list[int]:
        row = self._indices.get(token.text or "")
        if row is None:
            row = [
                character.text_id
                if getattr(character, "text_id", None) is not None
                else vocabulary.get_token_index(character.text, self._namespace)
                for character in self._characters(token)
            ]
            _keep(self._indices, token, row)
        return row

    def _characters(self, token: Token) -> list[Any]:
        assert token.text is not None
        characters = self._split.get(token.text)
        if characters is None:
            characters = self._character_tokenizer.tokenize(token.text)
            _keep(self._split, token, characters)
        return characters


def _keep(cache: dict[str, Any], token: Token, value: Any) -> None:
    if len(cache) >= _MOST_WORDS:
        cache.clear()
    cache[token.text or ""] = value
