"""What `StructuredTagger` tells of its predictions: the sequences that competed, as values, a table and a picture."""

import math
from dataclasses import dataclass
from typing import Any

from seal.common.tag_encodings import Span
from seal.registry import ConfigurationError
from seal.structure.pictures import two_outputs


@dataclass
class Candidate:
    """
    One of the k best tag sequences of a sentence.

    # Parameters

    tags : `list[str]`
    spans : `list[tuple[str, int, int]]`
        `(label, first token, last token)` of each span that the tags encode, both inclusive; without an encoding each
        token is one.
    log_prob : `float`
        `log P(y|x)` under the tagger, in nats.
    terms : `dict[str, float]`
        What each term of the energy says of it, low is good.
    joint : `float`
        How likely it is to be right by tagger and energy together, 0 to 1, calibrated on the data by which `fit` chose;
        the candidates' sum is the probability that the right sequence is one of them.
    chosen : `bool`
        Whether `predict` gives it.
    """

    tags: list[str]
    spans: list[Span]
    log_prob: float
    terms: dict[str, float]
    joint: float
    chosen: bool

    @property
    def energy(self) -> float:
        return sum(self.terms.values())


@dataclass
class Explanation:
    """
    The sequences that competed for a sentence. `str` of it is a table.

    # Parameters

    words : `list[str]`
    candidates : `list[Candidate]`
        The likeliest first, by `Candidate.joint`.
    """

    words: list[str]
    candidates: list[Candidate]

    def __str__(self) -> str:
        return self.table()

    def table(self, most: int = 5) -> str:
        """A line for each of at most `most` candidates and for the chosen one, which a `*` marks."""
        shown = [one for place, one in enumerate(self.candidates) if place < most or one.chosen]
        # Those that have nothing to say, such as of words that are not given, are left out.
        terms = [name for name in shown[0].terms if any(one.terms[name] for one in shown)]
        head = ["", "log P", *terms, "energy", "joint", ""]
        rows = [
            ["*" if one.chosen else "", f"{one.log_prob:.2f}"]
            + [f"{value:.2f}" for value in (*(one.terms[name] for name in terms), one.energy)]
            + [f"{one.joint:.3f}", self.text(one)]
            for one in shown
        ]
        widths = [max(map(len, column)) for column in zip(head, *rows)]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row[:-1], widths)) + f"  {row[-1]}"
            for row in (head, *rows)
        ]
        return "\n".join(line.rstrip() for line in lines)

    def text(self, candidate: Candidate) -> str:
        """The sentence with its spans in brackets."""
        parts, after = [], 0
        for label, first, last in candidate.spans:
            parts += [*self.words[after:first], f"[{label} {' '.join(self.words[first : last + 1])}]"]
            after = last + 1
        return " ".join([*parts, *self.words[after:]])

    def two(self) -> dict[str, Any]:
        """
        Plain values of the tagger's own best sequence and the chosen one or, where that is the same, the next best: the
        `record` of `seal.structure.pictures.two_outputs`.
        """
        if len(self.candidates) < 2:
            raise ConfigurationError("svg: two sequences are drawn, and this sentence has one.")
        own = max(self.candidates, key=lambda one: one.log_prob)
        rest = [one for one in self.candidates if one is not own]
        other = next((one for one in rest if one.chosen), rest[0])
        frames = [
            {
                "spans": one.spans,
                "probability": math.exp(one.log_prob),
                "energy": one.energy,
                "joint": one.joint,
                "chosen": one.chosen,
            }
            for one in (own, other)
        ]
        return {"words": self.words, "frames": frames}

    def svg(self, caption: str = "The energy is low where an output looks like gold of the training data.") -> str:
        """A picture of these two."""
        return two_outputs(self.two(), caption, (("The tagger's best", "alone"), ("Another of its", "best outputs")))
