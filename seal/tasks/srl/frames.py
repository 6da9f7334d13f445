"""The records of sentences with semantic roles, which the readers return."""

from dataclasses import dataclass, field
from typing import Optional


@dataclass
class SrlFrame:
    """
    One predicate with its arguments.

    # Parameters

    predicate : `int`
        The predicate's token index.
    tags : `list[str]`
        A legal BIO sequence with the roles' names as the file has them (`B-ARG0`, `I-C-ARG1`, `B-R-ARG0`, `B-V`), one
        tag a word.
    lemma : `Optional[str]`
        The predicate's lemma, where the file gives one.
    sense : `Optional[str]`
        The predicate's sense (frameset) number, where the file gives one.
    """

    predicate: int
    tags: list[str]
    lemma: Optional[str] = None
    sense: Optional[str] = None


@dataclass
class SrlSentence:
    """
    A sentence and its frames.

    # Parameters

    words : `list[str]`
        The tokens.
    frames : `list[SrlFrame]`
        In the order of the file; empty for a sentence without predicates.
    source : `str`
        `file:line` of the sentence's first line, for messages.
    """

    words: list[str]
    frames: list[SrlFrame] = field(default_factory=list)
    source: str = ""

    @property
    def predicates(self) -> list[int]:
        """The token indices of all predicates, ascending and without duplicates."""
        return sorted({frame.predicate for frame in self.frames})
