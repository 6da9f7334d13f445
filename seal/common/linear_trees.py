"""
Constituency trees as lists of symbols, which is how a sequence model writes a tree: `(NP` opens a constituent, `)`
closes the last one that is open, and `XX` is one word, whatever its part of speech. The tree
`(S (NP (PRP I)) (VP (VBP see) (NP (NNS dogs))))` is the list `(S (NP XX ) (VP XX (NP XX ) ) )`.

[Vinyals et al. 2015](https://arxiv.org/abs/1412.7449), section 2.2, without the labels of closing brackets; and
[Tran et al. 2018](https://arxiv.org/abs/1704.07287).
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Optional

#: The prefix of the symbol that opens a constituent; its label follows.
OPEN = "("
CLOSE = ")"
WORD = "XX"
#: The parts of speech of punctuation that the scoring of brackets leaves out.
PUNCTUATION = frozenset({",", ":", "``", "''", "."})

# The labels of the root around a sentence, which do not count, and labels that count as others.
_NOT_COUNTED = ("TOP", "S1", "ROOT")
_EQUAL = {"PRT": "ADVP"}

#: A label, the index of the first word, and the index after the last word.
Bracket = tuple[str, int, int]


def linearised(tree: Any) -> list[str]:
    """
    The symbols of a tree.

    # Parameters

    tree : `nltk.Tree`, or an object with its interface
        A sequence of children with a method `label`; words are strings. A node whose only child is a word is the part
        of speech of that word, and gets no bracket.
    """
    symbols: list[str] = []
    # The nodes that are still to be written, the next one last; `None` closes a constituent.
    todo = [tree]
    while todo:
        node = todo.pop()
        if node is None:
            symbols.append(CLOSE)
        elif isinstance(node, str) or (len(node) == 1 and isinstance(node[0], str)):
            symbols.append(WORD)
        else:
            symbols.append(OPEN + node.label())
            todo.append(None)
            todo.extend(reversed(node))
    return symbols


def brackets_of(symbols: Sequence[str]) -> list[Bracket]:
    """
    The constituents of a tree. A constituent comes before the constituents inside it.

    # Raises

    `ValueError` if the symbols are not one tree.
    """
    brackets: list[Bracket] = []
    open_: list[int] = []
    num_words = 0
    for place, symbol in enumerate(symbols):
        if place and not open_:
            raise ValueError(f"the tree ends at symbol {place} of {len(symbols)}: it has more than one root.")
        if symbol == WORD:
            num_words += 1
        elif symbol == CLOSE and open_:
            label, start, _ = brackets[open_[-1]]
            if start == num_words:
                raise ValueError(f"symbol {place + 1} closes the constituent {label} before it has a word.")
            brackets[open_.pop()] = (label, start, num_words)
        elif symbol[:1] == OPEN and len(symbol) > 1:
            open_.append(len(brackets))
            brackets.append((symbol[1:], num_words, num_words))
        else:
            why = "closes nothing" if symbol == CLOSE else "is neither '(LABEL', nor ')', nor 'XX'"
            raise ValueError(f"symbol {place + 1}, {symbol!r}, {why}.")
    if open_:
        raise ValueError(f"the constituent {brackets[open_[-1]][0]} is never closed.")
    if not brackets:
        raise ValueError("the tree has no constituent.")
    return brackets


def check_tree(symbols: Sequence[str], num_words: int) -> None:
    """Raises a `ValueError` if the symbols are not one tree over `num_words` words."""
    found = brackets_of(symbols)[0][2]
    if found != num_words:
        raise ValueError(f"the tree has {found} words, and the sentence has {num_words}.")


def counted_brackets(symbols: Sequence[str], tags: Sequence[str]) -> Counter:
    """
    Counts the constituents of a tree, by label and span of words, like the program `evalb` with its parameters
    `COLLINS.prm` (S. Sekine and M. Collins, 1997). Punctuation, which the parts of speech `tags` show, is removed
    first. `PRT` counts as `ADVP`. The root `TOP`, `S1` or `ROOT` and constituents of punctuation alone do not count.

    # Raises

    `ValueError` if the symbols are not one tree over as many words as there are parts of speech.
    """
    check_tree(symbols, len(tags))
    # The number of words without punctuation before each word.
    places = list(accumulate((tag not in PUNCTUATION for tag in tags), initial=0))
    counts: Counter = Counter()
    for label, start, end in brackets_of(symbols):
        label = re.split("[-=]", label)[0]
        if places[start] < places[end] and label not in _NOT_COUNTED:
            counts[_EQUAL.get(label, label), places[start], places[end]] += 1
    return counts


def as_brackets(symbols: Sequence[str], words: Sequence[str], tags: Optional[Sequence[str]] = None) -> str:
    """
    A tree in the Penn Treebank's brackets, on one line.

    # Parameters

    symbols : `Sequence[str]`
    words : `Sequence[str]`
        Brackets in a word become `-LRB-` and `-RRB-`, and blanks `_`.
    tags : `Optional[Sequence[str]]`
        The part of speech of each word; `None`: `XX`.

    # Raises

    `ValueError` if the symbols are not one tree over the words, or the numbers of tags and words differ.
    """
    check_tree(symbols, len(words))
    if tags is None:
        tags = [WORD] * len(words)
    leaves = iter([f"({_escaped(tag)} {_escaped(word)})" for word, tag in zip(words, tags, strict=True)])
    pieces = [next(leaves) if symbol == WORD else symbol for symbol in symbols]
    # A blank before each piece but a closing bracket.
    return "".join(piece if piece == CLOSE else f" {piece}" for piece in pieces)[1:]


def without_unknown_tags(tree: str) -> str:
    """Removes the brackets around words with an unknown part of speech (`XX`) from a tree on one line."""
    return re.sub(rf"\({WORD} ([^()\s]+)\)", r"\1", tree)


def _escaped(word: str) -> str:
    return re.sub(r"\s", "_", word.replace("(", "-LRB-").replace(")", "-RRB-"))
