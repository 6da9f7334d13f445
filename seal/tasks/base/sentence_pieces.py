"""
Splits words into the pieces that pretrained encoders read.
"""

from collections.abc import Iterator
from typing import Any, Optional

from allennlp.data.token_indexers import PretrainedTransformerMismatchedIndexer, TokenIndexer
from allennlp.data.tokenizers import Token

from seal.common.setting_checks import check_choice

#: The registered name of the indexer.
INDEXER = "pretrained_transformer_mismatched"
#: The two ways to split words: as inside their sentence, or each word as if it were a text of its own.
IN_SENTENCE, ALONE = "in_sentence", "alone"
# Words to put before a word, to see its pieces inside a sentence.
_BEFORE = ("a", "the", "1", ".")
# The number of words whose pieces are kept.
_MOST_KEPT = 2**16


class SentencePieces:
    """
    The pieces that a pretrained tokenizer makes of the words of a sentence, as it makes them of the whole sentence, the
    words joined by a space. The pieces of a word behind another word show the tokenizer's mark of a word's beginning
    (`##`, `Ġ`, `▁`), if it has one.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._before = {before: self._ids(before) for before in _BEFORE}
        self._inside: dict[str, list[int]] = {}

    def __call__(self, words: list[str]) -> tuple[list[Token], list[Optional[tuple[int, int]]]]:
        """The pieces, without special tokens, and the first and last piece of each word; `None` for one without any."""
        pieces: list[Token] = []
        places: list[Optional[tuple[int, int]]] = []
        for word in words:
            # A word is the sentence's first one as long as nothing stands before it.
            ids = self.inside(word) if pieces else self._ids(word)
            places.append((len(pieces), len(pieces) + len(ids) - 1) if ids else None)
            names = self._tokenizer.convert_ids_to_tokens(ids)
            pieces += [Token(text=name, text_id=id_) for name, id_ in zip(names, ids)]
        return pieces, places

    def inside(self, word: str) -> list[int]:
        """The ids of the word's pieces behind another word."""
        ids = self._inside.get(word)
        if ids is None:
            if len(self._inside) >= _MOST_KEPT:
                self._inside.clear()
            ids = next(self._behind(word), None)
            ids = self._inside[word] = self._ids(word) if ids is None else ids
        return ids

    def _behind(self, word: str) -> Iterator[list[int]]:
        for before, own in self._before.items():
            ids = self._ids(f"{before} {word}")
            # Else the two words share a piece.
            if own and ids[: len(own)] == own:
                yield ids[len(own) :]

    def _ids(self, text: str) -> list[int]:
        return self._tokenizer.encode_plus(
            text, add_special_tokens=False, return_tensors=None, return_attention_mask=False
        )["input_ids"]


@TokenIndexer.register(INDEXER, exist_ok=True)
class SentencePiecesIndexer(PretrainedTransformerMismatchedIndexer):
    """
    AllenNLP's indexer of words for pretrained transformers, with the pieces of the whole sentence, as in pretraining.
    AllenNLP's own makes the pieces of each word alone, which lack the mark of a word's beginning in tokenizers that
    write it as a leading space (byte-level BPE: RoBERTa, GPT-2, ModernBERT).

    Registered as `"pretrained_transformer_mismatched"`, in the place of AllenNLP's.

    # Parameters

    model_name, namespace, max_length, tokenizer_kwargs, token_min_padding_length :
        As for `PretrainedTransformerMismatchedIndexer`.
    pieces : `str`, optional (default = `"in_sentence"`)
        `"alone"`: the pieces of each word alone, as AllenNLP's indexer makes them.

    # Raises

    `ConfigurationError` if `pieces` is another value.
    """

    def __init__(
        self,
        model_name: str,
        namespace: str = "tags",
        max_length: Optional[int] = None,
        tokenizer_kwargs: Optional[dict[str, Any]] = None,
        pieces: str = IN_SENTENCE,
        token_min_padding_length: int = 0,
    ) -> None:
        check_choice("token_indexers.pieces", pieces, (IN_SENTENCE, ALONE))
        super().__init__(
            model_name,
            namespace=namespace,
            max_length=max_length,  # type: ignore[arg-type]  # `None` is its default, against its own annotation.
            tokenizer_kwargs=tokenizer_kwargs,
            token_min_padding_length=token_min_padding_length,
        )
        if pieces == IN_SENTENCE:
            in_sentence = SentencePieces(self._allennlp_tokenizer.tokenizer)
            self._allennlp_tokenizer._intra_word_tokenize = in_sentence  # type: ignore[method-assign, assignment]
