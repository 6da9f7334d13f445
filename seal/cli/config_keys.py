"""Adds the config key of a part to the error of its constructor, and finds data loaders without instances."""

import inspect
import re
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Optional

from allennlp.data.data_loaders import MultiProcessDataLoader

from seal.registry import ConfigurationError

# The packages whose constructors refuse a value by a `ValueError`. Constructors of seal raise a `ConfigurationError`; a
# `ValueError` from them, or from any other class, is a defect.
_REFUSE_BY_VALUE_ERROR = ("allennlp", "allennlp_models", "torch")


@contextmanager
def with_config_key() -> Iterator[None]:
    """
    A context in which AllenNLP constructs the parts of a config. An error of a part that refuses its settings becomes a
    `ConfigurationError` with the key of the part, such as `model.encoder`.
    """
    try:
        yield
    except Exception as error:
        message = _with_place(error)
        if message is None:
            raise
        raise ConfigurationError(message) from error


def _with_place(error: Exception) -> Optional[str]:
    """The message of an error with the place of the part that raised it; `None` if the error says enough."""
    for frame in reversed([frame for frame, _ in traceback.walk_tb(error.__traceback__)]):
        if frame.f_code.co_name == "iter_instances":
            return None  # The error is about the data, which the loader's constructor reads.
        if frame.f_code.co_name == "from_params" and frame.f_globals.get("__name__") == "allennlp.common.from_params":
            break
    else:
        return None
    given = frame.f_locals
    text, cls, place = str(error), given["cls"], getattr(given["params"], "history", "").rstrip(".")
    if isinstance(error, ConfigurationError):
        # A class knows the name of its part, as in "encoder.dropout: ...", but not which of two encoders it is.
        part = place.rpartition(".")[2]
        return place + text[len(part) :] if part and re.match(rf"{re.escape(part)}[.:]", text) else None
    # A class method, such as `Vocabulary.from_instances`, does more than take settings. `io.UnsupportedOperation` is
    # both a `ValueError` and an `OSError`, and about a file.
    takes_settings = inspect.isclass(given.get("constructor_to_call") or cls)
    refuses = takes_settings and cls.__module__.split(".")[0] in _REFUSE_BY_VALUE_ERROR
    is_value = isinstance(error, ValueError) and not isinstance(error, OSError)
    return f'config key "{place}": {text}' if place and refuses and is_value else None


def no_instance(loaders: Iterable[Any]) -> Optional[str]:
    """The message for the first loader of AllenNLP's whose reader gives no instance; `None` if none is empty."""
    for given in loaders:
        loader: Any = getattr(given, "loader", given)  # A `GroupedLoader` has the loader of its batches.
        is_empty = (
            isinstance(loader, MultiProcessDataLoader) and loader._instances is not None and not loader._instances
        )
        if not is_empty:
            continue
        info = loader.reader.get_distributed_info()
        if info is not None and info.global_rank > 0:
            # The first process gets the first instance, if there is one.
            return (
                f"{loader.data_path}: process {info.global_rank + 1} of {info.world_size} gets no instance, as there "
                "are fewer instances than processes; take fewer processes (distributed.cuda_devices) or more data"
            )
        return f"{loader.data_path}: no instance is read; see what the file has, and what the dataset_reader leaves out"
    return None
