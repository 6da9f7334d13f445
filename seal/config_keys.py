"""
A wrong config ends in a sentence that names the key and its place, what was found and what was meant.

AllenNLP's `FromParams` reads the config; the functions here replace what it says, and some of its silences. Each
docstring has the upstream name, the symptom without it and the condition under which it can go, as in
`seal/compat.py`.
"""

import difflib
import inspect
import itertools
import re
from types import UnionType
from typing import Any, Callable, Iterable, Union, get_args, get_origin

from allennlp.common import Lazy, from_params
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import Params
from allennlp.modules.token_embedders import embedding
from allennlp.training.metric_tracker import MetricTracker
from allennlp.training.trainer import Trainer

from seal.compat import replace_once


def suggest(wrong: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?`, or the known names where none is close and they are few."""
    known = sorted(map(str, known))
    close = difflib.get_close_matches(str(wrong), known, n=1)
    if close:
        return f'; did you mean "{close[0]}"?'
    if 0 < len(known) <= 20:
        return f"; choose from: {', '.join(known)}"
    return ""


# Keys of the whole config that AllenNLP takes out before anything is built.
READ_BEFORE = {"random_seed", "numpy_seed", "pytorch_seed", "distributed"}


def _may_be_null(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    # What is not annotated, or only in words, may be anything.
    untold = annotation in (parameter.empty, Any) or isinstance(annotation, str)
    return untold or parameter.default is None or type(None) in get_args(annotation)


def refuse_unknown_config_keys() -> None:
    """
    Mends: `allennlp.common.from_params.create_kwargs`.

    Symptom: a misspelt key of a trainer (`num_epoch`) is swallowed by the trainer's `**kwargs` and training
    runs with the default; elsewhere the message names neither the key's place in the config nor the key that
    was meant, and a misspelt required key is reported as missing. A `null` that the constructor has no use for
    is handed to it all the same, and a `serialization_dir` takes the place of the command line's, half of the
    time. Checked before anything is built.

    Can go: when AllenNLP's trainer has no `**kwargs` and its message names the key's place.
    """

    def make(original: Callable) -> Callable:
        def create_kwargs(constructor, cls, params, **extras):
            parameters = from_params.infer_params(cls, constructor)
            open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
            if open_ended and inspect.isclass(cls) and issubclass(cls, Trainer):
                # The keys that the constructor hands on end in `__init__`; `run_sanity_checks` is the one old
                # name that AllenNLP still looks for in its `**kwargs`.
                parameters = {**from_params.infer_params(cls), **parameters, "run_sanity_checks": None}
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
            if not params.history and "serialization_dir" in params and "serialization_dir" in extras:
                raise ConfigurationError('config key "serialization_dir": the command line says where, with -s')
            return original(constructor, cls, params, **extras)

        return create_kwargs

    replace_once(from_params, "create_kwargs", make)


# AllenNLP's words for what it expected, in plain ones.
_KINDS = {"a int": "a whole number", "a bool": "true or false", "numeric": "a number"}


# What counts from 1, wherever it stands: AllenNLP takes any whole number, and stumbles over it later.
_FROM_ONE = ("batch_size", "keep_most_recent_by_count", "num_epochs", "num_gradient_accumulation_steps")


def _is_built(annotation: Any) -> bool:
    """Whether AllenNLP makes this kind, and no other one than null, of an object of the config."""
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        return len(kinds) == 1 and _is_built(kinds[0])
    return get_origin(annotation) is Lazy or hasattr(annotation, "from_params")


def _value(place: str, name: str, found: Any, annotation: Any) -> Any:
    """What AllenNLP makes the same of as of `found`, and tells the place of where it is wrong."""
    if name in _FROM_ONE and type(found) is int and found < 1:
        raise ConfigurationError(f"{place} must be at least 1, found {found}")
    if get_origin(annotation) is list:
        if not isinstance(found, (list, tuple)):
            raise ConfigurationError(f"{place} must be a list, found {found!r}")
        return [_value(place, "", item, *get_args(annotation)) for item in found]
    kinds = get_args(annotation)
    if get_origin(annotation) is tuple and ... not in kinds and isinstance(found, (list, tuple)):
        if len(found) != len(kinds):
            raise ConfigurationError(f"{place} must be a list of {len(kinds)}, found {found!r}")
        for item, kind in zip(found, kinds):
            # Words alone: AllenNLP's optimizers say a list where they mean the object of a parameter group.
            if isinstance(item, str) and get_origin(kind) is list:
                raise ConfigurationError(f"{place} must be a list, found {item!r}")
    if _is_built(annotation):
        if isinstance(found, (list, int, float)):
            raise ConfigurationError(f"{place} must be an object, found {found!r}")
        # A name alone has no place.
        if isinstance(found, str):
            return {"type": found}
    # Jsonnet writes 1e300 with all its zeros, a whole number that torch cannot take.
    return float(found) if annotation is float and type(found) is int else found


def name_wrong_config_values() -> None:
    """
    Mends: `allennlp.common.from_params.pop_and_construct_arg`.

    Symptom: `TypeError: Expected num_epochs to be a int.`, without the key's place and without the value
    found; and `true` for a whole number is 1. A word in the place of a list is taken letter by letter, a name
    in a list that is not registered is said to be at `type`, and what counts from 1 may be 0. Of a list that is too
    long (`betas`) the rest is dropped; one that is too short is handed on. An empty list in the place of an object is
    an empty object; a number there is answered without its key.

    Can go: when AllenNLP's message says both, and it refuses that.
    """

    def make(original: Callable) -> Callable:
        def pop_and_construct_arg(class_name, argument_name, annotation, default, params, **extras):
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
                # Only the complaint about this very argument: one from deeper down names its own.
                match = re.fullmatch(
                    rf"Expected ({re.escape(argument_name)}(?:\.\w+)*) to be (.*?)\.?", str(error)
                )
                if match is None:
                    raise
                wanted = _KINDS.get(match[2], match[2])
                raise ConfigurationError(
                    f'config key "{params.history}{match[1]}" of {class_name} must be {wanted}, '
                    f"found {found!r}"
                ) from error

        return pop_and_construct_arg

    replace_once(from_params, "pop_and_construct_arg", make)


def shorten_unknown_type_message() -> None:
    """
    Mends: `allennlp.common.params.Params.pop_choice`.

    Symptom: a misspelt `type` is answered with the list of every registered name (about 60 for a model).

    Can go: when AllenNLP suggests the name that was meant.
    """

    def make(original: Callable) -> Callable:
        def pop_choice(self, key, choices, default_to_first_choice=False, allow_class_names=True):
            value = self.params.get(key)
            if value is not None and not isinstance(value, str):
                raise ConfigurationError(f'config key "{self.history}{key}" must be a name, found {value!r}')
            try:
                return original(self, key, choices, default_to_first_choice, allow_class_names)
            except ConfigurationError as error:
                if "not in acceptable choices" not in error.message:
                    raise
                raise ConfigurationError(
                    f'config key "{self.history}{key}": "{value}" is not a registered name'
                    + suggest(value, choices)
                ) from None

        return pop_choice

    replace_once(Params, "pop_choice", make)


def name_missing_validation_metric() -> None:
    """
    Mends: `allennlp.training.metric_tracker.MetricTracker.combined_score`.

    Symptom: a `validation_metric` that the model does not report is answered, after the first epoch, without the
    key, and without the names that the model does report.

    Can go: when AllenNLP's message says both.
    """

    def make(original: Callable) -> Callable:
        def combined_score(self, metrics):
            for _, name in self.tracked_metrics:
                if name not in metrics:
                    raise ConfigurationError(
                        f'config key "trainer.validation_metric": the model did not report "{name}"'
                        + suggest(name, metrics)
                    )
            return original(self, metrics)

        return combined_score

    replace_once(MetricTracker, "combined_score", make)


def name_wrong_size_of_vectors() -> None:
    """
    Mends: `allennlp.modules.token_embedders.embedding._read_embeddings_from_text_file`.

    Symptom: where a file's vectors have another size than the config says, a warning for each of its lines, with the
    vector in it, and then a sentence that says neither size.

    Can go: when AllenNLP's message says both.
    """

    def make(original: Callable) -> Callable:
        def read(file_uri, embedding_dim, *args, **kwargs):
            with embedding.EmbeddingsTextFile(file_uri) as lines:
                # A few, as a word may have a blank in it.
                sizes = [len(line.rstrip().split(" ")) - 1 for line in itertools.islice(lines, 10)]
            if sizes and embedding_dim not in sizes:
                found = max(sizes, key=sizes.count)
                raise ConfigurationError(
                    f"{file_uri}: its vectors have {found} numbers, and embedding_dim is {embedding_dim}; set it "
                    f"(word_dim of seal's libraries) to {found}."
                )
            return original(file_uri, embedding_dim, *args, **kwargs)

        return read

    replace_once(embedding, "_read_embeddings_from_text_file", make)


MENDS = (
    refuse_unknown_config_keys,
    name_wrong_config_values,
    shorten_unknown_type_message,
    name_missing_validation_metric,
    name_wrong_size_of_vectors,
)
