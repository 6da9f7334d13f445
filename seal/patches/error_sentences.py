"""
The sentence that reports a user's mistake, made from the error that it led to. Each family of errors has a function.
"""

import errno
import os
import re
import socket
import sys
import textwrap
import traceback
from typing import Any, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data.data_loaders.multiprocess_data_loader import WorkerError
from allennlp.models.archival import CONFIG_NAME
from torch.multiprocessing import ProcessExitedException, ProcessRaisedException

from seal.common.trained_models import ARCHIVE_ERRORS
from seal.patches.config_keys import suggest

# The modules that read a config: a built-in error that is raised in one of them is about the text of the config.
_CONFIG_MODULES = (
    "allennlp.common.params",
    "allennlp.common.from_params",
    "_jsonnet",
    "seal.patches.config_keys",
    "seal.patches.whole_configs",
)

# Functions of AllenNLP that write a file, each with its local variable that names it.
_WRITERS = {
    ("allennlp.common.util", "dump_metrics"): "file_path",
    ("allennlp.evaluation.evaluator", "__call__"): "predictions_output_file",
}

# Functions of AllenNLP that weight the losses of batches, each with what tells it by which number.
_WEIGHTING = {
    ("allennlp.evaluation.evaluator", "__call__"): "--batch-weight-key",
    ("allennlp.training.util", "evaluate"): 'config key "batch_weight_key"',
}

# Names of functions that a constructor's error passes: the constructor, and comprehensions and checks in it.
_IN_CONSTRUCTORS = re.compile(r"__init__|<listcomp>|_?check_\w+")

# The function of AllenNLP that builds a part of a config.
_BUILDS = ("allennlp.common.from_params", "from_params")

# (module, function, local variables) of frames.
Frames = list[tuple[str, str, dict]]

# torch raises errors of nearly any type at a file that holds no weights; these types mean that the cause is another.
_NOT_OF_WEIGHTS = (OSError, MemoryError, KeyboardInterrupt, SystemExit, torch.cuda.OutOfMemoryError)


def frames_of(error: BaseException) -> Frames:
    """The frames that the error passed through, outermost first, without those by which a patch calls its original."""
    frames = [
        (frame.f_globals.get("__name__", ""), frame.f_code.co_name, frame.f_locals)
        for frame, _ in traceback.walk_tb(error.__traceback__)
    ]
    return [frame for frame in frames if frame[:2] != ("seal.patches.replacing", "patched")]


def _innermost(frames: Frames) -> str:
    """The module in which the error was raised."""
    return frames[-1][0] if frames else ""


def _one_line(text: Any) -> str:
    return " ".join(str(text).split())


def _place(frames: Frames) -> str:
    """The key of the innermost part of a config that was being built; empty where there is none."""
    built = [variables["params"] for module, name, variables in frames if (module, name) == _BUILDS]
    places = [params.history for params in built if hasattr(params, "history")]
    return places[-1].rstrip(".") if places else ""


def _constructed_place(frames: Frames) -> str:
    """The key of the part of a config whose constructor raised the error; empty where no constructor did."""
    frames = list(frames)
    # All frames that the error passed before `from_params` must be of constructors.
    while frames and _IN_CONSTRUCTORS.fullmatch(frames[-1][1]):
        frames.pop()
    return _place(frames) if frames and frames[-1][:2] == _BUILDS else ""


def _named(place: str, error: BaseException) -> str:
    return f'config key "{place}": {_one_line(error)}' if place else _one_line(error)


