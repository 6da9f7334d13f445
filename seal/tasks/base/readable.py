"""
The records of predictions as text to read.
"""

from typing import Any

from nltk import Tree
from nltk.tree.prettyprinter import TreePrettyPrinter

from seal.common.linear_trees import without_unknown_tags


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
    What draws the same tree; its method `svg` gives an `<svg>` element, in which labels and words may have any
    characters. A `ValueError` where hundreds of constituents are inside each other.
    """
    tree = Tree.fromstring(without_unknown_tags(brackets))
    words = tree.leaves()
    # Places in the place of words: nltk would number those beside constituents before all that are inside these.
    for number, position in enumerate(tree.treepositions("leaves")):
        tree[position] = number
    return TreePrettyPrinter(tree, words)


def readable(record: dict[str, Any]) -> str:
    """
    A record of one of this package's predictors as a few lines: the sentence and a line for each frame, the words with
    their tags, the tree, the labels with their probabilities, or what the mask covers.

    ```python
    print(readable(predictor.predict("The boy broke the vase .")))
    # The boy broke the vase .
    #   [ARG0 The boy] [V broke] [ARG1 the vase] .    0.94
    ```
    """
    if "error" in record:
        return f"error: {record['error']}"
    if "sentences" in record:
        return "\n".join(map(readable, record["sentences"]))
    if "frames" in record:
        lines = [" ".join(record["words"])]
        lines += [f"  {frame['description']}{numbers_of(frame)}" for frame in record["frames"]]
        return "\n".join(lines if record["frames"] else [*lines, _NO_PREDICATE])
    if "tree" in record:
        # An empty line, so that the next sentence does not look like a part of the tree.
        return f"{' '.join(record['words'])}{numbers_of(record)}\n{as_text(record['tree'])}\n"
    if "labels" in record:
        labels = [f"{name} {probability_text(value)}" for name, value in record["labels"].items()]
        shown = (", ".join(labels) or "no label") + numbers_of(record)
        # A vector of features is not for reading.
        return f"{record['input']}\n  {shown}" if isinstance(record.get("input"), str) else shown
    if "description" in record:
        start = f"{record['image']}: " if "image" in record else ""
        return f"{start}{record['description']}{numbers_of(record)}"
    return str(record)


#: The way out for a person who knows better.
_NO_PREDICATE = (
    '  no predicate was found; name some, {"words": ["It", "rains"], "predicates": [1]}, or add the verbs of a tagger, '
    "--predicates-from TAGGER"
)


def numbers_of(record: dict[str, Any]) -> str:
    """The probability and the energy of a record or a frame, after some blanks; empty without either."""
    parts: list[str] = []
    if record.get("probability") is not None:
        parts.append(probability_text(record["probability"]))
    if record.get("energy") is not None:
        parts.append(f"energy {number_of(record['energy'])}")
    return "    " + ", ".join(parts) if parts else ""


def number_of(value: Any) -> str:
    """A number with two digits after the point."""
    return "not finite" if value is None else f"{value:.2f}"


def probability_text(value: Any) -> str:
    """Two digits, of which neither 0.00 nor 1.00 stands for anything in between."""
    if value is not None and 0 < value < 0.01:
        return "<0.01"
    return ">0.99" if value is not None and 0.99 < value < 1 else number_of(value)
