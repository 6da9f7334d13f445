"""
A user's mistake on the command line ends in one sentence on standard error and exit status 1, not in a
traceback.

The sentence is `error: ...`. The traceback still goes to the run's `out.log`; set `SEAL_TRACEBACK=1` to see
it on the console too. Only exceptions that leave the `allennlp` command are handled: a script or a notebook
that imports `seal` keeps Python's tracebacks.
"""

import logging
import os
import re
import sys
import textwrap
import traceback
from types import TracebackType
from typing import Iterator, List, Optional, Tuple, Type

import torch
from allennlp.common import logging as allennlp_logging
from allennlp.common.checks import ConfigurationError
from allennlp.data.data_loaders.multiprocess_data_loader import WorkerError
from torch.multiprocessing import ProcessRaisedException

from seal.common.trained_models import ARCHIVE_ERRORS
from seal.compat import replace_once

logger = logging.getLogger(__name__)

TRACEBACK_VARIABLE = "SEAL_TRACEBACK"

# The modules that read a config: a built-in error that is raised in one of them is about the text of the config.
_CONFIG_MODULES = (
    "allennlp.common.params",
    "allennlp.common.from_params",
    "_jsonnet",
    "seal.config_keys",
    "seal.whole_configs",
)

# torch raises errors of nearly any type at a file that holds no weights; these types mean that the cause is another.
_NOT_OF_WEIGHTS = (OSError, MemoryError, KeyboardInterrupt, SystemExit, torch.cuda.OutOfMemoryError)


def _frames(error: BaseException) -> Iterator[Tuple[str, str, dict]]:
    """(module, function, local variables) of each frame that the error passed through, outermost first."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        yield frame.f_globals.get("__name__", ""), frame.f_code.co_name, frame.f_locals


def _one_line(text: str) -> str:
    return " ".join(str(text).split())


def _configuration(error: ConfigurationError) -> str:
    sentence = _one_line(error)
    # For an argument of several possible types, AllenNLP gives the reason why each failed only in the chain of causes.
    if sentence.startswith("Failed to construct argument") and error.__cause__ is not None:
        sentence = f"{sentence.rstrip('.')}: {_one_line(error.__cause__)}"
    return sentence


def _jsonnet(text: str) -> str:
    """`file:line:column: message` from jsonnet's report (the message, then one line a stack frame)."""
    kind, _, message = text.partition(": ")
    if kind == "RUNTIME ERROR":
        message, _, stack = message.partition("\n")
        place = stack.split("\n")[0].strip().split("\t")[0]
        message = f"{place}: {message}" if place else message
    # Text from the command line has no file name before its line number.
    if re.match(r":?\d+:\d+", message):
        message = f"--overrides, at {message.lstrip(':')}"
    return _one_line(message)


def _unexpected_keyword(error: TypeError) -> Optional[str]:
    """A config key that only the constructor itself refused, because it passes its `**kwargs` on."""
    match = re.search(r"(\w+)?\.?__init__\(\) got an unexpected keyword argument '(\w+)'", str(error))
    if match is None:
        return None
    for module, _, variables in _frames(error):
        if module == "allennlp.common.from_params" and match[2] in (variables.get("kwargs") or {}):
            place = getattr(variables.get("params"), "history", "")
            return f'config key "{place}{match[2]}" is unknown to {variables["cls"].__name__}'
    return None


def _constructor(error: ValueError) -> Optional[str]:
    """The message of a class of the config that refuses a value in its constructor, with the place in the config."""
    frames = list(_frames(error))
    # All frames that the error passed before `from_params` must be of constructors, or of comprehensions in them; a
    # patched constructor has a frame of `seal.compat` besides.
    while frames and (frames[-1][1] in ("__init__", "<listcomp>") or frames[-1][0] == "seal.compat"):
        frames.pop()
    module, name, variables = frames[-1] if frames else ("", "", {})
    if module == "allennlp.common.from_params" and name == "from_params":
        place = variables["params"].history.rstrip(".")
        return f'config key "{place}": {_one_line(error)}' if place else None
    return None


def _transformer(error: ValueError) -> str:
    """The message about a folder that has no transformer, without its list of all kinds of transformers."""
    return re.split(r", or contain|, one of", _one_line(error))[0].rstrip(".") + "."


def _from_worker(text: str) -> Optional[str]:
    """The sentence of a user's mistake that reached this process only as the text of a worker's traceback."""
    # The last unindented `module.Class: message` is the error that ended the worker.
    endings = list(re.finditer(r"^([A-Za-z_][\w.]*): (.*)", text, flags=re.MULTILINE))
    if not endings:
        return None
    module, _, name = endings[-1][1].rpartition(".")
    kind = getattr(sys.modules.get(module or "builtins"), name, None)
    if isinstance(kind, type) and issubclass(kind, (ConfigurationError, FileNotFoundError)):
        return _one_line(text[endings[-1].start(2) :])
    return None


def _weights(error: BaseException, frames: List[Tuple[str, str, dict]]) -> Optional[str]:
    """The sentence for weights that cannot be read, or that do not fit the model."""
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


