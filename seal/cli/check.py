"""
The sub-command `check`: compares a config with the signatures of the constructors that it names, without calling them.
`seal train` does the same first. The message for a mistake has the key, the value, and a suggestion.

A value that a constructor refuses is found only when the constructor is called; `with_config_key` then adds the key.
"""

import argparse
import inspect
import os
import re
from collections.abc import Iterable
from types import UnionType
from typing import Any, Optional, Union, get_args, get_origin

import torch
from allennlp.commands.train import TrainModel
from allennlp.common import Lazy, Registrable
from allennlp.common.from_params import infer_params
from allennlp.modules.token_embedders.embedding import Embedding, parse_embeddings_file_uri
from allennlp.training.trainer import Trainer

from seal.cli.configs import place_of, read_config
from seal.cli.data_check import check_data
from seal.cli.workers import Workers
from seal.common.setting_checks import abbreviate, check_range, check_that, suggest, whole_number
from seal.files.paths import user_path
from seal.registry import ConfigurationError

# The seeds of a config, and all top-level keys that AllenNLP removes before it constructs anything.
_SEEDS = ("random_seed", "numpy_seed", "pytorch_seed")
_READ_BEFORE = (*_SEEDS, "distributed", "evaluation", "include_in_archive")
# Settings of a trainer that `seal train` gives to each worker of a distributed run.
_OF_WORKERS = ("distributed", "world_size", "local_rank")
# Parameters of constructors that code passes, in AllenNLP and here. They are not settings.
_GIVEN = {
    *("data_loader", "data_path", "ddp_accelerator", "instances", "local_rank", "model", "model_parameters"),
    *("num_steps_per_epoch", "optimizer", "output_space", "parameters", "reader", "serialization_dir", "task_net_dim"),
    *("validation_data_loader", "vocab"),
}
_DATA = ("train_data_path", "validation_data_path", "test_data_path")

# The packages to whose classes the ranges below apply.
_RANGED = ("allennlp", "allennlp_models", "seal", "torch")
# Keys whose whole numbers must be at least 1. AllenNLP would fail later, and a sampler refuses `num_samples` only after
# the data are read.
_FROM_ONE = {
    *("batch_size", "embedding_dim", "keep_most_recent_by_count", "max_instances", "ngram_filter_sizes", "num_epochs"),
    *("num_filters", "num_gradient_accumulation_steps", "num_nodes", "num_samples", "step_size"),
}
# Keys whose numbers must be at least 0, and keys whose numbers must be from 0 to below 1.
_FROM_ZERO = {"cross_entropy_weight", "energy_weight", "perceptron_weight", "warmup_steps"}
_SHARES = {"decay", "dropout", "layer_dropout_probability", "recurrent_dropout_probability"}


def check(config: dict[str, Any], source: Optional[str] = None) -> None:
    """
    Checks a config of a training.

    # Parameters

    config : `dict[str, Any]`
        The config with its overrides.
    source : `str`, optional (default = `None`)
        The file of the config. An error about a path of data then names the line and key in that file, where the path
        may be an argument of a function of the library.

    # Raises

    `ConfigurationError` for the first mistake.
    """
    _check_first(config)
    parameters = dict(inspect.signature(TrainModel.from_partial_objects).parameters)
    if "serialization_dir" in config:
        raise ConfigurationError('config key "serialization_dir": the command line says where, with -s')
    for given in ("serialization_dir", "local_rank", "ddp_accelerator"):
        del parameters[given]
    parts = {key: value for key, value in config.items() if key not in _READ_BEFORE and key != "type"}
    _check_keys("", TrainModel, parts, parameters, also=(*_SEEDS, "distributed"))
    for key in _DATA:
        _check_path(key, config.get(key), source)


