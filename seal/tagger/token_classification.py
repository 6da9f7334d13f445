"""
`seal.tagger` for token classifiers of Hugging Face: `emissions_of` computes emissions of words, and `entities` returns
the entities of texts in the form of their pipeline. Needs transformers.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, Optional

import torch

from seal.registry import ConfigurationError
from seal.tagger import StructuredTagger

# `model_max_length` of a tokenizer that knows none is far above this.
_NO_LIMIT = 10**6


def emissions_of(
    model: Any, tokenizer: Any, sentences: Iterable[Sequence[str]], batch_size: int = 32
) -> list[torch.Tensor]:
    """
    The logits of a token classifier at the first sub-token of each word: `(words, tags)` for each sentence, on the CPU.
    A word without a token gets 0 for each tag. Sentences longer than the model's input are split into overlapping
    windows.

    # Parameters

    model : `transformers.AutoModelForTokenClassification`
        On any device. The tags are the labels of `model.config.id2label`.
    tokenizer : `transformers.PreTrainedTokenizerFast`
    sentences : `Iterable[Sequence[str]]`
        The words of each sentence.
    batch_size : `int`, optional (default = `32`)

    # Raises

    `ConfigurationError` if the tokenizer is not a fast one.
    """
    emissions = []
    for sentence, tokens, logits in _read(model, tokenizer, map(list, sentences), batch_size):
        scores = logits.new_zeros(len(sentence), logits.shape[1])
        # In reverse order, so that the first token of a word is written last.
        for word, row in zip(reversed(tokens.word_ids), logits.flip(0)):
            if word is not None:
                scores[word] = row
        emissions.append(scores)
    return emissions


def entities(
    model: Any, tokenizer: Any, texts: Iterable[str], tagger: StructuredTagger, batch_size: int = 32
) -> list[list[dict[str, Any]]]:
    """
    The entities of each text, in the form of `pipeline("token-classification", aggregation_strategy="first")`: a
    dictionary of `entity_group`, `score`, `word`, `start` and `end` (characters). The score is the probability, 0 to 1,
    that the span is an entity of this group, by tagger and energy together, given that one of the candidates is right.

    # Parameters

    model, tokenizer, batch_size : as for `emissions_of`
    texts : `Iterable[str]`
        The tokenizer splits them into words, as in the pipeline.
    tagger : `StructuredTagger`
        Fitted to emissions of such a model.

    # Raises

    `ConfigurationError` as `emissions_of`, and if the tagger was fitted with keys.
    """
    read = list(_read(model, tokenizer, texts, batch_size))
    places = [_places_of_words(text, tokens) for text, tokens, _ in read]
    words = [[text[start:end] for start, end in each] for each, (text, _, _) in zip(places, read)]
    predicted = tagger.predict_k(
        [row for _, _, row in read],
        word_ids=[tokens.word_ids for _, tokens, _ in read],
        words=words if "words" in tagger.needs else None,
    )
    entities_of_texts: list[list[dict[str, Any]]] = []
    for candidates, ends, (text, _, _) in zip(predicted, places, read):
        entities_of_texts.append([])
        total = sum(one.joint for one in candidates)
        for label, first, last in next((one.spans for one in candidates if one.chosen), []):
            start, end = ends[first][0], ends[last][1]
            score = sum(one.joint for one in candidates if (label, first, last) in one.spans) / total
            entity = {"entity_group": label, "score": score, "word": text[start:end], "start": start, "end": end}
            entities_of_texts[-1].append(entity)
    return entities_of_texts


def _places_of_words(text: str, tokens: Any) -> list[tuple[int, int]]:
    """The start and the end of each word, in characters."""
    places: dict[int, list[int]] = {}
    for (start, end), word in zip(tokens.offsets, tokens.word_ids):
        if word is not None:
            places.setdefault(word, [start, end])[1] = end
    # Some tokenizers count the space before a word.
    return [(end - len(text[start:end].lstrip()), end) for start, end in places.values()]


class _Tokens(NamedTuple):
    """The tokens of an input: the number of each token's word, or `None`, and its start and end in characters."""

    word_ids: list[Optional[int]]
    offsets: list[tuple[int, int]]


@torch.no_grad()
def _read(
    model: Any, tokenizer: Any, inputs: Iterable[Any], batch_size: int
) -> Iterator[tuple[Any, _Tokens, torch.Tensor]]:
    """
    Runs the model on texts, or lists of words; yields each with its tokens and their logits, `(tokens, tags)`. Longer
    inputs than the model's are split into windows that share a quarter of their tokens. The logits of a token come from
    the window in which it has the most context.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise ConfigurationError(
            f"tokenizer: a fast one, which knows the word of each token, is needed, found {type(tokenizer).__name__}."
        )
    inside = _positions(model, tokenizer) - tokenizer.num_special_tokens_to_add()
    shared = inside // 4
    options = {"padding": True, "return_tensors": "pt", "return_overflowing_tokens": True}
    if inside < _NO_LIMIT:
        options |= {"truncation": True, "max_length": _positions(model, tokenizer), "stride": shared}
    was_training, rest = model.training, iter(inputs)
    model.eval()
    try:
        while batch := list(islice(rest, batch_size)):
            encoded = tokenizer(batch, is_split_into_words=not isinstance(batch[0], str), **options)
            owners = encoded.pop("overflow_to_sample_mapping").tolist()
            encodings = encoded.encodings
            windows: list[list[tuple[Any, torch.Tensor]]] = [[] for _ in batch]
            for start in range(0, len(owners), batch_size):
                part = {name: rows[start : start + batch_size].to(model.device) for name, rows in encoded.items()}
                for place, rows in enumerate(model(**part).logits.float().cpu(), start):
                    windows[owners[place]].append((encodings[place], rows))
            for text, text_windows in zip(batch, windows):
                yield (text, *_joined(text_windows, inside - shared))
    finally:
        model.train(was_training)


def _joined(windows: Sequence[tuple[Any, torch.Tensor]], step: int) -> tuple[_Tokens, torch.Tensor]:
    """The tokens of a text without special tokens, and their logits, from windows that begin `step` tokens apart."""
    # For each token of the text: the distance to the nearer end of its window, its word, characters and logits.
    best: dict[int, tuple[float, Optional[int], tuple[int, int], torch.Tensor]] = {}
    for number, (encoding, logits) in enumerate(windows):
        rows = [row for row, special in enumerate(encoding.special_tokens_mask) if not special]
        for place, row in enumerate(rows):
            before = place if number else math.inf
            behind = len(rows) - 1 - place if number < len(windows) - 1 else math.inf
            depth = min(before, behind)
            at = number * step + place
            if at not in best or depth > best[at][0]:
                best[at] = (depth, encoding.word_ids[row], encoding.offsets[row], logits[row])
    tokens = [best[at] for at in sorted(best)]
    logits = torch.stack([row for *_, row in tokens]) if tokens else windows[0][1][:0]
    return _Tokens([word for _, word, _, _ in tokens], [places for _, _, places, _ in tokens]), logits


def _positions(model: Any, tokenizer: Any) -> int:
    """The length of the model's input, in tokens, with special tokens."""
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions is None or positions < 0:
        return tokenizer.model_max_length
    table = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    # RoBERTa's positions begin after the position of padding.
    return min(tokenizer.model_max_length, positions if padding is None else positions - padding - 1)
