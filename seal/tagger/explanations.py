"""Explains predictions of `StructuredTagger`: the candidates of a sentence as values, a table and a picture."""

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
        `(label, first token, last token)` of each span that the tags encode, both inclusive; without an encoding, each
        token is a span.
    log_prob : `float`
        `log P(y|x)` under the tagger, in nats.
    terms : `dict[str, float]`
        The value of each term of the energy, low is good.
    joint : `float`
        The probability that the sequence is right, by tagger and energy together, 0 to 1, calibrated on the validation
        data of `fit`. The sum over the candidates is the probability that the right sequence is one of them.
    chosen : `bool`
        Whether `predict` returns it.
    """

    tags: list[str]
    spans: list[Span]
    log_prob: float
    terms: dict[str, float]
    joint: float
    chosen: bool

    @property
    def energy(self) -> float:
        """The sum of the terms."""
        return sum(self.terms.values())


@dataclass
class Explanation:
    """
    The candidates of a sentence. `str` gives a table.

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
        """A table of the `most` likeliest candidates and the chosen one, which a `*` marks."""
        shown = [one for place, one in enumerate(self.candidates) if place < most or one.chosen]
        # Terms that are 0 for all candidates are left out.
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
        Two candidates as the argument `record` of `seal.structure.pictures.two_outputs`: the tagger's own best sequence
        and the chosen one or, if they are the same, the next likeliest.
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
        """A picture of the two candidates of `two`, as SVG."""
        return two_outputs(self.two(), caption, (("The tagger's best", "alone"), ("Another of its", "best outputs")))