def _configuration(error: BaseException, frames: Frames) -> Optional[str]:
    """The message of an error that AllenNLP or seal raised about a config."""
    if not isinstance(error, ConfigurationError):
        return None
    sentence = _one_line(error)
    if sentence.startswith("Experiment specified a GPU but none is available"):
        trains = any(module == "allennlp.commands.train" for module, _, _ in frames)
        remedy = """add --overrides '{"trainer.cuda_device": -1}'""" if trains else "leave --cuda-device out"
        return f"there is no GPU here; for the CPU {remedy}"
    # For an argument of several possible types, AllenNLP gives the reason why each failed only in the chain of causes.
    if sentence.startswith("Failed to construct argument") and error.__cause__ is not None:
        sentence = f"{sentence.rstrip('.')}: {_one_line(error.__cause__)}"
    # A class knows the name of its part, as in "encoder.dropout: ...", and not which of two encoders it is.
    place = _constructed_place(frames)
    part = place.rpartition(".")[2]
    return place + sentence[len(part) :] if part and re.match(rf"{re.escape(part)}[.:]", sentence) else sentence


def _worker(error: BaseException, frames: Frames) -> Optional[str]:
    """The sentence of a user's mistake that reached this process only as the text of a worker's traceback."""
    if isinstance(error, ProcessRaisedException):
        text = str(error)
    elif isinstance(error, WorkerError):
        text = textwrap.dedent(str(error).partition("\n\n")[2])
    else:
        return None
    # The last unindented `module.Class: message` is the error that ended the worker.
    endings = list(re.finditer(r"^([A-Za-z_][\w.]*): (.*)", text, flags=re.MULTILINE))
    if not endings:
        return None
    module, _, name = endings[-1][1].rpartition(".")
    kind = getattr(sys.modules.get(module or "builtins"), name, None)
    if isinstance(kind, type) and issubclass(kind, (ConfigurationError, FileNotFoundError)):
        return _one_line(text[endings[-1].start(2) :])
    return None


def _worker_killed(error: BaseException, frames: Frames) -> Optional[str]:
    """The sentence for a worker of a distributed run that something has ended."""
    if not isinstance(error, ProcessExitedException):
        return None
    how = f"killed by {error.signal_name}" if error.signal_name else f"ended with status {error.exit_code}"
    node = [variables["node_rank"] for _, _, variables in frames if "node_rank" in variables]
    which = f" of node {node[0]}" if node and node[0] else ""
    return f"worker {error.error_index}{which} on {socket.gethostname()} was {how}; --recover continues the run"


def _weights(error: BaseException, frames: Frames) -> Optional[str]:
    """The sentence for weights that cannot be read, or that do not fit the model."""
    if isinstance(error, _NOT_OF_WEIGHTS):
        return None
    for module, name, variables in frames:
        if module == "allennlp.nn.util" and name == "read_state_dict":
            return f"{variables['path']} is not a file of weights"
        if module == "allennlp.models.model" and name == "_load" and "loading state" in str(error):
            missing, unexpected = (variables.get(f"{kind}_keys", []) for kind in ("missing", "unexpected"))
            first = [*missing, *unexpected, ""][0]
            found = f'{len(missing)} missing, {len(unexpected)} unexpected, "{first}" the first'
            # Where a size differs, torch itself has raised.
            sizes = re.search(r"size mismatch for .*", str(error))
            told = sizes[0].rstrip(".") if sizes else found
            return f"the weights do not fit the config (see --overrides and --weights-file): {told}"
    return None


def _archive(error: BaseException, frames: Frames) -> Optional[str]:
    """The sentence for a model archive that cannot be unpacked."""
    if not isinstance(error, ARCHIVE_ERRORS):
        return None
    for _, name, variables in frames:
        # The frame of a wrapper, as `seal.patches.evaluating` has one, may have its arguments by other names.
        if name == "load_archive" and "archive_file" in variables:
            return f"{variables['archive_file']} is not a model archive (.tar.gz): {_one_line(error)}"
    return None


def _package(error: BaseException, frames: Frames) -> Optional[str]:
    """The sentence for a package of the command line that does not exist."""
    if not isinstance(error, ModuleNotFoundError):
        return None
    named = [variables["package_name"] for _, name, variables in frames if name == "import_module_and_submodules"]
    return f"--include-package {error.name}: there is no such package" if error.name in named else None


