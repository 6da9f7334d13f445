"""Reads and checks the inputs of `StructuredTagger`: labels, emissions with masks or word numbers, and gold."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy
import torch

from seal.common.equal_contents import digest, in_order, numbers_of_equal
from seal.common.setting_checks import abbreviate, check_choice
from seal.registry import ConfigurationError

#: The encodings of spans; `None`: tags encode no spans.
ENCODINGS = ("BIO", "BIOES", "IO", None)
#: The index that data sets have in place of a tag at tokens that do not count.
IGNORED = -100


def read_labels(labels: Sequence[str] | Mapping[int, str], encoding: str | None) -> list[str]:
    """
    The tags in the order of the emissions' columns, from a list or from a table such as `model.config.id2label`.

    # Raises

    `ConfigurationError` if they are not tags of the encoding.
    """
    check_choice("encoding", encoding, ENCODINGS)
    names = _in_order(labels)
    for place, name in enumerate(names):
        if not isinstance(name, str) or name in names[:place]:
            raise ConfigurationError(
                f"labels[{place}]: a name of its own is needed for each tag, found {abbreviate(name)}."
            )
    if len(names) < 2:
        raise ConfigurationError(f"labels: at least two tags are needed, found {abbreviate(names)}.")
    if encoding in ("BIO", "BIOES"):
        for name in names:
            if name != "O" and (name[1:2] != "-" or name[0] not in encoding or name[0] == "O" or len(name) < 3):
                raise ConfigurationError(
                    f"labels: {name!r} is no tag of {encoding}; others are read with encoding 'BIO', 'BIOES', 'IO' or "
                    "None (tags that encode no spans)."
                )
        prefix, other = ("I", "B") if encoding == "BIO" else ("B", "E")
        for name in names:
            if name[:2] == f"{prefix}-" and f"{other}-{name[2:]}" not in names:
                raise ConfigurationError(
                    f"labels: there is {name!r} and no '{other}-{name[2:]}', so the tags are not {encoding}; "
                    "encoding='IO' reads those that begin no span in a way of its own."
                )
        if encoding == "BIOES" and not any(name[0] in "OS" for name in names):
            raise ConfigurationError("labels: in BIOES there must be an 'O' or an 'S-<name>' for a lone token.")
    return names


def _in_order(labels: Sequence[str] | Mapping[int, str]) -> list[str]:
    if isinstance(labels, Mapping):
        if sorted(labels) != list(range(len(labels))):
            raise ConfigurationError(
                f"labels: the keys must be 0 to {len(labels) - 1}, found {abbreviate(list(labels))}."
            )
        return [labels[place] for place in range(len(labels))]
    if isinstance(labels, Set):
        raise ConfigurationError("labels: a list is needed, in the order of the emissions' columns; a set has none.")
    return [labels] if isinstance(labels, str) else list(labels)


def inner_labels(labels: Sequence[str], encoding: str | None) -> list[str]:
    """The names of the tags in the structure: tags of `IO` without a prefix get `I-`."""
    if encoding != "IO":
        return list(labels)
    return [label if label == "O" or label[:2] in ("B-", "I-") else f"I-{label}" for label in labels]


class Row(NamedTuple):
    """A sentence, reduced to the tokens that count."""

    #: The index of the sentence in the input, from 0.
    place: int
    #: `(tokens, tags)`, floating, without NaN; `-inf` for an impossible tag.
    emissions: torch.Tensor
    #: Indices of tags, `(tokens,)`.
    gold: torch.Tensor | None = None
    key: str = ""
    words: list[str] | None = None
    #: The index of a frame's predicate among the words.
    predicate: int | None = None


def read_rows(
    labels: Sequence[str],
    emissions: Iterable[Any],
    gold: Iterable[Any] | None = None,
    mask_or_lengths: Iterable[Any] | None = None,
    keys: Iterable[str] | None = None,
    word_ids: Iterable[Any] | None = None,
    words: Iterable[Sequence[str]] | None = None,
    predicates: Iterable[int] | None = None,
) -> Iterator[Row]:
    """
    Reads sentences one by one, so that only one has to be in memory. Arguments are as for `StructuredTagger.fit`; in
    `word_ids`, -1 and `None` stand for a token of no word.

    # Raises

    `ConfigurationError` naming the sentence, what was found and what is needed.
    """
    given = {"emissions": emissions, "gold": gold, "mask_or_lengths": mask_or_lengths, "keys": keys}
    given |= {"word_ids": word_ids, "words": words, "predicates": predicates}
    columns = {name: column for name, column in given.items() if column is not None}
    for name, column in columns.items():
        if getattr(column, "ndim", 1) == 0 or not isinstance(column, Iterable):
            raise ConfigurationError(f"{name}: one for each sentence is needed, found {abbreviate(column)}.")
    index = {label: number for number, label in enumerate(labels)}
    for place, values in enumerate(zip_longest(*columns.values(), fillvalue=_MISSING)):
        row = dict(zip(columns, values))
        for name in (name for name, value in row.items() if value is _MISSING):
            other = next(name for name, value in row.items() if value is not _MISSING)
            raise ConfigurationError(f"{name}: there are {place}, and more {other}; one for each sentence is needed.")
        scores = _scores(row["emissions"], place, labels)
        counted = _counted(row.get("mask_or_lengths"), row.get("word_ids"), len(scores), place)
        tags = None if gold is None else _gold(row["gold"], place, counted, len(scores), index)
        in_words = None if words is None else _words(row["words"], len(counted), place)
        predicate = None if predicates is None else _predicate(row["predicates"], len(counted), place)
        key = str(row["keys"]) if "keys" in row else ""
        yield Row(place, _finite(scores, counted, place, labels), tags, key, in_words, predicate)


_MISSING: Any = object()


def _scores(value: Any, place: int, labels: Sequence[str]) -> torch.Tensor:
    where = f"emissions[{place}]"
    try:
        scores = real_numbers(value)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{where}: numbers, (tokens, tags), are needed, found {abbreviate(value)}.") from error
    if scores.numel() == 0 and scores.dim() <= 2:
        return scores.new_zeros(0, len(labels), dtype=torch.float32)
    if scores.dim() != 2 or scores.shape[1] != len(labels):
        raise ConfigurationError(
            f"{where}: (tokens, {len(labels)}) is needed, a column for each of the labels, found {tuple(scores.shape)}."
        )
    return scores.float()


def real_numbers(value: Any) -> torch.Tensor:
    """
    Converts a tensor, an array or lists to a tensor without gradient.

    # Raises

    `ValueError` or `TypeError` if the values are not real numbers.
    """
    if isinstance(value, torch.Tensor):
        scores = value.detach()
    else:
        array = numpy.asarray(value)
        scores = torch.tensor(array if array.dtype.kind in "cfiu" else array.astype(float))
    if scores.is_complex():
        raise ValueError("they are complex")
    return scores


def _finite(scores: torch.Tensor, counted: torch.Tensor, place: int, labels: Sequence[str]) -> torch.Tensor:
    """The scores of the tokens that count. Raises if one is NaN or infinite, or all tags of a token are `-inf`."""
    where, scores = f"emissions[{place}]", scores[counted.to(scores.device)]
    wrong = scores.isnan() | (scores == torch.inf)
    if bool(wrong.any()):
        token, tag = wrong.nonzero()[0].tolist()
        raise ConfigurationError(
            f"{where}: the score of tag {labels[tag]!r} at token {int(counted[token])} is {scores[token, tag].item()}; "
            "finite scores are needed (-inf stands for a tag that cannot be)."
        )
    impossible = scores.isneginf().all(dim=1)
    if bool(impossible.any()):
        token = int(counted[int(impossible.nonzero()[0])])
        raise ConfigurationError(f"{where}: no tag can be at token {token}, where all scores are -inf.")
    return scores


def check_logarithms(rows: Sequence[Row]) -> None:
    """Raises `ConfigurationError` if the emissions are probabilities, which would be read as log-odds."""
    scores = [row.emissions for row in rows if len(row.emissions)]
    if scores and all(bool((each >= 0).all() and (each.sum(dim=1) - 1).abs().max() < 1e-3) for each in scores):
        raise ConfigurationError(
            "emissions: the scores of each token are probabilities, which sum to 1; give their logarithms, or log-odds."
        )


def _counted(mask_or_length: Any, word_ids: Any, tokens: int, place: int) -> torch.Tensor:
    """The indices of the tokens that count, `(counted,)`."""
    counted = list(range(tokens))
    if mask_or_length is not None:
        value = _plain(mask_or_length)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if value != int(value) or not 0 <= value <= tokens:
                raise ConfigurationError(
                    f"mask_or_lengths[{place}]: a length from 0 to {tokens} is needed, found {abbreviate(value)}."
                )
            counted = counted[: int(value)]
        else:
            counted = [token for token, kept in zip(counted, _row(value, tokens, "mask_or_lengths", place)) if kept]
    if word_ids is not None:
        words = _row(_plain(word_ids), tokens, "word_ids", place)
        # Tokens of no word do not count.
        first: dict[Any, int] = {}
        for token in counted:
            if words[token] is not None and words[token] != -1:
                first.setdefault(words[token], token)
        counted = sorted(first.values())
    return torch.tensor(counted, dtype=torch.long)


def _row(value: Any, tokens: int, name: str, place: int) -> list:
    """`value` as a list with one item for each token. Raises if it is not."""
    if not isinstance(value, (list, tuple)) or len(value) != tokens:
        raise ConfigurationError(
            f"{name}[{place}]: one for each of the {tokens} tokens of emissions[{place}] is needed, found "
            f"{len(value) if isinstance(value, (list, tuple)) else abbreviate(value)}."
        )
    return list(value)


def _gold(value: Any, place: int, counted: torch.Tensor, tokens: int, index: dict[str, int]) -> torch.Tensor:
    value = _plain(value)
    if value is None or isinstance(value, str) or not isinstance(value, (list, tuple)):
        raise ConfigurationError(f"gold[{place}]: a list of tags is needed, found {abbreviate(value)}.")
    if len(value) == len(counted):
        tags = list(value)
    elif len(value) == tokens:
        tags = [value[token] for token in counted.tolist()]
    else:
        raise ConfigurationError(
            f"gold[{place}]: {len(value)} tags for {len(counted)} tokens that count, of {tokens} in emissions[{place}]."
        )
    # Items may be NumPy's numbers.
    for token, tag in enumerate(map(_plain, tags)):
        tags[token] = tag
        if isinstance(tag, str) and tag in index:
            tags[token] = index[tag]
        elif isinstance(tag, bool) or not isinstance(tag, int) or not 0 <= tag < len(index):
            missing = tag is None or tag == IGNORED
            why = "counts, and has no tag" if missing else f"has {abbreviate(tag)}, which is none of the labels"
            raise ConfigurationError(f"gold[{place}]: token {token} {why}.")
    return torch.tensor(tags, dtype=torch.long)


def _words(value: Any, tokens: int, place: int) -> list[str]:
    words = [str(value)] if isinstance(value, str) or value is None else list(map(str, value))
    if len(words) != tokens:
        raise ConfigurationError(f"words[{place}]: {tokens} words are needed, found {len(words)}.")
    return words


def _predicate(value: Any, tokens: int, place: int) -> int:
    value = _plain(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < tokens:
        raise ConfigurationError(
            f"predicates[{place}]: an index of one of the {tokens} tokens is needed, found {abbreviate(value)}."
        )
    return value


def _plain(value: Any) -> Any:
    """An array or tensor as a number or list; other values unchanged."""
    return value.tolist() if hasattr(value, "tolist") else value


def log_probabilities(marginals: Iterable[Sequence[Mapping[str, float]]], labels: Sequence[str]) -> list[torch.Tensor]:
    """
    Emissions from the probabilities of named tags, as sklearn-crfsuite's `predict_marginals` gives them, and flair with
    `return_probabilities_for_all_classes=True`.

    # Parameters

    marginals : `Iterable[Sequence[Mapping[str, float]]]`
        For each sentence and token the probability of each tag; 0 for tags that are missing.
    labels : `Sequence[str]`

    # Returns

    `list[torch.Tensor]`: the log-probabilities of each sentence, `(tokens, tags)`, in nats, at least `log 1e-12`
    """
    emissions = []
    for sentence in marginals:
        rows = [[float(token.get(label, 0.0)) for label in labels] for token in sentence]
        emissions.append(torch.tensor(rows).reshape(-1, len(labels)).clamp(min=1e-12).log())
    return emissions


def group_numbers(rows: Sequence[Row], groups: Sequence[Any] | None) -> numpy.ndarray:
    """The number of each row's group, `(rows,)`."""
    if groups is not None:
        if len(groups) <= max((row.place for row in rows), default=-1):
            raise ConfigurationError(f"groups: one for each sentence is needed, found {len(groups)}.")
        return numbers_of_equal((groups[row.place] for row in rows), exact=True)
    if all(row.words is not None for row in rows):
        return numbers_of_equal(row.words for row in rows)
    digests = [digest(row.emissions.cpu().numpy()) for row in rows]
    return in_order(numpy.array(digests, dtype=numpy.uint64))


def random_share(groups: numpy.ndarray, share: Any) -> numpy.ndarray:
    """True for the rows of a random share of the groups, `(rows,)`."""
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share < 1:
        raise ConfigurationError(
            f"valid: a share between 0 and 1, or data by name, is needed, found {abbreviate(share)}."
        )
    different = int(groups.max(initial=-1)) + 1
    order = torch.randperm(different, generator=torch.Generator().manual_seed(0)).numpy()
    return numpy.isin(groups, order[: max(1, round(share * different))])
