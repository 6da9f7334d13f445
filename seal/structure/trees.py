"""Candidates of the structure of trees, and the constituents of a tree."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import torch

from seal.common.linear_trees import CLOSE, WORD, Bracket, counted_brackets


class Constituent(NamedTuple):
    """A node of a tree that is not a word."""

    label: str
    #: The index of the first word, and the index after the last one.
    start: int
    end: int
    #: The label, start and end of each child, from left to right; the label of a word is `XX`.
    children: tuple[Bracket, ...]

    @property
    def rule(self) -> tuple[str, ...]:
        """The label of the node and the labels of its children."""
        return (self.label, *(child[0] for child in self.children))


def constituents_of(symbols: list[str]) -> list[Constituent]:
    """The constituents of a tree, given by its symbols; children come before their parents."""
    constituents: list[Constituent] = []
    open_: list[tuple[str, int, list[Bracket]]] = []
    words = 0
    for symbol in symbols:
        if symbol == WORD:
            open_[-1][2].append((WORD, words, words + 1))
            words += 1
        elif symbol == CLOSE:
            label, start, children = open_.pop()
            constituents.append(Constituent(label, start, words, tuple(children)))
            if open_:
                open_[-1][2].append((label, start, words))
        else:
            open_.append((symbol[1:], words, []))
    return constituents


@dataclass
class TreeCandidates:
    """
    The candidates of a batch: trees.

    # Parameters

    trees, words, log_prob, tags : as for `seal.structure.KBestTrees`
    gold : `torch.LongTensor`, `(batch,)`, optional
        The index of the gold tree, -1 where it is not a candidate.
    excluded : `list[list[list[str]]]`, optional
        For training data: the gold trees of all sentences that equal the instance's, itself included. The counts of an
        energy exclude them.
    """

    trees: list[list[list[str]]]
    words: list[list[str]]
    log_prob: torch.Tensor
    gold: torch.Tensor | None = None
    excluded: list[list[list[str]]] | None = None
    tags: list[list[str]] | None = None
    #: The features of these candidates, by energy; `TreeEnergy` fills it.
    counted: dict = field(default_factory=dict)

    def constituents(self, row: int) -> list[list[Constituent]]:
        """The constituents of each candidate of a sentence. They are not cached, to save memory."""
        return [constituents_of(tree) for tree in self.trees[row]]

    @cached_property
    def brackets(self) -> list[list[Counter]]:
        """The counts of labelled brackets in each candidate, by `counted_brackets`."""
        tags = [[WORD] * len(words) for words in self.words] if self.tags is None else self.tags
        return [
            [counted_brackets(tree, word_tags) for tree in candidates]
            for candidates, word_tags in zip(self.trees, tags)
        ]

    def outputs_and_mask(self) -> tuple[torch.Tensor, torch.Tensor | None]:
        raise NotImplementedError("No rules are declared of trees.")

    def parts(self) -> list["TreeCandidates"]:
        return [self]

    def with_gold(self) -> "TreeCandidates":
        """All instances: the gold of nearly all is a candidate."""
        return self

    def excluded_constituents(self, row: int) -> list[list[Constituent]]:
        """The constituents of each tree of `excluded` for this instance."""
        return [] if self.excluded is None else [constituents_of(tree) for tree in self.excluded[row]]
