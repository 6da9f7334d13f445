"""
A look at the data that a config names, before a training: the readers are made, and read the beginnings of the files,
so that what they refuse is found in seconds.
"""

import logging
import signal
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional

from allennlp.common import Params
from allennlp.data import DatasetReader

from seal.cli.error_places import places_named
from seal.common.setting_checks import counted
from seal.common.vocabularies import NOTATIONS
from seal.registry import ConfigurationError

logger = logging.getLogger(__name__)

#: The most seconds that the data are looked at.
SECONDS = 3.0
#: The instances of each path that are read before the rest of any.
FIRST = 100
# What the paths are called.
_PARTS = {"train_data_path": "train", "validation_data_path": "validation", "test_data_path": "test"}
_MOST_NAMED = 5


class _TimeIsUp(BaseException):
    """Not an `Exception`: readers handle those."""


class _Part:
    """A path of the data, which is read further and further."""

    def __init__(self, name: str, path: str, reader: Any) -> None:
        self.name, self.path, self._reader = name, path, reader
        #: Whether the reader gives the whole at once, as a table.
        self.is_table = hasattr(reader, "read_table")
        self.has_ended = False
        #: How often each label was read, by namespace.
        self.labels: dict[str, Counter[str]] = defaultdict(Counter)
        self._count = 0
        self._instances = iter(()) if self.is_table else iter(reader.read(path))

    def __str__(self) -> str:
        if self.is_table and self.has_ended:
            return f"{self.name}: whole"
        if self._count == 0:
            return f"{self.name}: nothing in time"
        return f"{self.name}: {'' if self.has_ended else 'the first '}{counted(self._count, 'instance')}"

    def read(self, most: Optional[int], end: float) -> None:
        """Reads on until there are so many instances, or to the end with `None`; `_TimeIsUp` after the time `end`."""
        if self.has_ended:
            return
        if self.is_table:
            self._reader.read_table(self.path)
            self.has_ended = True
        while most is None or self._count < most:
            if time.monotonic() > end:
                raise _TimeIsUp()
            instance = next(self._instances, None)
            if instance is None:
                self.has_ended = True
                break
            self._count += 1
            for field in instance.fields.values():
                if hasattr(field, "_label_namespace"):
                    field.count_vocab_items(self.labels)
        if not self._count and not self.is_table:
            raise ConfigurationError(
                f"{self.path}: no instance is read; see what the file has, and what the dataset_reader leaves out"
            )


def look_at_data(config: dict[str, Any], seconds: float = SECONDS) -> list[str]:
    """
    Reads the first hundred instances of the training, validation and test data, and then the rest of them, all in at
    most so many seconds. Of validation data that were read whole, a warning names the labels that the training data
    lack.

    # Parameters

    config : `dict[str, Any]`
        One that `check` has found right.
    seconds : `float`, optional (default = `3.0`)

    # Returns

    What was read of each path, such as `"train: 4,000 instances"` or `"test: the first 612 instances"`.

    # Raises

    `ConfigurationError` and other errors as the readers raise them, or if a path has no instance.
    """
    parts: list[_Part] = []
    try:
        with _at_most(seconds) as end:
            for part in _parts(config):
                parts.append(part)
                part.read(FIRST, end)
            for part in parts:
                part.read(None, end)
    except _TimeIsUp:
        pass
    by_name = {part.name: part for part in parts}
    if all(name in by_name and by_name[name].has_ended for name in ("train", "validation")):
        _warn_of_unknown_labels(config, by_name["train"], by_name["validation"])
    return [str(part) for part in parts] or ["nothing in time"]


def look_at_beginnings(config: dict[str, Any], seconds: float = SECONDS) -> None:
    """
    The same of the first hundred instances of validation and test data alone, without warnings: for a training, which
    reads its own data first and these later. A table, which is read whole, is left out.

    # Raises

    As `look_at_data`.
    """
    end = time.monotonic() + seconds
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        for part in _parts({key: value for key, value in config.items() if key != "train_data_path"}):
            if not part.is_table:
                part.read(FIRST, end)
    except _TimeIsUp:
        pass
    finally:
        logging.disable(disabled)


def _parts(config: dict[str, Any]) -> Iterator[_Part]:
    readers: dict[str, DatasetReader] = {}
    for key, name in _PARTS.items():
        path, section = config.get(key), "dataset_reader"
        if key != "train_data_path" and config.get("validation_dataset_reader") is not None:
            section = "validation_dataset_reader"
        if not isinstance(path, str):  # Readers of others may take other values.
            continue
        if section not in readers:
            with places_named():
                params = Params({section: config[section]}).duplicate()
                readers[section] = DatasetReader.from_params(params.pop(section))
        yield _Part(name, path, readers[section])


def _warn_of_unknown_labels(config: dict[str, Any], train: _Part, validation: _Part) -> None:
    vocabulary = config.get("vocabulary") or {}
    vocabulary = {"type": vocabulary} if isinstance(vocabulary, str) else vocabulary
    of_train = config.get("datasets_for_vocab_creation") == ["train"]
    if not of_train or vocabulary.get("type", "from_instances") != "from_instances":
        return
    added = vocabulary.get("tokens_to_add") or {}
    for namespace, found in validation.labels.items():
        if namespace == NOTATIONS:  # How a file writes its tags is no label.
            continue
        unknown = sorted(found.keys() - train.labels[namespace].keys() - {*added.get(namespace, ())})
        if unknown:
            named = ", ".join(unknown[:_MOST_NAMED]) + (", ..." if len(unknown) > _MOST_NAMED else "")
            what = counted(len(unknown), "label")
            logger.warning("%s: %s that the training data lack count as missed: %s", validation.path, what, named)


@contextmanager
def _at_most(seconds: float) -> Iterator[float]:
    """
    Inside, `_TimeIsUp` is raised after so many seconds, in the main thread of a system that has alarms. It gives the
    time of that end: an error that is raised in the clean-up of an object is lost.
    """
    end = time.monotonic() + seconds
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield end
        return

    def stop(*_: Any) -> None:
        raise _TimeIsUp()

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield end
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
