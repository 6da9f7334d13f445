"""
The labels that texts may have, and their taxonomy.
"""

import logging
from typing import Optional

from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.taxonomy_files import read_taxonomy_file
from seal.files.names import clean_label
from seal.files.taxonomy import Taxonomy
from seal.files.text_lines import text_lines

logger = logging.getLogger(__name__)

# From this many labels on, those of a path should have one in the taxonomy.
_MANY = 10


class LabelScheme:
    """
    A list of labels and a taxonomy, each read from a file or absent. The files are read only when they are needed: a
    model may predict on a machine without its training data.

    # Parameters

    labels : `Optional[str]`
        A file with the name of a label a line.
    taxonomy : `Optional[str]`
        A file that says which label is below which (see `read_taxonomy_file`).
    ancestors : `bool`
        Whether to give a text all ancestors of its labels.

    # Raises

    `ConfigurationError` if ancestors are asked for and no taxonomy is named.
    """

    def __init__(self, labels: Optional[str], taxonomy: Optional[str], ancestors: bool) -> None:
        if ancestors and taxonomy is None:
            raise ConfigurationError("dataset_reader.ancestors: set 'taxonomy' too, which says what they are.")
        self.labels_path, self._taxonomy_path, self._ancestors = labels, taxonomy, ancestors
        self._names: Optional[dict[str, None]] = None
        self._taxonomy: Optional[Taxonomy] = None
        # The labels that the taxonomy's file names: the taxonomy itself has those of the list as well.
        self._placed: set[str] = set()
        self._ancestors_of: dict[str, list[str]] = {}

    def names(self) -> Optional[list[str]]:
        """The listed labels; `None` without a list."""
        known = self._known()
        return None if known is None else list(known)

    def _known(self) -> Optional[dict[str, None]]:
        """The listed labels as the keys of a dictionary, for look-ups; `None` without a list."""
        if self.labels_path is not None and self._names is None:
            self._names = _read_names(self.labels_path)
        return self._names

    def taxonomy(self) -> Optional[Taxonomy]:
        """The taxonomy of the file, with the listed labels as its first ones; `None` without a file."""
        if self._taxonomy_path is not None and self._taxonomy is None:
            taxonomy = read_taxonomy_file(self._taxonomy_path)
            self._placed = set(taxonomy.labels)
            self._taxonomy = taxonomy.with_labels(self.names() or ())
        return self._taxonomy

    def complete(self, labels: list[str], source: str) -> list[str]:
        """
        The labels of a text and, where they are asked for, their ancestors. It is an error if one is not among the
        listed ones.
        """
        known = self._known()
        for label in labels:
            if known is not None and label not in known:
                raise ConfigurationError(f"{source}: the label '{label}' is not in {self.labels_path}.")
        if not self._ancestors:
            return labels
        closed = dict.fromkeys(labels)
        for label in labels:
            if label not in self._ancestors_of:
                self._ancestors_of[label] = self._above(label)
            closed.update(dict.fromkeys(self._ancestors_of[label]))
        return list(closed)

    def check_placed(self, labels: list[str], file_path: str) -> None:
        """
        Checks that the taxonomy is one of the texts' labels, where ancestors are asked for: one of other labels, or of
        other spellings, would add none. It is an error if it lacks all of the listed labels or, without a list, all of
        at least 10 `labels` that a path has: a taxonomy may lack those without ancestors. How many it lacks is logged.
        """
        if not self._ancestors:
            return
        self.taxonomy()
        lacking = [label for label in labels if label not in self._placed]
        if not lacking:
            return
        listed = self.names()
        wanted, source = (labels, file_path) if listed is None else (listed, self.labels_path)
        if not self._placed.intersection(wanted) and (listed is not None or len(labels) >= _MANY):
            raise ConfigurationError(
                f"{self._taxonomy_path}: it has no label of {source}, such as '{lacking[0]}'; set "
                "dataset_reader.taxonomy to one of these labels, or leave out 'ancestors'."
            )
        logger.warning(
            "%s: %s lacks %d of %d labels, such as '%s', which have no ancestors",
            file_path,
            self._taxonomy_path,
            len(lacking),
            len(labels),
            lacking[0],
        )

    def _above(self, label: str) -> list[str]:
        """The ancestors of a label; none where the taxonomy lacks it."""
        taxonomy, known = self.taxonomy(), self._known()
        found = taxonomy.ancestors(label) if label in taxonomy.labels else []
        for above in found:
            if known is not None and above not in known:
                raise ConfigurationError(
                    f"{self._taxonomy_path}: the label '{above}', above '{label}', is not in {self.labels_path}."
                )
        return found


def _read_names(path: str) -> dict[str, None]:
    names: dict[str, None] = {}
    for number, line in text_lines(path, "the name of a label a line"):
        if line.isspace():
            continue
        name = clean_label(line.strip(), f"{path}:{number}: the label")
        if name in names:
            raise ConfigurationError(f"{path}:{number}: the label {name!r} comes a second time.")
        names[name] = None
    if not names:
        raise ConfigurationError(f"{path}: it lists no label.")
    return names
