"""
Checks of a config as a whole, before any of its parts is built: it must be an object, the settings that AllenNLP reads
first must be right, and it must be the config of the run or trained model with which it is used.

A mistake is reported in a sentence that names the key, as in `seal/allennlp/config_keys.py`.
"""

import ast
import inspect
import json
import logging
import os
import re
from typing import Any, Optional

import torch
from allennlp.commands import train
from allennlp.common import params as allennlp_params
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import Params
from allennlp.models import archival
from allennlp.training import util as training_util

from seal.allennlp.config_keys import READ_BEFORE
from seal.allennlp.replacing import replace_once
from seal.allennlp.safe_archives import config_of_archive
from seal.common.setting_checks import short, suggest, whole_number

logger = logging.getLogger(__name__)

# The splits whose data a vocabulary may be made from.
_SPLITS = ("train", "validation", "test")
# The keys of `distributed` that AllenNLP reads.
_OF_WORKERS = ("cuda_devices", "ddp_accelerator", "num_nodes", "primary_address", "primary_port", "timeout")


def _check_workers(workers: dict[str, Any]) -> None:
    for key in workers:
        if key not in _OF_WORKERS:
            raise ConfigurationError(f'config key "distributed.{key}" is unknown' + suggest(key, _OF_WORKERS))
    devices, nodes = workers["cuda_devices"], workers.get("num_nodes", 1)
    if any(device < 0 for device in devices) and set(devices) != {-1}:
        raise ConfigurationError(
            'config key "distributed.cuda_devices" must have numbers of GPUs, or a -1 for each process on the CPU, '
            f"found {devices}"
        )
    if type(nodes) is not int or nodes < 1:
        raise ConfigurationError(f'config key "distributed.num_nodes" must be at least 1, found {nodes!r}')
    there = torch.cuda.device_count()
    if max(devices, default=-1) >= there:
        raise ConfigurationError(
            f'config key "distributed.cuda_devices": there is no GPU {max(devices)} here, whose GPUs are {there}; to '
            "train on the CPU, give a -1 for each process"
        )


def check_settings_read_before() -> None:
    """
    Patches: `allennlp.commands.train.train_model`.

    Symptom: a seed that is not a whole number from 0 to 2**32 - 1 ends in a traceback of numpy or torch, or is cut to
    one. `distributed` that is not an object ends in a traceback of AllenNLP. The error for `distributed` without
    `cuda_devices` does not name that key, one for a GPU that is not there names another, and a misspelt key in it is
    ignored. `evaluate_on_test` without a `test_data_path` is ignored. With a `validation_dataset_reader` of `null` the
    trained model has no reader for evaluation. For a wrong split in `datasets_for_vocab_creation` the error names a key
    that does not exist, and not the split.

    Can go: when AllenNLP checks what it takes out of the config before anything is built.
    """

    def train_model(original, params, *args, **kwargs):
        for key in ("random_seed", "numpy_seed", "pytorch_seed"):
            seed = params.get(key)
            # AllenNLP also accepts a seed that is a string, as an environment variable read by std.extVar is.
            number = seed if type(seed) is int else whole_number(str(seed))
            if seed is not None and (number is None or not 0 <= number < 2**32):
                raise ConfigurationError(
                    f'config key "{key}" must be a whole number from 0 to {2**32 - 1}, found {short(seed)}'
                )
        workers = params.params.get("distributed")
        devices = workers.get("cuda_devices") if isinstance(workers, dict) else None
        several = isinstance(devices, list) and all(type(device) is int for device in devices)
        if workers is not None and not several:
            raise ConfigurationError(
                'config key "distributed" must be an object with "cuda_devices", a list of numbers of GPUs, or '
                f"of a -1 for each process on the CPU, found {workers!r}"
            )
        if workers is not None:
            _check_workers(workers)
        splits = params.get("datasets_for_vocab_creation") or ()
        for split in splits if isinstance(splits, list) else ():
            if split not in _SPLITS:
                raise ConfigurationError(
                    f'config key "datasets_for_vocab_creation" must name some of {", ".join(_SPLITS)}, found {split!r}'
                )
        if "validation_dataset_reader" in params and params.get("validation_dataset_reader") is None:
            raise ConfigurationError(
                'config key "validation_dataset_reader" is null; leave it out, and dataset_reader reads validation '
                "data, too"
            )
        if params.get("evaluate_on_test") and params.get("test_data_path") is None:
            raise ConfigurationError('config key "evaluate_on_test" needs a "test_data_path", and there is none')
        return original(params, *args, **kwargs)

    replace_once(train, "train_model", train_model)