def _predictor_arguments(error: BaseException, frames: Frames) -> Optional[str]:
    """The sentence for `--predictor-args` that are not an object, or that give what the command gives itself."""
    given = [v["predictor_args"] for _, name, v in frames if name == "_get_predictor" and "predictor_args" in v]
    if not given:
        return None
    if isinstance(error, (TypeError, ValueError)) and not isinstance(given[0], dict):
        # Text that could not be read has a reason; another value was read, and is none.
        reason = f" ({_one_line(error)})" if isinstance(error, ValueError) else ""
        return f"--predictor-args must be a JSON object, found {_one_line(given[0])}{reason}"
    if isinstance(error, TypeError) and "got multiple values for argument" in str(error):
        return f"--predictor-args: {str(error).split()[-1]} is given already; leave it out"
    return None


def _file(error: BaseException, frames: Frames) -> Optional[str]:
    """The sentence for a file that cannot be read or written."""
    if not isinstance(error, OSError):
        return None
    if error.filename is not None:
        return f"{error.filename}: {error.strerror or _one_line(error)}"
    # An error in writing, such as one of a full disk, does not have the name of the file.
    module, name, variables = frames[-1] if frames else ("", "", {})
    if (module, name) in _WRITERS:
        return f"{variables[_WRITERS[module, name]]}: the file cannot be written ({error.strerror or _one_line(error)})"
    if _innermost(frames).startswith("transformers."):
        return _named(_place(frames), error)
    if isinstance(error, FileNotFoundError):
        return _one_line(error)
    return None


def _weights_written(error: BaseException, frames: Frames) -> Optional[str]:
    """The sentence for a checkpoint or weights that cannot be written, as where the disk is full."""
    if not isinstance(error, (OSError, RuntimeError)):
        return None
    for module, name, variables in frames:
        if (module, name) == ("torch.serialization", "save") and isinstance(variables.get("f"), (str, os.PathLike)):
            full = getattr(error, "errno", None) == errno.ENOSPC or "inline_container" in str(error)
            reason = "the disk may be full" if full else _one_line(error)
            return f"{variables['f']}: the file cannot be written ({reason}); --recover continues the run"
    return None


def _batch_weight(error: BaseException, frames: Frames) -> Optional[str]:
    """The sentence for a key of the batches' weights that the model's output does not have, or not as a number."""
    place, name, variables = frames[-1] if frames else ("", "", {})
    key = variables.get("batch_weight_key") if (place, name) in _WEIGHTING else None
    output = variables.get("output_dict")
    if not key or not isinstance(output, dict):
        return None
    known = [name for name, value in output.items() if isinstance(value, torch.Tensor) and value.numel() == 1]
    if key in known:
        return None
    return f'{_WEIGHTING[place, name]}: the model\'s output has no number "{key}"' + suggest(key, known)


def _transformer(error: BaseException, frames: Frames) -> Optional[str]:
    """The message about a folder that has no transformer, without its list of all kinds of transformers."""
    if isinstance(error, ValueError) and _innermost(frames).startswith("transformers.models.auto."):
        return re.split(r", or contain|, one of", _one_line(error))[0].rstrip(".") + "."
    return None


def _unexpected_keyword(error: BaseException, frames: Frames) -> Optional[str]:
    """The sentence for a config key that only the constructor itself refused, because it passes its `**kwargs` on."""
    match = re.search(r"(\w+)?\.?__init__\(\) got an unexpected keyword argument '(\w+)'", str(error))
    if match is None or not isinstance(error, TypeError):
        return None
    for module, _, variables in frames:
        if module == "allennlp.common.from_params" and match[2] in (variables.get("kwargs") or {}):
            place = getattr(variables.get("params"), "history", "")
            return f'config key "{place}{match[2]}" is unknown to {variables["cls"].__name__}'
    return None


def _batch(error: BaseException, frames: Frames) -> Optional[str]:
    """The sentence for a model that cannot read what the reader gives: the two are of different tasks."""
    match = re.search(
        r"(\w+)\.task_state\(\) (got an unexpected keyword argument|missing \d+ required positional arguments?:) "
        r"'(\w+)'",
        str(error),
    )
    if match is None or not isinstance(error, TypeError):
        return None
    given = match[2].startswith("got")
    read, gives = ("does not read", "gives") if given else ("needs", "does not give")
    return f'model.type: {match[1]} {read} "{match[3]}", which dataset_reader {gives}; take both from one task'


