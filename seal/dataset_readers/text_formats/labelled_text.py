import functools
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Optional

from allennlp.common.checks import ConfigurationError

from seal.common.setting_checks import short
from seal.files.names import clean_label
from seal.files.other_formats import list_format

logger = logging.getLogger(__name__)

# What other programs write between labels; `C#`, `#news` and `part #2` are names.
_SEPARATOR = re.compile(r"[|;]|(?<=\S)#(?=[^\s#])|\s#\s*(?=[^\s\d])")
# Of fewer labels it is no surprise that each occurs once.
_FEW_LABELS = 16


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


def labels_of(cell: str, where: str) -> list[str]:
    """
    The labels of a cell of a table, names or numbers, which have commas between them; an empty cell has none.

    # Parameters

    cell : `str`
    where : `str`
        `file:line`, for messages.

    # Raises

    `ConfigurationError` if the cell is a list or an object of JSON or Python, and at a label that is empty, malformed
    or there twice.
    """
    if not cell.strip():
        return []
    listed = list_format(cell)
    if listed is not None:
        raise ConfigurationError(
            f"{where}: {short(cell)} looks like {listed}; write the labels with commas between them, as in 'a,b', and "
            "leave the cell empty where there is none."
        )
    labels: dict[str, None] = {}
    for label in map(str.strip, cell.split(",")):
        if not label:
            raise ConfigurationError(f"{where}: a label is empty; names have one comma between, found {cell[:40]!r}.")
        if label in labels:
            raise ConfigurationError(f"{where}: the label {label!r} comes a second time.")
        labels[label] = None
    return once_each(labels, where)


def telling_of_labels(
    read: Callable[[str, TextOptions], Iterator[LabelledText]],
) -> Callable[[str, TextOptions], Iterator[LabelledText]]:
    """
    The reader of a format whose labels are names, with a warning after the last text of a file where no text has two
    labels and several have `|`, `;` or `#` within a name; and where nearly every label occurs once, as texts do that
    stand in the place of labels.
    """

    @functools.wraps(read)
    def telling(path: str, options: TextOptions = TextOptions()) -> Iterator[LabelledText]:
        counts: Counter[str] = Counter()
        signs: Counter[str] = Counter()
        first, several, labelled = "", False, 0
        for text in read(path, options):
            yield text
            counts.update(text.labels)
            labelled += bool(text.labels)
            several = several or len(text.labels) > 1
            found = {match[0].strip() for label in text.labels[:1] for match in _SEPARATOR.finditer(label)}
            signs.update(found)
            first = first or (text.source if found else "")
        if signs and not several and max(signs.values()) > 1:
            logger.warning(
                "%s: labels have '%s' in their names, and no text has two labels; if it stands between labels, write "
                "commas, or a list in JSON",
                first,
                signs.most_common(1)[0][0],
            )
        once = sum(count == 1 for count in counts.values())
        # Where the labels are few beside the texts, most texts have one of the others.
        if len(counts) >= _FEW_LABELS and once >= 0.9 * max(len(counts), labelled):
            logger.warning(
                "%s: %d of its %d labels occur once, as %s; if these are texts, the columns are the other way round",
                path,
                once,
                len(counts),
                short(next(label for label, count in counts.items() if count == 1)),
            )

    return telling
