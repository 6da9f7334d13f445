"""The sub-command `predict`: how it checks options, reads lines, and writes records."""

import ctypes
import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Optional, TextIO

from allennlp.commands import predict
from allennlp.common.checks import ConfigurationError
from allennlp.predictors import Predictor

from seal.allennlp.command_files import check_files_and_batch_size
from seal.allennlp.input_lines import input_lines
from seal.allennlp.replacing import replace_once
from seal.common.setting_checks import suggest
from seal.files.paths import user_path
from seal.files.whole_files import opened_alone

logger = logging.getLogger(__name__)

#: `predict` has no more than about as many characters of lines in memory at once, unless a single line is longer.
MOST_CHARACTERS_AT_ONCE = 2**20
#: Bytes of memory that `predict` gives back to the system as soon as they are free.
LARGE = 2**23
#: How many of its programs oneDNN keeps in `predict`, and the variable of the environment that it takes this from.
MOST_PROGRAMS, PROGRAMS = 32, "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
# Of glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def read_the_lines_of_predict() -> None:
    """
    Patches: `allennlp.commands.predict._PredictManager._get_json_data`.

    Symptom: one byte that is not UTF-8 in the input of `allennlp predict` ends the whole run, whichever line it is on.
    Here the line reaches the predictor's `load_line`, which can report that line alone. Tables (`.csv`) are not read,
    nor a shard of a file, and lines are not numbered.

    Can go: when AllenNLP lets the predictor decide, and ends lines by line feeds alone.
    """

    def _get_json_data(original, self):
        path = self._input_file if self._input_file == "-" else user_path(self._input_file)
        for line in input_lines(path, getattr(self._predictor, "shard", None)):
            yield self._predictor.load_line(line)

    replace_once(predict._PredictManager, "_get_json_data", _get_json_data)


def few_long_lines_at_once() -> None:
    """
    Patches: `allennlp.commands.predict.lazy_groups_of`.

    Symptom: `--batch-size` lines are in memory at once, however long they are.

    Can go: when AllenNLP bounds the size of what it predicts at once.
    """

    def lazy_groups_of(original, items, group_size):
        group, size = [], 0
        for item in items:
            group.append(item)
            size += getattr(item, "size", 0)
            if len(group) >= group_size or size >= MOST_CHARACTERS_AT_ONCE:
                yield group
                group, size = [], 0
        if group:
            yield group

    replace_once(predict, "lazy_groups_of", lazy_groups_of)


def give_large_tensors_back() -> None:
    """
    Patches: `allennlp.commands.predict._get_predictor`.

    Symptom: glibc keeps the memory of large tensors, in pieces that the next ones do not fit into. Where a line is long
    now and then, `predict` takes half a gigabyte more than it needs. Tensors above a size that is fixed here go back to
    the system at once; other C libraries are left as they are.

    Can go: when glibc, or the allocator of PyTorch on a CPU, keeps less.
    """

    def _get_predictor(original, args):
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_MMAP_THRESHOLD, LARGE)
            # Fixed as well by the call above, at a size that would cost time.
            mallopt(_M_TRIM_THRESHOLD, 2 * LARGE)
        return original(args)

    replace_once(predict, "_get_predictor", _get_predictor)


def keep_few_programs_of_shapes() -> None:
    """
    Patches: `allennlp.commands.predict._get_predictor`.

    Symptom: oneDNN, by which PyTorch runs LSTMs on a CPU, makes a program for each shape of its input and keeps 1,024
    of them. Groups of lines have ever new shapes, so that memory grows for thousands of lines. A few are enough where a
    shape comes again, as in a filter of single lines; a number that the environment gives is left.

    Can go: when oneDNN bounds what it keeps by size.
    """

    def _get_predictor(original, args):
        # Before the first program: oneDNN reads it once.
        os.environ.setdefault(PROGRAMS, str(MOST_PROGRAMS))
        return original(args)

    replace_once(predict, "_get_predictor", _get_predictor)


def check_options_of_predict() -> None:
    """
    Patches: `allennlp.commands.predict._get_predictor`.

    Symptom: an output file that is also the input or the model is emptied. With `--batch-size 0` nothing is predicted,
    and a negative one ends in a traceback. So do `--predictor-args` that are no object, or that give what the command
    gives itself. An unknown `--predictor` is reported only after the model is loaded, in five lines about packages.

    Can go: when AllenNLP checks its arguments, and names the predictors to choose from.
    """

    def _get_predictor(original, args):
        _check_predictor(args.predictor)
        _check_predictor_arguments(args.predictor_args.strip() or "{}")
        inputs = [args.input_file, args.archive_file, args.weights_file]
        outputs = {"--output-file": [args.output_file or ""], "--summary": [getattr(args, "summary", None) or ""]}
        check_files_and_batch_size(args.batch_size, inputs, outputs)
        if args.use_dataset_reader and args.input_file == "-":
            raise ConfigurationError("--use-dataset-reader: name a file; a reader does not read standard input.")
        return original(args)

    replace_once(predict, "_get_predictor", _get_predictor)


