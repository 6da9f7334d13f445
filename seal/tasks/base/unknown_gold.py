"""
Gold labels that the model cannot predict, because its vocabulary lacks them.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Optional

from allennlp.common.checks import ConfigurationError

from seal.common.setting_checks import counted

logger = logging.getLogger(__name__)


class UnknownGold:
    """
    Finds gold labels, tags or roles that the model's vocabulary lacks, as they never occur in its training data. The
    model cannot predict them. Evaluation counts them as missed, as the programs of the shared tasks do, and logs their
    number; training refuses them.

    # Parameters

    known : `Iterable[str]`
        The names in the vocabulary.
    namespace : `str`
        The vocabulary's namespace, for messages.
    key : `str`
        The key of gold in an instance's metadata: a list of names, or `None` for an instance without gold. The key
        `source` there is `file:line` of the instance or, with `lines`, of its first name; `lines` has the line of each.
    """

    def __init__(self, known: Iterable[str], namespace: str, key: str) -> None:
        self._known, self._namespace, self._key = frozenset(known), namespace, key
        self.reset()

    def reset(self) -> None:
        """Resets the counts of `note`."""
        self._counts: Counter = Counter()
        self._instances = self._names = 0
        self._first: Optional[tuple[tuple[bool, str, int], str]] = None

    def refuse(self, metadata: Optional[Sequence[dict[str, Any]]]) -> None:
        """
        Refuses a batch with unknown names, for training.

        # Raises

        `ConfigurationError` at the first unknown name.
        """
        for item in metadata or ():
            for place, name in self._unknown(item):
                raise ConfigurationError(
                    f"{_where(item, place)}the label '{name}' is not in the model's vocabulary ('{self._namespace}'), "
                    "which comes from its training data: correct the label, or train with data that has it (the "
                    "config's datasets_for_vocab_creation says which files count, vocabulary.tokens_to_add adds "
                    "labels)."
                )

    def names_of(self, metadata: Optional[Sequence[dict[str, Any]]]) -> list[list[str]]:
        """The unknown names of each instance of a batch."""
        return [[name for _, name in self._unknown(item)] for item in metadata or ()]

    def note(self, metadata: Optional[Sequence[dict[str, Any]]]) -> list[list[str]]:
        """
        Counts the unknown names of a batch, for evaluation.

        # Returns

        `list[list[str]]`
            The unknown names of each instance.
        """
        unknown = []
        for item in metadata or ():
            found = list(self._unknown(item))
            self._names += len(item.get(self._key) or ())
            self._instances += bool(found)
            self._counts.update(name for _, name in found)
            if found:
                place, name = found[0]
                where = _where(item, place)
                # Batches are not in the order of the file: most are of sentences of similar length.
                if self._first is None or _in_files(where) < self._first[0]:
                    self._first = _in_files(where), f"{where}'{name}'"
            unknown.append([name for _, name in found])
        return unknown

    def warn(self) -> None:
        """
        Logs the counts since the last call, if there are any, and resets them. The message names the first line with an
        unknown name, in whatever order the batches came; several files are in the order of their names.
        """
        if self._first is not None:
            logger.warning(
                "%d of %d gold %s, in %s, are not in the model's vocabulary ('%s'), since its training data "
                "lacked them, and count as missed; %d different ones, the first at %s",
                self._counts.total(),
                self._names,
                self._key,
                counted(self._instances, "instance"),
                self._namespace,
                len(self._counts),
                self._first[1],
            )
        self.reset()

    def _unknown(self, item: dict[str, Any]) -> Iterable[tuple[int, str]]:
        """The place and the name of each unknown name of an instance."""
        names = item.get(self._key) or ()
        if self._known.issuperset(names):
            return ()
        return ((place, name) for place, name in enumerate(names) if name not in self._known)


def _where(item: dict[str, Any], place: int) -> str:
    """`file:line: ` of the name at a place; empty if that is not known."""
    source, lines = item.get("source"), item.get("lines")
    if source and lines:
        source = f"{source.rpartition(':')[0]}:{lines[place]}"
    return f"{source}: " if source else ""


def _in_files(where: str) -> tuple[bool, str, int]:
    """A sort key for the results of `_where`: by file and line; names without a file come last."""
    path, _, line = where.removesuffix(": ").rpartition(":")
    return not where, path, int(line) if line.isdecimal() else 0