def check_overridden(config: dict[str, Any], trained: dict[str, Any]) -> None:
    """
    Checks the overridden parts of the config of a trained model.

    # Parameters

    config : `dict[str, Any]`
        The config with its overrides.
    trained : `dict[str, Any]`
        The config of the training.

    # Raises

    `ConfigurationError` for the first mistake.
    """
    parameters = inspect.signature(TrainModel.from_partial_objects).parameters
    known = {*parameters, *_READ_BEFORE, "type"} - {"serialization_dir", "local_rank"}
    for key in sorted(config.keys() - trained.keys() - known):
        raise ConfigurationError(f'config key "{key}" of --overrides is unknown' + suggest(key, known))
    # Commands for trained models construct no trainer.
    changed = {key: config[key] for key in config if key in parameters and config[key] != trained.get(key)}
    changed.pop("trainer", None)
    _check_keys("", TrainModel, changed, {key: parameters[key] for key in changed})


def _check_first(config: dict[str, Any]) -> None:
    """Checks the settings that AllenNLP reads before it constructs anything."""
    for key in _SEEDS:
        seed = config.get(key)
        # AllenNLP also accepts a seed that is a string, as an environment variable read by std.extVar is.
        number = seed if type(seed) is int else whole_number(str(seed))
        is_seed = seed is None or (number is not None and 0 <= number < 2**32)
        check_that(is_seed, f'config key "{key}"', f"a whole number from 0 to {2**32 - 1}", seed)
    if config.get("distributed") is not None:
        _check_workers(config["distributed"])
    if config.get("validation_dataset_reader", config) is None:
        raise ConfigurationError(
            'config key "validation_dataset_reader" is null; leave it out, and dataset_reader reads validation data, '
            "too"
        )
    if config.get("evaluate_on_test") and config.get("test_data_path") is None:
        raise ConfigurationError('config key "evaluate_on_test" needs a "test_data_path", and there is none')


def _check_workers(section: Any) -> None:
    _check_part("distributed", TrainModel.__name__, Workers, section, later=False)
    workers = Workers(**section)
    devices, there = workers.cuda_devices, torch.cuda.device_count()
    if set(devices) != {-1} and not all(0 <= device < there for device in devices):
        raise ConfigurationError(
            f'config key "distributed.cuda_devices" must have numbers of GPUs, of which {there} are here, or a -1 for '
            f"each process on the CPU, found {devices}"
        )
    if workers.size < 2:
        raise ConfigurationError('config key "distributed" is for two processes or more; leave it out for one')
    check_range('config key "distributed.timeout"', workers.timeout, least=1)


def _check_path(key: str, path: Any, source: Optional[str]) -> None:
    """Checks that a plain path of data exists. Only the reader knows about other paths, such as patterns."""
    is_given = path != "" and (path is not None or key != "train_data_path")
    check_that(is_given, f'config key "{key}"', "the path of data", path)
    if not isinstance(path, str) or not re.fullmatch(r"[\w./~+=@% -]+", path) or os.path.exists(user_path(path)):
        return
    raise ConfigurationError(
        f"{place_of(key, path, source)}: there is no file or folder {path}; put the data there (see data/README.md), "
        "or correct the path"
    )


def _check_keys(
    prefix: str,
    cls: type,
    found: dict[str, Any],
    parameters: dict[str, inspect.Parameter],
    open_ended: bool = False,
    later: bool = False,
    also: Iterable[str] = (),
) -> None:
    """
    Checks the keys and values of one object.

    # Parameters

    prefix : `str`
        The key of the object with a final dot; empty for the whole config.
    cls : `type`
        The class that is constructed from the object.
    found : `dict[str, Any]`
        The object.
    parameters : `dict[str, inspect.Parameter]`
        The parameters of the constructor.
    open_ended : `bool`, optional (default = `False`)
        Whether the constructor takes any other key.
    later : `bool`, optional (default = `False`)
        Whether the class is constructed by code, which may pass required parameters that the config lacks.
    also : `Iterable[str]`, optional
        Further names for suggestions.
    """
    known = {name for name, parameter in parameters.items() if parameter.kind is not parameter.VAR_KEYWORD} - {"self"}
    given = _GIVEN if prefix else set()
    for key in found:
        if key not in known and not open_ended:
            raise ConfigurationError(
                f'config key "{prefix}{key}" is unknown to {cls.__name__}' + suggest(key, known - given | {*also})
            )
    for name, parameter in parameters.items():
        place = f'config key "{prefix}{name}" of {cls.__name__}'
        if found.get(name) is not None:
            _check_range(place, cls, name, found[name], parameter.annotation)
            _check_value(f"{prefix}{name}", cls.__name__, parameter.annotation, found[name])
        elif name in found and not _may_be_null(parameter):
            raise ConfigurationError(f"{place} is null")
        elif name in known - found.keys() - given and parameter.default is parameter.empty and not later:
            raise ConfigurationError(f"{place} is missing")


