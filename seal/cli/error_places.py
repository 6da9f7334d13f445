"""Gives an error of a part that refuses its settings the part's place in the config."""

import inspect
import re
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Optional

from allennlp.data.data_loaders import MultiProcessDataLoader

from seal.cli.word_vectors import unusable_vector
from seal.common.setting_checks import suggest
from seal.registry import ConfigurationError

# The packages whose constructors refuse a value by a `ValueError`. Those of seal do it by a `ConfigurationError`, so a
# `ValueError` there is a defect, as it may be in anybody else's class.
_REFUSE_BY_VALUE_ERROR = ("allennlp", "allennlp_models", "torch")


@contextmanager
def places_named() -> Iterator[None]:
    """
    Inside, an error of a part that refuses its settings, while AllenNLP constructs it of a config, becomes a
    `ConfigurationError` that has the place of the part.
    """
    try:
        yield
    except Exception as error:
        message = _message(error)
        if message is None:
            raise
        raise ConfigurationError(message) from error


def _message(error: Exception) -> Optional[str]:
    """What an error that left a constructor says, with what its frames know; `None`: it says enough."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    for frame in frames:
        loaders = frame.f_locals.get("data_loaders") if frame.f_code.co_name in _HAVE_LOADERS else None
        message = no_instance(loaders.values()) if isinstance(loaders, dict) else None
        if message is not None:  # Whatever it led to.
            return message
    for frame in reversed(frames):
        module, function, given = frame.f_globals.get("__name__"), frame.f_code.co_name, frame.f_locals
        if module == "allennlp.modules.token_embedders.embedding" and function == "_read_pretrained_embeddings_file":
            return unusable_vector(
                error, *(given[name] for name in ("file_uri", "embedding_dim", "vocab", "namespace"))
            )
        if module == "allennlp.training.metric_tracker" and function == "combined_score":
            missing = [name for _, name in given["self"].tracked_metrics if name not in given["metrics"]]
            key = 'config key "trainer.validation_metric"'
            near = [f'{key}: the model did not report "{name}"{suggest(name, given["metrics"])}' for name in missing]
            return next(iter(near), None)
        if function == "iter_instances":
            return None  # It is about the data, though the loader's constructor reads them.
        if module == "allennlp.common.from_params" and function == "from_params":
            return _placed(error, given)
    return None


# Functions of AllenNLP's that have all data loaders in a variable.
_HAVE_LOADERS = ("from_partial_objects", "make_vocab_from_params")


def no_instance(loaders: Iterable[Any]) -> Optional[str]:
    """What is wrong with the first of AllenNLP's loaders whose reader gives no instance; `None` if none is empty."""
    for given in loaders:
        loader: Any = getattr(given, "loader", given)  # One of groups of batches has that of its batches.
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


def _placed(error: Exception, given: dict[str, Any]) -> Optional[str]:
    """The same of an error that left the innermost part; `given` is what its `from_params` has."""
    text, cls, history = str(error), given["cls"], getattr(given["params"], "history", "")
    place = history.rstrip(".")
    if isinstance(error, ConfigurationError):
        # A class knows the name of its part, as in "encoder.dropout: ...", and not which of two encoders it is.
        part = place.rpartition(".")[2]
        return place + text[len(part) :] if part and re.match(rf"{re.escape(part)}[.:]", text) else None
    if isinstance(error, TypeError):
        unknown = re.search(r"__init__\(\) got an unexpected keyword argument '(\w+)'", text)
        of_config = unknown is not None and unknown[1] in given.get("kwargs", ())
        return f'config key "{history}{unknown[1]}" is unknown to {cls.__name__}' if unknown and of_config else None
    # A class method, such as `Vocabulary.from_instances`, does more than to take settings. `io.UnsupportedOperation` is
    # an error of both types, and about a file.
    takes_settings = inspect.isclass(given.get("constructor_to_call") or cls)
    refuses = takes_settings and cls.__module__.split(".")[0] in _REFUSE_BY_VALUE_ERROR
    is_value = isinstance(error, ValueError) and not isinstance(error, OSError)
    return f'config key "{place}": {text}' if place and refuses and is_value else None
