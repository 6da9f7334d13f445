"""
Reads the beginnings of the data of a config with the config's readers, to find mistakes in the files in seconds, before
the training.
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

from seal.cli.config_keys import with_config_key
from seal.common.setting_checks import counted
from seal.common.vocabularies import NOTATIONS
from seal.registry import ConfigurationError

logger = logging.getLogger(__name__)

#: The most seconds of reading.
SECONDS = 3.0
#: The number of instances that are read of each path first.
FIRST = 100
# The names of the paths in messages.
_PARTS = {"train_data_path": "train", "validation_data_path": "validation", "test_data_path": "test"}
_MOST_NAMED = 5


class _TimeIsUp(BaseException):
    """The time for reading is over. It is no `Exception`, because readers may catch these."""


class _Part:
    """A path of data, which is read in several steps."""

    def __init__(self, name: str, path: str, reader: Any) -> None:
        self.name, self.path, self._reader = name, path, reader
        #: Whether the reader reads the whole path at once, as a table.
        self.is_table = hasattr(reader, "read_table")
        self.has_ended = False
        #: The number of occurrences of each label, by namespace.
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
        """Reads until `most` instances are read, or to the end with `None`. Raises `_TimeIsUp` after the time `end`."""
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


def check_data(config: dict[str, Any], seconds: float = SECONDS) -> list[str]:
    """
    Reads the first hundred instances of the training, validation and test data, and then the rest, until `seconds` are
    over. If the training and validation data are read to the end, a warning names labels that only the validation data
    have.

    # Parameters

    config : `dict[str, Any]`
        A config that has passed `check`.
    seconds : `float`, optional (default = `3.0`)

    # Returns

    `list[str]`: for each path the amount that was read, such as `"train: 4,000 instances"` or `"test: the first 612
    instances"`.

    # Raises

    The errors of the readers; `ConfigurationError` if a path has no instance.
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


def check_beginnings(config: dict[str, Any], seconds: float = SECONDS) -> None:
    """
    Reads the first instance of the training data and the first hundred of the validation and test data, without
    warnings, before a training reads all of its data. Tables, which are read whole, are left out.

    # Raises

    As `check_data`.
    """
    end = time.monotonic() + seconds
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        # The training data last: a reader may look at all of a large file before its first instance.
        for part in sorted(_parts(config), key=lambda part: part.name == "train"):
            if not part.is_table:
                part.read(1 if part.name == "train" else FIRST, end)
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
        if not isinstance(path, str):  # A reader of another package may take other values.
            continue
        if section not in readers:
            with with_config_key():
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
    A context in which `_TimeIsUp` is raised after `seconds`, if this is the main thread and the system has alarms. It
    returns the time of the end, so that the block can check the time itself: Python ignores an error that is raised in
    the clean-up of an object.
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