def _number(error: BaseException, frames: Frames) -> Optional[str]:
    """The sentence for a config value that is not a number, or not a truth value, where one is read."""
    if not isinstance(error, ValueError) or not frames or frames[-1][1] not in ("pop_int", "pop_float", "pop_bool"):
        return None
    variables = frames[-1][2]
    return f'config key "{variables["self"].history}{variables["key"]}": {_one_line(error)}'


def _constructor(error: BaseException, frames: Frames) -> Optional[str]:
    """The message of a class of the config that refuses a value in its constructor, with the place in the config."""
    # `io.UnsupportedOperation` is an error of both types, and about a file.
    if not isinstance(error, ValueError) or isinstance(error, OSError):
        return None
    place = _constructed_place(frames)
    return _named(place, error) if place else None


def _config_text(error: BaseException, frames: Frames) -> Optional[str]:
    """The sentence for any other error in reading a config: mostly jsonnet's, as `file:line:column: message`."""
    if _innermost(frames) not in _CONFIG_MODULES or not isinstance(error, (RuntimeError, TypeError, ValueError)):
        return None
    text = str(error)
    if "ERROR: " not in text[:20]:
        return _one_line(text)
    # jsonnet's report is the message, then one line a stack frame.
    kind, _, message = text.partition(": ")
    if kind == "RUNTIME ERROR":
        message, _, stack = message.partition("\n")
        place = stack.split("\n")[0].strip().split("\t")[0]
        message = f"{place}: {message}" if place else message
    # Text from the command line has no file name before its line number.
    if re.match(r":?\d+:\d+", message):
        message = f"--overrides, at {message.lstrip(':')}"
    return _one_line(message)


def _missing_key(error: BaseException, frames: Frames) -> Optional[str]:
    """The sentence for a config key that is missing."""
    if _innermost(frames) not in _CONFIG_MODULES or not isinstance(error, KeyError):
        return None
    place = getattr(frames[-1][2].get("self"), "history", "")
    return f'config key "{place}{error.args[0]}" is missing'


# Each has the sentence for one family of mistakes, or `None`. The first sentence counts.
_FAMILIES = (
    _configuration,
    _worker,
    _worker_killed,
    _weights,
    _archive,
    _package,
    _predictor_arguments,
    _weights_written,
    _file,
    _batch_weight,
    _transformer,
    _unexpected_keyword,
    _batch,
    _number,
    _constructor,
    _config_text,
    _missing_key,
)


def describe(error: BaseException) -> Optional[str]:
    """
    The sentence for a mistake that the user can correct: in a config, a file's name or place, or an archive.

    # Parameters

    error : `BaseException`
        The exception, with its traceback.

    # Returns

    sentence : `Optional[str]`
        One line without the leading `error: `, or `None` where the error is not the user's and needs its
        traceback.
    """
    frames = frames_of(error)
    for sentence_of in _FAMILIES:
        sentence = sentence_of(error, frames)
        if sentence is not None:
            return sentence
    return None


def describe_stop(error: BaseException) -> str:
    """
    What is told when a command is stopped from outside.

    # Parameters

    error : `BaseException`
        The exception that the signal raised, with its traceback.

    # Returns

    sentence : `str`
        One line; for a training run, with what continues it.
    """
    for module, name, variables in frames_of(error):
        if (module, name) == ("allennlp.commands.train", "train_model") and "serialization_dir" in variables:
            if variables["dry_run"] or not os.path.exists(os.path.join(variables["serialization_dir"], CONFIG_NAME)):
                break
            if variables["recover"]:
                return "stopped; the same command continues the run"
            place = " in the place of --force" if variables["force"] else ""
            return f"stopped; the same command with --recover{place} continues the run"
    return "stopped"