def _check_predictor(name: Optional[str]) -> None:
    known = Predictor.list_available()
    if name and "." not in name and name not in known:
        ours = [other for other in known if Predictor.by_name(other).__module__.startswith("seal.")]
        raise ConfigurationError(
            f'--predictor: "{name}" is not a registered name' + (suggest(name, known) or suggest(name, ours))
        )


def _check_predictor_arguments(text: str) -> None:
    try:
        given, reason = json.loads(text), ""
    except ValueError as error:
        given, reason = None, f" ({error})"
    if not isinstance(given, dict):
        raise ConfigurationError(f"--predictor-args must be a JSON object, found {text}{reason}")
    for name in ("model", "dataset_reader"):
        if name in given:
            raise ConfigurationError(f"--predictor-args: '{name}' is given already; leave it out")


class _OutputFile:
    """The file of `--output-file`. It is opened for the first record or, where there is none, at the end."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: Optional[TextIO] = None

    def write(self, record: str) -> None:
        with self._opened() as file:
            file.write(record)

    def close(self) -> None:
        with self._opened() as file:
            file.close()

    @contextmanager
    def _opened(self) -> Iterator[TextIO]:
        try:
            # By lines, so that what is predicted survives a kill.
            self._file = self._file or opened_alone(self._path, "--output-file")
            yield self._file
        except OSError as error:
            self._end_after_a_whole_line()
            raise ConfigurationError(
                f"--output-file: '{self._path}' cannot be written ({error.strerror}); predictions are missing."
            ) from error

    def _end_after_a_whole_line(self) -> None:
        """Takes out the part of a record that a full disk has left, which no program could read."""
        if self._file is None or not os.path.isfile(self._path):
            return
        with suppress(OSError), open(self._path, "r+b") as file:
            file.truncate(sum(len(line) for line in file if line.endswith(b"\n")))
        # What is left of the record in memory goes nowhere when the file is closed.
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), self._file.fileno())


def open_the_output_of_predict_late() -> None:
    """
    Patches: `allennlp.commands.predict._PredictManager.__init__`.

    Symptom: where the input has a mistake, the output file of an earlier run is emptied. Two commands with the same
    output file write over each other.

    Can go: when AllenNLP opens the file for the first record, and locks it.
    """

    def __init__(original, self, predictor, input_file, output_file, *args, **kwargs):
        original(self, predictor, input_file, None, *args, **kwargs)
        self._output_file = None if output_file is None else _OutputFile(output_file)

    replace_once(predict._PredictManager, "__init__", __init__)


def write_the_output_of_predict_to_its_end() -> None:
    """
    Patches: `allennlp.commands.predict._PredictManager._maybe_print_to_console_and_file`.

    Symptom: where the reader of standard output, such as `head`, stops early, the output file ends there, too. Without
    one, the command ends in a traceback.

    Can go: when AllenNLP continues to write the file, and ends quietly without one.
    """

    def _maybe_print_to_console_and_file(original, self, *args, **kwargs):
        try:
            original(self, *args, **kwargs)
        except BrokenPipeError:
            # Python would flush the rest when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if self._output_file is None:
                raise SystemExit(1) from None
            self._print_to_console = False
            original(self, *args, **kwargs)

    replace_once(predict._PredictManager, "_maybe_print_to_console_and_file", _maybe_print_to_console_and_file)


def tell_of_wrong_lines() -> None:
    """
    Patches: `allennlp.commands.predict._PredictManager.run`.

    Symptom: seal's predictors give a wrong line a record of its error, and go on. Where the file has another format
    than the predictor reads, all records are errors, and the command ends without a word. So it does where a reader's
    file has gold labels that the model does not know.

    Can go: when AllenNLP lets a predictor say how its input was.
    """

    def run(original, self):
        original(self)
        predictor = self._predictor
        getattr(predictor, "warn_of_gold", lambda: None)()
        wrong = getattr(predictor, "wrong_lines", 0)
        if wrong == 0:
            return
        count = f"{wrong} of {predictor.lines} lines have an error in place of a prediction"
        all_wrong = wrong == predictor.lines
        hint = " If the file has the format of the training data, add --use-dataset-reader." if all_wrong else ""
        logger.warning(f"{count}; the first: {predictor.first_error}{hint}")

    replace_once(predict._PredictManager, "run", run)


PATCHES = (
    read_the_lines_of_predict,
    few_long_lines_at_once,
    give_large_tensors_back,
    keep_few_programs_of_shapes,
    check_options_of_predict,
    open_the_output_of_predict_late,
    write_the_output_of_predict_to_its_end,
    tell_of_wrong_lines,
)
