from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import torch

from seal.common.linear_trees import CLOSE, WORD, Bracket, counted_brackets


class Constituent(NamedTuple):
    """A node of a tree, above words."""

    label: str
    #: The index of the first word, and that behind the last.
    start: int
    end: int
    #: The same of each child, from left to right; the label of a word is `XX`.
    children: tuple[Bracket, ...]

    @property
    def rule(self) -> tuple[str, ...]:
        """Its label and those of its children."""
        return (self.label, *(child[0] for child in self.children))


def constituents_of(symbols: list[str]) -> list[Constituent]:
    """The constituents of a tree, each after those inside it."""
    found: list[Constituent] = []
    open_: list[tuple[str, int, list[Bracket]]] = []
    words = 0
    for symbol in symbols:
        if symbol == WORD:
            open_[-1][2].append((WORD, words, words + 1))
            words += 1
        elif symbol == CLOSE:
            label, start, children = open_.pop()
            found.append(Constituent(label, start, words, tuple(children)))
            if open_:
                open_[-1][2].append((label, start, words))
        else:
            open_.append((symbol[1:], words, []))
    return found


@dataclass
class TreeCandidates:
    """
    Trees that compete.

    # Parameters

    trees, words, log_prob, tags : as for `seal.structure.KBestTrees`
    gold : `torch.LongTensor`, `(batch,)`, optional
        The index of the gold tree, -1 where it does not compete.
    own : `list[list[list[str]]]`, optional
        Of training data, for each instance the gold trees of all that have its words, its own among them: what counts
        leave out.
    """

    trees: list[list[list[str]]]
    words: list[list[str]]
    log_prob: torch.Tensor
    gold: torch.Tensor | None = None
    own: list[list[list[str]]] | None = None
    tags: list[list[str]] | None = None
    #: What energies have counted of these candidates, by energy.
    counted: dict = field(default_factory=dict)

    def constituents(self, row: int) -> list[list[Constituent]]:
        """Of each candidate of a sentence. They are not kept: those of a treebank are many."""
        return [constituents_of(tree) for tree in self.trees[row]]

    @cached_property
    def brackets(self) -> list[list[Counter]]:
        """How often each labelled bracket occurs in each candidate, as scores count them (`counted_brackets`)."""
        tags = [[WORD] * len(words) for words in self.words] if self.tags is None else self.tags
        return [
            [counted_brackets(tree, of_words) for tree in candidates] for candidates, of_words in zip(self.trees, tags)
        ]

    def outputs_and_mask(self) -> tuple[torch.Tensor, torch.Tensor | None]:
        raise NotImplementedError("No rules are declared of trees.")

    def parts(self) -> list["TreeCandidates"]:
        return [self]

    def with_gold(self) -> "TreeCandidates":
        """All of them: there are few whose gold does not compete."""
        return self

    def own_gold(self, row: int) -> list[list[Constituent]]:
        """The constituents of each gold tree that counts leave out."""
        return [] if self.own is None else [constituents_of(tree) for tree in self.own[row]]
