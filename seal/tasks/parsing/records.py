from collections.abc import Mapping
from typing import Any, Optional

from nltk import Tree
from nltk.tree.prettyprinter import TreePrettyPrinter

from seal.common.linear_trees import without_unknown_tags
from seal.tasks.base.records import RECORD_KINDS, RecordKind, numbers_of, printable


def text(record: dict[str, Any]) -> str:
    """The sentence and its tree; an empty line follows, so that the next sentence does not look like a part of it."""
    return f"{' '.join(record['words'])}{numbers_of(record)}\n{as_text(record['tree'])}\n"


def picture(record: dict[str, Any], colours: Mapping[str, str]) -> Optional[str]:
    """The tree; `None` where hundreds of constituents are inside each other."""
    try:
        return printer(printable(record["tree"])).svg()
    except (ValueError, RecursionError):
        return None


def as_text(brackets: str, width: int = 120) -> str:
    """
    A tree in the Penn Treebank's brackets as lines of text, the root on top and the words in the last line, without the
    part of speech `XX`, which says nothing. A tree that needs more characters a line than `width` is written in
    brackets over several lines, and one with hundreds of constituents inside each other on one line.
    """
    try:
        lines = [line.rstrip() for line in printer(brackets).text(unicodelines=True).splitlines()]
        if max(map(len, lines)) <= width:
            return "\n".join(lines)
        return Tree.fromstring(without_unknown_tags(brackets)).pformat(margin=width)
    except (ValueError, RecursionError):  # nltk goes through a tree by recursion, which has an end.
        return brackets


def printer(brackets: str) -> TreePrettyPrinter:
    """
    NLTK's printer of the tree; its method `svg` returns an `<svg>` element, in which labels and words may have any
    characters. Raises `ValueError` if hundreds of constituents are nested.
    """
    tree = Tree.fromstring(without_unknown_tags(brackets))
    words = tree.leaves()
    # Places in the place of words: nltk would number those beside constituents before all that are inside these.
    for number, position in enumerate(tree.treepositions("leaves")):
        tree[position] = number
    return TreePrettyPrinter(tree, words)


RECORD_KINDS["tree"] = RecordKind(text, picture)
