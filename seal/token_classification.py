"""
What connects `seal.tagger` with token classifiers of Hugging Face: their emissions by words, and the entities of texts
as their pipeline gives them. Needs transformers.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import torch

from seal.registry import ConfigurationError
from seal.tagger import StructuredTagger


def emissions_of(
    model: Any, tokenizer: Any, sentences: Iterable[Sequence[str]], batch_size: int = 32
) -> list[torch.Tensor]:
    """
    What a token classifier says of each word: the logits of its first sub-token, `(words, tags)` of each sentence, on
    the CPU. A word that the tokenizer makes no token of gets 0 for each tag.

    # Parameters

    model : `transformers.AutoModelForTokenClassification`
        On any device; its columns are the labels of `model.config.id2label`.
    tokenizer : `transformers.PreTrainedTokenizerFast`
    sentences : `Iterable[Sequence[str]]`
        The words of each.
    batch_size : `int`, optional (default = `32`)

    # Raises

    `ConfigurationError` if the tokenizer is not a fast one, or a sentence is longer than the model reads.
    """
    found = []
    for sentence, tokens, logits in _read(model, tokenizer, map(list, sentences), batch_size):
        scores = logits.new_zeros(len(sentence), logits.shape[1])
        # From the last, so that the first of a word stays.
        for word, row in zip(reversed(tokens.word_ids), logits.flip(0)):
            if word is not None:
                scores[word] = row
        found.append(scores)
    return found


def entities(
    model: Any, tokenizer: Any, texts: Iterable[str], tagger: StructuredTagger, batch_size: int = 32
) -> list[list[dict[str, Any]]]:
    """
    The entities of each text, in the form of `pipeline("token-classification", aggregation_strategy="first")`: of each
    its `entity_group`, `score`, `word`, `start` and `end` (characters). The score is the probability, 0 to 1, that
    this span is an entity of this group, by tagger and energy together.

    # Parameters

    model, tokenizer, batch_size : as for `emissions_of`
    texts : `Iterable[str]`
        The tokenizer says what a word is, as the pipeline has it.
    tagger : `StructuredTagger`
        Fitted to emissions of such a model.

    # Raises

    As `emissions_of`; also if the tagger has learned with keys.
    """
    read = list(_read(model, tokenizer, texts, batch_size))
    places = [_places_of_words(text, tokens) for text, tokens, _ in read]
    words = [[text[start:end] for start, end in each] for each, (text, _, _) in zip(places, read)]
    predicted = tagger.predict_k(
        [row for _, _, row in read],
        word_ids=[tokens.word_ids for _, tokens, _ in read],
        words=words if "words" in tagger.needs else None,
    )
    found: list[list[dict[str, Any]]] = []
    for candidates, ends, (text, _, _) in zip(predicted, places, read):
        found.append([])
        for label, first, last in next((one.spans for one in candidates if one.chosen), []):
            start, end = ends[first][0], ends[last][1]
            score = sum(one.joint for one in candidates if (label, first, last) in one.spans)
            entity = {"entity_group": label, "score": score, "word": text[start:end], "start": start, "end": end}
            found[-1].append(entity)
    return found


def _places_of_words(text: str, tokens: Any) -> list[tuple[int, int]]:
    """Where each word starts and ends, in characters."""
    places: dict[int, list[int]] = {}
    for (start, end), word in zip(tokens.offsets, tokens.word_ids):
        if word is not None:
            places.setdefault(word, [start, end])[1] = end
    # Some tokenizers count the space before a word.
    return [(end - len(text[start:end].lstrip()), end) for start, end in places.values()]


@torch.no_grad()
def _read(
    model: Any, tokenizer: Any, inputs: Iterable[Any], batch_size: int
) -> Iterator[tuple[Any, Any, torch.Tensor]]:
    """Each text, or list of words, with its `tokenizers.Encoding` and the logits of its tokens, `(tokens, tags)`."""
    if not getattr(tokenizer, "is_fast", False):
        raise ConfigurationError(
            f"tokenizer: a fast one, which knows the word of each token, is needed, found {type(tokenizer).__name__}."
        )
    most = min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", tokenizer.model_max_length))
    was_training, rest, read = model.training, iter(inputs), 0
    model.eval()
    try:
        while batch := list(islice(rest, batch_size)):
            split = not isinstance(batch[0], str)
            given = tokenizer(batch, padding=True, return_tensors="pt", is_split_into_words=split)
            if given["input_ids"].shape[1] > most:
                lengths = given["attention_mask"].sum(dim=1)
                raise ConfigurationError(
                    f"text {read + int(lengths.argmax())} has {int(lengths.max())} tokens, and the model reads {most}; "
                    "give it in parts."
                )
            logits = model(**given.to(model.device)).logits.float().cpu()
            for row, (text, rows) in enumerate(zip(batch, logits)):
                yield text, given.encodings[row], rows
            read += len(batch)
    finally:
        model.train(was_training)