def _may_be_null(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    # A parameter without an annotation, or with one that is a string, may be anything.
    anything = annotation in (parameter.empty, Any) or isinstance(annotation, str)
    return anything or parameter.default is None or type(None) in get_args(annotation)


def _check_range(place: str, cls: type, name: str, found: Any, annotation: Any) -> None:
    if cls.__module__.split(".")[0] not in _RANGED:
        return
    if name in _FROM_ZERO and type(found) in (int, float):
        check_range(place, found, least=0)
    for value in found if isinstance(found, list) else [found]:
        if name in _FROM_ONE and int in (get_args(annotation) or (annotation,)) and type(value) is int:
            check_range(place, value, least=1)
        if name in _SHARES and type(value) in (int, float):
            check_range(place, value, least=0, below=1)


def _check_value(key: str, whose: str, annotation: Any, found: Any) -> None:
    """Checks one value against the annotation from which AllenNLP would construct it."""
    place, origin, kinds = f'config key "{key}" of {whose}', get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        _check_one_of(key, whose, [kind for kind in kinds if kind is not type(None)], found)
    elif origin is Lazy or (inspect.isclass(annotation) and hasattr(annotation, "from_params")):
        _check_part(key, whose, kinds[0] if origin is Lazy else annotation, found, later=origin is Lazy)
    elif origin in (list, set, tuple):
        _check_list(key, whose, annotation, found)
    elif origin is dict:
        check_that(isinstance(found, dict), place, "an object", found)
        for name, value in found.items():
            _check_value(f"{key}.{name}", whose, kinds[1], value)
    elif annotation is int and isinstance(found, bool):
        raise ConfigurationError(f"{place} must not be true or false, found {found!r}")
    elif annotation in _KINDS:
        check_that(type(found) in _KINDS[annotation][1], place, _KINDS[annotation][0], found)


# The types that AllenNLP accepts for a simple annotation, with their description.
_KINDS: dict[Any, tuple[str, tuple[type, ...]]] = {
    int: ("a whole number", (int,)),
    bool: ("true or false", (bool, int)),
    str: ("a string", (str,)),
    float: ("a number", (int, float)),
}


def _check_one_of(key: str, whose: str, kinds: list[Any], found: Any) -> None:
    if isinstance(found, bool) and int in kinds and bool not in kinds:
        kinds = [int]
    errors = []
    for kind in kinds:
        try:
            return _check_value(key, whose, kind, found)
        except ConfigurationError as error:
            errors.append(error)
    # Errors about a key inside the value say more than errors about its type.
    inside = [error for error in errors if not str(error).startswith(f'config key "{key}" of {whose}')]
    if inside or len(errors) == 1:
        raise (inside or errors)[0]
    wanted = [str(error).partition(" must be ")[2].partition(", found")[0] for error in errors]
    raise ConfigurationError(f'config key "{key}" of {whose} must be {" or ".join(wanted)}, found {found!r}')


def _check_list(key: str, whose: str, annotation: Any, found: Any) -> None:
    place, kinds = f'config key "{key}" of {whose}', get_args(annotation)
    check_that(isinstance(found, (list, tuple)), place, "a list", found)
    several = get_origin(annotation) is tuple and ... not in kinds
    check_that(not several or len(found) == len(kinds), place, f"a list of {len(kinds)}", found)
    for place_in_list, item in enumerate(found):
        kind = kinds[place_in_list] if several else kinds[0]
        if not several or isinstance(item, str) == (get_origin(kind) is list):
            # AllenNLP annotates the object of a parameter group as a list.
            _check_value(key if several else f"{key}.{place_in_list}", whose, kind, item)


def _check_part(key: str, whose: str, cls: Any, found: Any, later: bool) -> None:
    """Checks the object from which a class is constructed, now or `later`, or a string with its `type`."""
    if isinstance(found, str):
        found = {"type": found}
    place = f'config key "{key}" of {whose}'
    check_that(isinstance(found, dict), place, "an object", found)
    if "_pretrained" in found:
        return
    constructor = cls.__init__
    if cls in Registrable._registry:
        name = found.get("type", cls.default_implementation)
        if name is None:
            raise ConfigurationError(f'{place} must have a "type", found {abbreviate(found)}')
        check_that(isinstance(name, str), f'config key "{key}.type"', "a name", name)
        if name not in Registrable._registry[cls] and "." not in name:
            raise ConfigurationError(
                f'config key "{key}.type": "{name}" is not a registered name' + suggest(name, cls.list_available())
            )
        cls, by = cls.resolve_class_name(name)
        constructor = getattr(cls, by) if by else getattr(cls, "__init__", None)
        found = {name: value for name, value in found.items() if name != "type"}
    if inspect.isclass(cls) and hasattr(cls, "from_params"):
        parameters, open_ended = _parameters(cls, constructor)
        _check_keys(f"{key}.", cls, found, parameters, open_ended, later)
    if cls is Embedding and found.get("pretrained_file") is not None:
        path = parse_embeddings_file_uri(found["pretrained_file"])[0]
        if "://" not in path and not os.path.isfile(os.path.expanduser(path)):
            raise ConfigurationError(f'config key "{key}.pretrained_file": there is no file {path} of word vectors')


def _parameters(cls: type, constructor: Any) -> tuple[dict[str, inspect.Parameter], bool]:
    """The parameters of a constructor, with those that its `**kwargs` take, and whether it takes any other key."""
    if constructor is object.__init__:
        return {}, False
    parameters = infer_params(cls, constructor)
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return parameters, False
    if issubclass(cls, Trainer):
        # The keys that the constructor passes on are parameters of `__init__`; `run_sanity_checks` is the one old name
        # that AllenNLP still looks for in its `**kwargs`.
        old = inspect.Parameter("run_sanity_checks", inspect.Parameter.KEYWORD_ONLY, default=None)
        parameters = {**infer_params(cls), "run_sanity_checks": old, **parameters}
        return {name: found for name, found in parameters.items() if name not in _OF_WORKERS}, False
    # In these packages, `**kwargs` go to the base class, as AllenNLP assumes.
    bases = (base for base in cls.mro()[1:] if hasattr(base, "from_params") and base is not Registrable)
    base: Any = next(bases, None)
    if base is None or base.__init__ is object.__init__ or cls.__module__.split(".")[0] not in _RANGED:
        return parameters, True
    return parameters, _parameters(base, base.__init__)[1]


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the sub-command `check`."""
    about = (
        "Look for mistakes in a config, such as unknown keys and wrong values, and in the beginnings of its data. No "
        "net is built."
    )
    parser = subparsers.add_parser("check", help="Look for mistakes in a config.", description=about)
    parser.add_argument("config", help="a file of jsonnet, as `seal train` takes it")
    parser.add_argument("-o", "--overrides", default="", help="JSON: settings in the place of the config's")
    parser.add_argument(
        "--no-data", action="store_true", help="do not read the data, which takes three seconds at most"
    )
    parser.set_defaults(func=_check)
    return parser


def _check(args: argparse.Namespace) -> None:
    config = read_config(args.config, args.overrides)
    check(config, args.config)
    read = "" if args.no_data else f" (read: {'; '.join(check_data(config))})"
    print(f"{args.config}: no mistake found{read}")
