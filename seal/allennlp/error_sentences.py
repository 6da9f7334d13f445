"""
Converts the error of a user's mistake to one sentence, which the command `seal` prints in place of a traceback.

A `ConfigurationError` has its sentence from the code that raises it. The functions here make sentences of other errors:
of files that cannot be read, and of the workers of a distributed run.
"""

import errno
import re
import socket
import sys
import textwrap
from typing import Any, Optional

from allennlp.common.checks import ConfigurationError
from allennlp.data.data_loaders.multiprocess_data_loader import WorkerError
from torch.multiprocessing import ProcessExitedException, ProcessRaisedException

#: The note on an error that was raised during training. The text of a worker's error contains it.
BEGUN = "Training had begun."


def _one_line(text: Any) -> str:
    return " ".join(str(text).split())


def _configuration(error: BaseException) -> Optional[str]:
    """The message of an error that AllenNLP or seal raised about a config."""
    if not isinstance(error, ConfigurationError):
        return None
    sentence = _one_line(error)
    if sentence.startswith("Experiment specified a GPU but none is available"):
        return "there is no GPU here; for the CPU leave --cuda-device out, or set trainer.cuda_device to -1"
    # For an argument of several possible types, AllenNLP gives the reason why each failed only in the chain of causes.
    if sentence.startswith("Failed to construct argument") and error.__cause__ is not None:
        sentence = f"{sentence.rstrip('.')}: {_one_line(error.__cause__)}"
    return sentence


def _worker(error: BaseException) -> Optional[str]:
    """The sentence of a user's mistake that reached this process only as the text of a worker's traceback."""
    if isinstance(error, ProcessRaisedException):
        text = str(error).replace(BEGUN, "")
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


def _worker_killed(error: BaseException) -> Optional[str]:
    """The sentence for a worker of a distributed run that was killed, or that ended with an error status."""
    if not isinstance(error, ProcessExitedException):
        return None
    how = f"killed by {error.signal_name}" if error.signal_name else f"ended with status {error.exit_code}"
    return f"worker {error.error_index} on {socket.gethostname()} was {how}; --recover continues the run"


def _file(error: BaseException) -> Optional[str]:
    """The sentence for a file that cannot be read or written."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror or _one_line(error)}"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"standard output, or a file, cannot be written ({error.strerror})"
    return _one_line(error) if isinstance(error, FileNotFoundError) else None


# Each returns the sentence for its kind of errors, or `None`. The first sentence counts.
_FAMILIES = (_configuration, _worker, _worker_killed, _file)


def describe(error: BaseException) -> Optional[str]:
    """
    The sentence for an error that the user can correct, in a config, an archive or the name of a file. `None` for a
    defect, which needs its traceback.
    """
    return next(filter(None, (sentence_of(error) for sentence_of in _FAMILIES)), None)
