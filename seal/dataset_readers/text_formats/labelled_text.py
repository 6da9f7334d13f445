from collections.abc import Iterable
from typing import NamedTuple, Optional

from seal.files.names import clean_label


class LabelledText(NamedTuple):
    """
    A text with its labels.

    # Parameters

    text : `str`
    labels : `list[str]`
        Each label once, in the file's order.
    source : `str`
        `file:line` of the text's beginning.
    """

    text: str
    labels: list[str]
    source: str

    @property
    def words(self) -> list[str]:
        """The text, split at white space."""
        return self.text.split()


class TextOptions(NamedTuple):
    """
    Options of the formats.

    # Parameters

    label_names : `list[str]`, optional
        The names of labels that a file writes as numbers, from 0.
    text_keys : `tuple[str, ...]`, optional
        For JSON: the keys whose texts are joined. `None`: the first of the common keys that is there.
    topics : `str`, optional
        For RCV1: the file that says which document has which topic.
    """

    label_names: Optional[list[str]] = None
    text_keys: Optional[tuple[str, ...]] = None
    topics: Optional[str] = None


def once_each(labels: Iterable[str], source: str) -> list[str]:
    """
    The labels without repeats.

    # Parameters

    labels : `Iterable[str]`
    source : `str`
        `file:line`, for messages.

    # Returns

    `list[str]`
        Each label once, in the order of `labels`.

    # Raises

    `ConfigurationError` if a name is not one that a label may have (`clean_label`).
    """
    what = f"{source}: the label"
    return list(dict.fromkeys(clean_label(label, what) for label in dict.fromkeys(labels)))
