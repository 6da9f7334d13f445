"""
A wrong key or value in a config is reported in a sentence that names the key with its place in the config, what was
found and what was meant.

AllenNLP's `FromParams` reads the config. The functions here replace its messages, and report some mistakes that it
accepts.
"""

import inspect
import re
from types import UnionType
from typing import Any, Optional, Union, get_args, get_origin

import torch.distributed as dist
from allennlp.common import FromParams, Lazy, Registrable, from_params
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import Params
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.training.metric_tracker import MetricTracker
from allennlp.training.trainer import Trainer

from seal.allennlp.replacing import replace_once
from seal.common.setting_checks import check_range, suggest

# Top-level keys of a config that AllenNLP takes out before anything is built.
READ_BEFORE = {"random_seed", "numpy_seed", "pytorch_seed", "distributed"}


def _may_be_null(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    # A parameter without an annotation, or with one that is a string, may be anything.
    untold = annotation in (parameter.empty, Any) or isinstance(annotation, str)
    return untold or parameter.default is None or type(None) in get_args(annotation)


def refuse_unknown_config_keys() -> None:
    """
    Patches: `allennlp.common.from_params.create_kwargs`.

    Symptom: a misspelt key of a trainer (`num_epoch`) is swallowed by the trainer's `**kwargs`, and training
    runs with the default. Elsewhere the message names neither the key's place in the config nor the key that
    was meant, and a misspelt required key is reported as missing. A `null` is handed to a constructor whose parameter
    does not allow it. A `serialization_dir` in the config replaces that of the command line for some parts of the run.
    All this is checked before anything is built.

    Can go: when AllenNLP's trainer has no `**kwargs` and its message names the key's place.
    """

    def create_kwargs(original, constructor, cls, params, **extras):
        parameters = from_params.infer_params(cls, constructor)
        open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        if open_ended and inspect.isclass(cls) and issubclass(cls, Trainer):
            # The keys that the constructor passes on are parameters of `__init__`; `run_sanity_checks` is the one
            # old name that AllenNLP still looks for in its `**kwargs`.
            parameters = {**from_params.infer_params(cls), **parameters, "run_sanity_checks": None}
            if not dist.is_initialized():
                # AllenNLP sets these in each worker of a distributed run, which the section `distributed` asks for.
                for given in ("distributed", "world_size", "local_rank"):
                    parameters.pop(given, None)
            open_ended = False
        known = {name for name, p in parameters.items() if p is None or p.kind is not p.VAR_KEYWORD}
        known -= {"self"}
        unknown = [] if open_ended else [key for key in params if key not in known]
        if unknown:
            key = unknown[0]
            raise ConfigurationError(
                f'config key "{params.history}{key}" is unknown to {cls.__name__}'
                + suggest(key, known - set(extras) | (READ_BEFORE if "train_data_path" in known else set()))
            )
        for key, value in params.params.items():
            if value is None and parameters.get(key) is not None and not _may_be_null(parameters[key]):
                raise ConfigurationError(f'config key "{params.history}{key}" of {cls.__name__} is null')
            if key in parameters and _owner(cls, constructor, key) in _RANGED:
                place = f'config key "{params.history}{key}" of {cls.__name__}'
                _check_range(place, key, value, getattr(parameters[key], "annotation", None))
        if not params.history and "serialization_dir" in params and "serialization_dir" in extras:
            raise ConfigurationError('config key "serialization_dir": the command line says where, with -s')
        return original(constructor, cls, params, **extras)

    replace_once(from_params, "create_kwargs", create_kwargs)


# Plain words for AllenNLP's names of what it expected.
_KINDS = {"a int": "a whole number", "a bool": "true or false", "numeric": "a number"}


# The packages whose classes the ranges below are of. A class of another package that has a setting of the same name
# knows its range itself.
_RANGED = ("allennlp", "allennlp_models", "seal", "torch")

# Keys whose whole numbers must be at least 1: AllenNLP accepts any, and fails at it later.
_FROM_ONE = (
    "batch_size",
    "embedding_dim",
    "keep_most_recent_by_count",
    "max_instances",
    "num_epochs",
    "num_filters",
    "num_gradient_accumulation_steps",
    "step_size",
)

# The same for at least 0, and for shares that must be below 1; of these, `decay` is that of a moving average.
_FROM_ZERO = ("warmup_steps",)
_SHARES = ("decay", "dropout", "layer_dropout_probability", "recurrent_dropout_probability")


def _built_class(annotation: Any) -> Any:
    """The one class, apart from null, that AllenNLP builds from an object of the config; `None` where there is none."""
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        return _built_class(kinds[0]) if len(kinds) == 1 else None
    if get_origin(annotation) is Lazy:
        return get_args(annotation)[0]
    return annotation if hasattr(annotation, "from_params") else None


def _owner(cls: Any, constructor: Any, name: str) -> str:
    """The package of the class whose setting this is: a subclass may hand on those of its base classes."""
    makers = [constructor, *(base.__dict__.get("__init__") for base in inspect.getmro(cls))]
    for maker in makers:
        if inspect.isroutine(maker) and name in inspect.signature(maker).parameters:
            return maker.__module__.split(".")[0]
    return cls.__module__.split(".")[0]


def _check_range(place: str, name: str, found: Any, annotation: Any) -> None:
    whole = int in (get_args(annotation) or (annotation,))
    if name in _FROM_ONE and whole and type(found) is int:
        check_range(place, found, least=1)
    if name in _FROM_ZERO and type(found) in (int, float):
        check_range(place, found, least=0)
    for share in found if isinstance(found, list) else [found]:
        if name in _SHARES and type(share) in (int, float):
            check_range(place, share, least=0, below=1)


def _value(place: str, name: str, found: Any, annotation: Any) -> Any:
    """`found` in the form in which AllenNLP reads it as intended. Raises an error that names `place` if it is wrong."""
    if get_origin(annotation) in (list, set, tuple) and not isinstance(found, (list, tuple)):
        raise ConfigurationError(f"{place} must be a list, found {found!r}")
    if get_origin(annotation) is list:
        return [_value(place, "", item, *get_args(annotation)) for item in found]
    kinds = get_args(annotation)
    if get_origin(annotation) is tuple and ... not in kinds and isinstance(found, (list, tuple)):
        if len(found) != len(kinds):
            raise ConfigurationError(f"{place} must be a list of {len(kinds)}, found {found!r}")
        for item, kind in zip(found, kinds):
            # Only strings are refused: AllenNLP's optimizers are annotated with a list where they take an object, that
            # of a parameter group.
            if isinstance(item, str) and get_origin(kind) is list:
                raise ConfigurationError(f"{place} must be a list, found {item!r}")
    built = _built_class(annotation)
    if built is not None:
        if isinstance(found, (list, int, float)):
            raise ConfigurationError(f"{place} must be an object, found {found!r}")
        # For an empty object that is built later, AllenNLP's error does not have the place of its key.
        if found == {} and built in Registrable._registry and built.default_implementation is None:
            raise ConfigurationError(f'{place} must have a "type", found {{}}')
        # AllenNLP's errors about a bare string do not have the place of its key, those about an object do.
        if isinstance(found, str):
            return {"type": found}
    # Jsonnet writes 1e300 with all its zeros, as a whole number that is too large for torch.
    return float(found) if annotation is float and type(found) is int else found


def name_wrong_config_values() -> None:
    """
    Patches: `allennlp.common.from_params.pop_and_construct_arg`.

    Symptom: `TypeError: Expected num_epochs to be a int.`, without the key's place and without the value found; and
    `true` in the place of a whole number is read as 1. A string in the place of a list is read letter by letter. A name
    in a list that is not registered is reported at the key `type`. Numbers that must be at least 1 may be 0, dropout
    may be above 1, and a warm-up may have a negative number of steps. A list that is too long (`betas`) is cut, and one
    that is too short is accepted. An empty list in the place of an object is read as an empty object, and a number
    there is reported without its key; so is an empty object in the place of one with a `type`.

    Can go: when AllenNLP's message has the place and the value, and AllenNLP refuses the wrong values.
    """

    def pop_and_construct_arg(original, class_name, argument_name, annotation, default, params, **extras):
        found = params.params.get(argument_name)
        place = f'config key "{params.history}{argument_name}" of {class_name}'
        if found is not None:
            params.params[argument_name] = _value(place, argument_name, found, annotation)
        kinds = get_args(annotation) or (annotation,)
        if isinstance(found, bool) and int in kinds and bool not in kinds:
            raise ConfigurationError(f"{place} must not be true or false, found {found!r}")
        try:
            return original(class_name, argument_name, annotation, default, params, **extras)
        except TypeError as error:
            # Only an error about this argument itself: one from a nested object names its own argument.
            match = re.fullmatch(rf"Expected ({re.escape(argument_name)}(?:\.\w+)*) to be (.*?)\.?", str(error))
            if match is None:
                raise
            wanted = _KINDS.get(match[2], match[2])
            raise ConfigurationError(
                f'config key "{params.history}{match[1]}" of {class_name} must be {wanted}, found {found!r}'
            ) from error

    replace_once(from_params, "pop_and_construct_arg", pop_and_construct_arg)


def shorten_unknown_type_message() -> None:
    """
    Patches: `allennlp.common.params.Params.pop_choice`.

    Symptom: the error for a misspelt `type` lists every registered name (about 60 for a model).

    Can go: when AllenNLP suggests the name that was meant.
    """

    def pop_choice(original, self, key, choices, default_to_first_choice=False, allow_class_names=True):
        value = self.params.get(key)
        if value is not None and not isinstance(value, str):
            raise ConfigurationError(f'config key "{self.history}{key}" must be a name, found {value!r}')
        try:
            return original(self, key, choices, default_to_first_choice, allow_class_names)
        except ConfigurationError as error:
            if "not in acceptable choices" not in error.message:
                raise
            raise ConfigurationError(
                f'config key "{self.history}{key}": "{value}" is not a registered name' + suggest(value, choices)
            ) from None

    replace_once(Params, "pop_choice", pop_choice)


def name_missing_validation_metric() -> None:
    """
    Patches: `allennlp.training.metric_tracker.MetricTracker.combined_score`.

    Symptom: the error for a `validation_metric` that the model does not report comes after the first epoch, and names
    neither the key nor the metrics that the model does report.

    Can go: when AllenNLP's message says both.
    """

    def combined_score(original, self, metrics):
        for _, name in self.tracked_metrics:
            if name not in metrics:
                raise ConfigurationError(
                    f'config key "trainer.validation_metric": the model did not report "{name}"'
                    + suggest(name, metrics)
                )
        return original(self, metrics)

    replace_once(MetricTracker, "combined_score", combined_score)


# The packages whose constructors refuse a value by a `ValueError`. Those of seal do it by a `ConfigurationError`, so a
# `ValueError` there is a defect, as it may be in anybody else's class.
_REFUSE_BY_VALUE_ERROR = ("allennlp", "allennlp_models", "torch")


def name_parts_that_refuse() -> None:
    """
    Patches: `allennlp.common.FromParams.from_params`, and `MultiProcessDataLoader.iter_instances`, whose errors are
    about the data, though the loader's constructor calls it.

    Symptom: where a class refuses a value in its constructor, the error does not have the place of its part in the
    config. An unknown key that a class hands on as one of its `**kwargs` ends in a traceback of its base class.

    Can go: when AllenNLP's errors have the place.
    """
    errors = (ConfigurationError, TypeError, ValueError)

    def from_params(original, cls, params, constructor_to_call=None, *args, **kwargs):
        keys = set(params) if isinstance(params, Params) else set()
        try:
            return original(cls, params, constructor_to_call, *args, **kwargs)
        except errors as error:
            # The innermost part is the one that the error is about.
            if hasattr(error, "is_placed"):
                raise
            error.is_placed = True
            # A class method, such as `Vocabulary.from_instances`, does more than to take settings.
            takes_settings = inspect.isclass(constructor_to_call or cls)
            told = _placed(error, getattr(params, "history", ""), keys, cls, takes_settings)
            if told is None:
                raise
            placed = ConfigurationError(told)
            placed.is_placed = True
            raise placed from error

    def iter_instances(original, self):
        try:
            yield from original(self)
        except errors as error:
            error.is_placed = True
            raise

    replace_once(FromParams, "from_params", from_params)
    replace_once(MultiProcessDataLoader, "iter_instances", iter_instances)


def _placed(error: Exception, history: str, keys: set[str], cls: type, takes_settings: bool) -> Optional[str]:
    """What an error says that left the constructor of a part of a config, with the place; `None`: it says enough."""
    text, place = str(error), history.rstrip(".")
    if isinstance(error, ConfigurationError):
        # A class knows the name of its part, as in "encoder.dropout: ...", and not which of two encoders it is.
        part = place.rpartition(".")[2]
        return place + text[len(part) :] if part and re.match(rf"{re.escape(part)}[.:]", text) else None
    if isinstance(error, TypeError):
        unknown = re.search(r"__init__\(\) got an unexpected keyword argument '(\w+)'", text)
        given = unknown is not None and unknown[1] in keys
        return f'config key "{history}{unknown[1]}" is unknown to {cls.__name__}' if given else None
    # `io.UnsupportedOperation` is an error of both types, and about a file.
    refuses = takes_settings and cls.__module__.split(".")[0] in _REFUSE_BY_VALUE_ERROR
    return f'config key "{place}": {text}' if place and refuses and not isinstance(error, OSError) else None


PATCHES = (
    refuse_unknown_config_keys,
    name_wrong_config_values,
    name_parts_that_refuse,
    shorten_unknown_type_message,
    name_missing_validation_metric,
)