def describe(error: BaseException) -> Optional[str]:
    """
    The sentence for a mistake that the user can correct: in a config, a file's name or place, or an archive.

    # Parameters

    error : `BaseException`
        What was raised.

    # Returns

    sentence : `Optional[str]`
        One line without the leading `error: `, or `None` where the error is not the user's and needs its
        traceback.
    """
    if isinstance(error, ConfigurationError):
        return _configuration(error)
    if isinstance(error, ProcessRaisedException):
        return _from_worker(str(error))
    if isinstance(error, WorkerError):
        return _from_worker(textwrap.dedent(str(error).partition("\n\n")[2]))
    frames = list(_frames(error))
    if not isinstance(error, _NOT_OF_WEIGHTS):
        sentence = _weights(error, frames)
        if sentence is not None:
            return sentence
    if isinstance(error, ARCHIVE_ERRORS):
        archives = [v["archive_file"] for _, name, v in frames if name == "load_archive"]
        if archives:
            return f"{archives[0]} is not a model archive (.tar.gz): {_one_line(error)}"
        inputs = [v["self"]._input_file for _, name, v in frames if name == "_get_json_data" and "self" in v]
        return f"{inputs[0]}: the file cannot be read ({_one_line(error)})" if inputs else None
    if isinstance(error, ModuleNotFoundError):
        named = [v["package_name"] for _, name, v in frames if name == "import_module_and_submodules"]
        return f"--include-package {error.name}: there is no such package" if error.name in named else None
    innermost = frames[-1][0] if frames else ""
    given = [v["predictor_args"] for _, name, v in frames if name == "_get_predictor" and "predictor_args" in v]
    if isinstance(error, (TypeError, ValueError)) and given and not isinstance(given[0], dict):
        return f"--predictor-args is not a JSON object ({_one_line(error)})"
    if isinstance(error, TypeError) and given and "got multiple values for argument" in str(error):
        return f"--predictor-args: {str(error).split()[-1]} is given already; leave it out"
    if isinstance(error, OSError):
        if error.filename is not None:
            return f"{error.filename}: {error.strerror or _one_line(error)}"
        if isinstance(error, FileNotFoundError) or innermost.startswith("transformers."):
            return _one_line(error)
        return None
    if isinstance(error, ValueError) and innermost.startswith("transformers.models.auto."):
        return _transformer(error)
    if isinstance(error, TypeError):
        sentence = _unexpected_keyword(error)
        if sentence is not None:
            return sentence
    if isinstance(error, ValueError) and frames[-1][1] in ("pop_int", "pop_float", "pop_bool"):
        place = frames[-1][2]["self"].history + frames[-1][2]["key"]
        return f'config key "{place}": {_one_line(error)}'
    if isinstance(error, ValueError):
        sentence = _constructor(error)
        if sentence is not None:
            return sentence
    if innermost in _CONFIG_MODULES and isinstance(error, (RuntimeError, TypeError, ValueError)):
        return _jsonnet(str(error)) if "ERROR: " in str(error)[:20] else _one_line(error)
    if innermost in _CONFIG_MODULES and isinstance(error, KeyError):
        place = getattr(frames[-1][2].get("self"), "history", "")
        return f'config key "{place}{error.args[0]}" is missing'
    return None


def _in_allennlp_command(error: BaseException) -> bool:
    return any(module == "allennlp.commands" and name == "main" for module, name, _ in _frames(error))


def discard_standard_output() -> None:
    """
    Discards the rest of standard output, for a reader such as `head` that has stopped: Python would flush it when it
    ends.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell(kind: Type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> bool:
    """Prints the sentence for a user's mistake. Returns `False` where there is none and the traceback is needed."""
    if os.environ.get(TRACEBACK_VARIABLE, "0") not in ("", "0"):
        return False
    printing = any(name == "_maybe_print_to_console_and_file" for _, name, _ in _frames(error))
    if isinstance(error, BrokenPipeError) and printing:
        discard_standard_output()
        return True
    sentence = describe(error) if _in_allennlp_command(error) else None
    if sentence is None:
        return False
    record = logger.makeRecord(
        logger.name, logging.CRITICAL, __file__, 0, "Uncaught exception", (), (kind, error, trace)
    )
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.FileHandler):
            handler.handle(record)
    # A progress bar that the error cut short has left the cursor in the middle of a line.
    start = "\n" if sys.stderr.isatty() else ""
    print(f"{start}error: {sentence}", file=sys.stderr, flush=True)
    return True


def _put_on_top() -> None:
    previous = sys.excepthook
    if getattr(previous, "tells_user_errors", False):
        return

    def excepthook(kind, error, trace) -> None:
        if not _tell(kind, error, trace):
            previous(kind, error, trace)

    excepthook.tells_user_errors = True
    sys.excepthook = excepthook


def install() -> None:
    """
    Installs a hook for uncaught exceptions that prints the sentence, or calls the previous hook where there is none.
    `allennlp train` sets its own hook when it opens its logs (`allennlp.common.logging.prepare_global_logging`), after
    which ours is installed again. Safe to call twice.
    """

    def prepare_global_logging(original, *args, **kwargs) -> None:
        original(*args, **kwargs)
        _put_on_top()

    _put_on_top()
    replace_once(allennlp_logging, "prepare_global_logging", prepare_global_logging)
