"""An energy of the position of spans with a role, and of the words in and beside them."""

from collections.abc import Sequence

import torch
from torch import nn

from seal.common.setting_checks import check_whole
from seal.registry import ConfigurationError
from seal.structure.joint_score import CandidateEnergy, Features, LinearEnergy
from seal.structure.span_features import BUCKETS, OF_PREDICATE, SHAPES, SIDES, WORDS, SpanFeatures, lookup
from seal.structure.tag_sequences import TagCandidates

_FEATURES = ("distance", "length", "shape", *WORDS)
#: The features without those of a predicate.
FEATURES_OF_ENTITIES = ("length", "shape", "first", "last", "before", "after")


@CandidateEnergy.register("span_context")
class SpanContext(LinearEnergy[TagCandidates]):
    """
    The position of a role (or entity), and the words around it: `E(x, y) = sum_spans sum_f u_{f, r, v_f(x, span)}` over
    the spans of `y`, where `r` is the role of the span and `v_f` the value of the feature `f`:

    - `distance`: before or after the predicate, or around it, and how many words away (7 steps);
    - `length`: the number of words (7 steps);
    - `shape`: capitals, digits and signs of the first and the last word;
    - `first`, `last`, `before`, `after`: the span's first and last word, and the words beside it;
    - `predicate_before`, `predicate_after`: the words beside the predicate, with the side on which the span stands: a
      verb's voice and particle, where words show these.

    Words are compared in lower case. The value of a word that is not among the `num_words` most frequent ones of the
    training data is its shape. Without words the energy is 0.

    # Parameters

    num_roles : `int`
    features : `Sequence[str]`, optional
        All of the above by default.
    num_words : `int`, optional (default = `200`)

    # Raises

    `ConfigurationError` if a feature is not known.
    """

    frequent: torch.Tensor
    places: torch.Tensor

    def __init__(self, num_roles: int, features: Sequence[str] = _FEATURES, num_words: int = 200) -> None:
        super().__init__()
        check_whole("structure.energies: the num_words of 'span_context'", num_words, least=0)
        for feature in features:
            if feature not in _FEATURES:
                raise ConfigurationError(
                    f"structure.energies: 'span_context' has no feature '{feature}'; it has {', '.join(_FEATURES)}."
                )
        self._features, self._num_words = tuple(features), num_words
        words = SHAPES + num_words
        size = {"distance": SIDES * BUCKETS, "length": BUCKETS, "shape": SHAPES**2}
        size |= {name: words * (SIDES if name in OF_PREDICATE else 1) for name in WORDS}
        self._sizes = [size[feature] for feature in features]
        self.cost = nn.Parameter(torch.zeros(num_roles, sum(self._sizes)))
        # The codes of the frequent words, ascending.
        self.register_buffer("frequent", torch.zeros(0, dtype=torch.long))

    def prepare(self, gold: TagCandidates) -> None:
        codes = gold.distinct_spans.seen.codes
        codes, counts = codes[codes != 0].unique(return_counts=True)
        self.frequent = codes[counts.argsort(descending=True, stable=True)[: self._num_words]].sort().values

    def _numbers(self, seen: SpanFeatures) -> list[torch.Tensor]:
        """The value of each feature, `(distinct spans,)` each."""
        words = [name for name in self._features if name in WORDS]
        places = torch.arange(len(self.frequent), device=self.frequent.device)
        number = lookup(self.frequent, SHAPES + places, seen.codes, seen.shapes)
        values = dict(zip(words, seen.at(number, words)))
        for name in set(words).intersection(OF_PREDICATE):
            values[name] = seen.side * (SHAPES + self._num_words) + values[name]
        if "shape" in self._features:
            first, last = seen.at(seen.shapes, ("first", "last"))
            values["shape"] = first * SHAPES + last
        return [values[name] if name in values else getattr(seen, name) for name in self._features]

    def features(self, candidates: TagCandidates) -> list[Features]:
        if not candidates.words:
            return []
        role, seen, number = candidates.distinct_spans
        start, places = role * self.cost.shape[1], []
        for values, size in zip(self._numbers(seen), self._sizes):
            places.append(start + values)
            start = start + size
        return [Features(torch.stack(places, dim=1), None, candidates.listed_spans.candidate, number)]