def _differing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """The keys that only one of the two has, or whose values differ."""
    return [key for key in sorted({**one, **other}) if not (key in one and key in other and one[key] == other[key])]


def explain_folders_of_other_runs() -> None:
    """
    Patches: `allennlp.training.util.create_serialization_dir`.

    Symptom: `--recover` with another config than the run's ends in a traceback where the run's config lacks a key, and
    otherwise in an error without the keys that differ. A run whose config was refused leaves a folder, and the error
    for the corrected config names `--recover` alone, which refuses the correction, too.

    Can go: when AllenNLP's messages name the keys and `--force`.
    """

    def create_serialization_dir(original, params, serialization_dir, recover, force):
        path = os.path.join(serialization_dir, archival.CONFIG_NAME)
        if recover and not force and os.path.exists(path):
            keys = _differing(params.as_flat_dict(), Params.from_file(path).as_flat_dict())
            if keys:
                named = ", ".join(f'"{key}"' for key in keys[:3])
                further = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
                raise ConfigurationError(
                    f"--recover: the config must be that of the run, {path}; it differs in {named}{further}"
                )
        if not recover and not force and os.path.isdir(serialization_dir) and os.listdir(serialization_dir):
            raise ConfigurationError(
                f"-s {serialization_dir}: the folder is not empty; --force empties it and starts anew, --recover "
                "continues a run that was stopped"
            )
        return original(params, serialization_dir, recover, force)

    replace_once(training_util, "create_serialization_dir", create_serialization_dir)


def check_that_configs_are_objects() -> None:
    """
    Patches: `allennlp.common.params.evaluate_file` and `parse_overrides`.

    Symptom: a folder in the place of a config ends the process at once. A config or overrides that are not an object
    end in a traceback, in an error about Python's types, or are ignored where they are empty; what jsonnet refuses ends
    in a traceback. Overrides in another form (`trainer.num_epochs=5`) end in jsonnet's message.

    Can go: when AllenNLP checks what it reads.
    """

    def evaluate_file(original, filename, *args, **kwargs):
        if os.path.isdir(filename):
            raise ConfigurationError(f"{filename}: a config is a file, and this is a folder")
        text = config_of_archive(filename)
        try:
            # Of an archive it was found to be JSON when it was unpacked, and is not evaluated.
            text = original(filename, *args, **kwargs) if text is None else text
        except (RuntimeError, ValueError) as error:
            raise ConfigurationError(_of_jsonnet(error)) from error
        found = json.loads(text)
        if not isinstance(found, dict):
            raise ConfigurationError(f"{filename}: a config must be an object, found {found!r}")
        return text

    def parse_overrides(original, text, *args, **kwargs):
        try:
            found = original(text, *args, **kwargs)
        except (RuntimeError, ValueError) as error:
            meant = _as_json(text)
            if meant is None and text.lstrip().startswith("{"):
                raise ConfigurationError(_of_jsonnet(error)) from error
            example = meant or '{"trainer.num_epochs": 5}'
            such_as = "" if meant else "such as "
            raise ConfigurationError(f"--overrides must be a JSON object, {such_as}'{example}', found {text}") from None
        if not isinstance(found, dict):
            raise ConfigurationError(f"--overrides must be an object, found {found!r}")
        return found

    replace_once(allennlp_params, "evaluate_file", evaluate_file)
    replace_once(allennlp_params, "parse_overrides", parse_overrides)


def _of_jsonnet(error: Exception) -> str:
    """Jsonnet's report as `file:line:column: message`. It has the message, and then a line for each stack frame."""
    kind, _, message = str(error).partition("ERROR: ")
    if not message:
        return kind
    if kind == "RUNTIME ":
        message, _, stack = message.partition("\n")
        place = stack.split("\n")[0].strip().split("\t")[0]
        message = f"{place}: {message}" if place else message
    # Text from the command line has no file name before its line number.
    return f"--overrides, at {message.lstrip(':')}" if re.match(r":?\d+:\d+", message) else message


