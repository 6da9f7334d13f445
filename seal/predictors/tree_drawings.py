"""Drawings of constituency trees: as text, and as SVG."""

from nltk import Tree
from nltk.tree.prettyprinter import TreePrettyPrinter


def as_text(brackets: str, width: int) -> str:
    """
    A tree in lines of text, the root on top and the words in the last line.

    # Parameters

    brackets : `str`
        A tree in the Penn Treebank's brackets.
    width : `int`
        The most characters a line may have. A tree that needs more is written in brackets over several lines.
    """
    tree = Tree.fromstring(brackets)
    lines = [line.rstrip() for line in TreePrettyPrinter(tree).text(unicodelines=True).splitlines()]
    if max(map(len, lines)) <= width:
        return "\n".join(lines)
    return tree.pformat(margin=width)


def as_svg(brackets: str) -> str:
    """
    A tree as an `<svg>` element, the root on top and the words at the bottom.

    # Parameters

    brackets : `str`
        A tree in the Penn Treebank's brackets; labels and words may have any characters.
    """
    return TreePrettyPrinter(Tree.fromstring(brackets)).svg()
