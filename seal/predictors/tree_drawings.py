"""Drawings of constituency trees: as text, and as SVG."""

from typing import Union

from nltk import Tree
from nltk.tree.prettyprinter import TreePrettyPrinter

from seal.common.linear_trees import WORD


def as_text(brackets: str, width: int = 120) -> str:
    """
    A tree in the Penn Treebank's brackets as lines of text, the root on top and the words in the last line, without the
    part of speech `XX`, which says nothing. A tree that needs more characters a line than `width` is written in
    brackets over several lines, and one with hundreds of constituents inside each other on one line.
    """
    try:
        lines = [line.rstrip() for line in _printer(brackets).text(unicodelines=True).splitlines()]
        if max(map(len, lines)) <= width:
            return "\n".join(lines)
        return _without_unknown_tags(Tree.fromstring(brackets)).pformat(margin=width)
    except (ValueError, RecursionError):  # nltk goes through a tree by recursion, which has an end.
        return brackets


def as_svg(brackets: str) -> str:
    """
    The same as an `<svg>` element; labels and words may have any characters. A `ValueError` where hundreds of
    constituents are inside each other.
    """
    return _printer(brackets).svg()


def _printer(brackets: str) -> TreePrettyPrinter:
    tree = _without_unknown_tags(Tree.fromstring(brackets))
    words = tree.leaves()
    # Places in the place of words: nltk would number those beside constituents before all that are inside these.
    for number, position in enumerate(tree.treepositions("leaves")):
        tree[position] = number
    return TreePrettyPrinter(tree, words)


def _without_unknown_tags(node: Union[Tree, str]) -> Union[Tree, str]:
    if isinstance(node, str) or (node.label() == WORD and isinstance(node[0], str)):
        return node if isinstance(node, str) else node[0]
    return Tree(node.label(), [_without_unknown_tags(child) for child in node])
