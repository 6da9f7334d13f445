from typing import Iterable, List, NamedTuple, Optional, Tuple

from seal.common.names import check_label


class LabelledText(NamedTuple):
    """
    # Parameters

    text : `str`
    labels : `List[str]`
        Each once, in the file's order.
    source : `str`
        `file:line` of its beginning.
    """

    text: str
    labels: List[str]
    source: str

    @property
    def words(self) -> List[str]:
        """What stands between white space."""
        return self.text.split()


class TextOptions(NamedTuple):
    """
    What a format may have to be told.

    # Parameters

    label_names : `List[str]`, optional
        For labels that are written as numbers, from 0.
    text_keys : `Tuple[str, ...]`, optional
        Of JSON: the keys whose texts are joined. `None`: the first that is there of those that are common.
    topics : `str`, optional
        Of RCV1: the file that says which document has which topic.
    """

    label_names: Optional[List[str]] = None
    text_keys: Optional[Tuple[str, ...]] = None
    topics: Optional[str] = None


def once_each(labels: Iterable[str], source: str) -> List[str]:
    """
    # Parameters

    labels : `Iterable[str]`
    source : `str`
        `file:line`, for messages.

    # Returns

    `List[str]`
        Each once, in their order.

    # Raises

    `ConfigurationError` if one is no name of a label (`check_label`).
    """
    found = list(dict.fromkeys(labels))
    for label in found:
        check_label(label, f"{source}: the label")
    return found