# `key=value`, with a value that is a word or in brackets or quotes.
_PAIR = r"""([\w.]+)\s*=\s*("[^"]*"|'[^']*'|\[[^\]]*\]|\{[^}]*\}|[^\s,]+)"""


def _as_json(text: str) -> Optional[str]:
    """What overrides in another form mean: `key=value` pairs, an object of Python, keys without quotes."""
    pairs = re.compile(_PAIR)
    if pairs.sub("", text).strip(" ,") == "" and "=" in text:
        return json.dumps({key: _value(value) for key, value in pairs.findall(text)})
    try:
        found = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        try:
            found = json.loads(re.sub(r"([{,]\s*)([\w.]+)(\s*:)", r'\1"\2"\3', text))
        except ValueError:
            return None
    return json.dumps(found) if isinstance(found, dict) else None


def _value(text: str) -> Any:
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (SyntaxError, ValueError):
            pass
    return text


def tell_what_overrides_miss() -> None:
    """
    Patches: `allennlp.common.params.with_overrides`.

    Symptom: overrides of what the config does not have end in a traceback. A list of callbacks in `--overrides` takes
    the place of the config's, and with `tune_thresholds` the scores at tuned thresholds disappear without a word.

    Can go: when AllenNLP refuses such keys in a sentence, and has a way to add to a list.
    """

    def with_overrides(original, config, overrides, *args, **kwargs):
        try:
            result = original(config, overrides, *args, **kwargs)
        except ValueError as error:
            raise ConfigurationError(str(error)) from error
        if isinstance(config, dict) and "trainer" in config:
            now = _callbacks(result)
            dropped = [name for name in _callbacks(config) if name not in now]
            if dropped:
                logger.warning(
                    "--overrides: its trainer.callbacks replaces the config's list and drops '%s'; name it in yours to "
                    "keep it",
                    "', '".join(dropped),
                )
        return result

    replace_once(allennlp_params, "with_overrides", with_overrides)


def _callbacks(config: dict[str, Any]) -> list[str]:
    trainer = config.get("trainer")
    callbacks = trainer.get("callbacks") if isinstance(trainer, dict) else None
    named = [item.get("type") if isinstance(item, dict) else item for item in callbacks or ()]
    return [name for name in named if isinstance(name, str)]


# The parts of its config that loading a trained model reads, and the types that each may have.
_PARTS = {
    "dataset_reader": dict,
    "validation_dataset_reader": (dict, str),
    "vocabulary": dict,
    "model": (dict, str),
    "data_loader": (dict, str),
    "validation_data_loader": (dict, str, type(None)),
}


def check_overrides_of_trained_models() -> None:
    """
    Patches: `allennlp.models.archival._load_dataset_readers`.

    Symptom: overrides of a trained model that put a list, a number or `null` in the place of a part end in a
    traceback, or in an error without the part's key. A misspelt key in them is ignored.

    Can go: when AllenNLP checks the config of a trained model as it checks that of a training run.
    """

    def _load_dataset_readers(original, config, serialization_dir):
        for key, kinds in _PARTS.items():
            found = config.params.get(key)
            if key in config and not isinstance(found, kinds):
                raise ConfigurationError(f'config key "{key}" must be an object, found {json.dumps(found)}')
        model = config.params.get("model")
        if isinstance(model, dict) and "type" not in model:
            raise ConfigurationError('config key "model.type" is missing')
        with open(os.path.join(serialization_dir, archival.CONFIG_NAME), encoding="utf-8") as trained:
            added = set(config.params) - set(json.load(trained))
        known = set(inspect.signature(train.TrainModel.from_partial_objects).parameters)
        known = known - {"serialization_dir", "local_rank"} | READ_BEFORE | {"type", "evaluation"}
        for key in sorted(added - known):
            raise ConfigurationError(f'config key "{key}" of --overrides is unknown' + suggest(key, known))
        return original(config, serialization_dir)

    replace_once(archival, "_load_dataset_readers", _load_dataset_readers)


PATCHES = (
    check_settings_read_before,
    explain_folders_of_other_runs,
    check_that_configs_are_objects,
    tell_what_overrides_miss,
    check_overrides_of_trained_models,
)
