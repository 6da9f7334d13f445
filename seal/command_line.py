"""
Patches of AllenNLP's sub-commands: how they check options, read input, write output and end their data workers.

Each docstring has the upstream name, the symptom without the patch and the condition under which the patch can go, as
in `seal/compat.py`.
"""

import glob
import itertools
import json
import logging
import multiprocessing
import os
import signal
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Set, TextIO, Tuple

from allennlp.commands import evaluate, predict
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError, check_for_gpu
from allennlp.common.file_utils import cached_path
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.predictors import Predictor

from seal.common.csv_rows import csv_records
from seal.common.other_formats import OPENINGS, columns_format, look_of_row, other_format
from seal.common.paths import user_path
from seal.common.nested_values import plain
from seal.common.setting_checks import check_range
from seal.common.shards import Shard
from seal.common.text_lines import HEAD, READ_ERRORS, check_text_bytes, opened, text_lines, without_packing
from seal.compat import replace_once
from seal.config_keys import suggest
from seal.predictors.line_predictor import NumberedLine
from seal.user_errors import discard_standard_output

logger = logging.getLogger(__name__)

#: `predict` has no more than about as many characters of lines in memory at once, unless a single line is longer.
MOST_CHARACTERS_AT_ONCE = 2**20


def read_the_lines_of_predict() -> None:
    """
    Patches: `allennlp.commands.predict._PredictManager._get_json_data`.

    Symptom: one byte that is not UTF-8 in the input of `allennlp predict` ends the whole run, whichever line it is on.
    Here the line reaches the predictor's `load_line`, with each bad byte as one character U+DC80 to U+DCFF, and the
    predictor can report that line alone. A file whose name ends in `.csv` is a table, each row of which is an object
    with the names of the columns as keys. In another file a carriage return ends a line, on standard input it does not.
    A file of another format, such as a JSON array over several lines, is read as text, line by line.

    Can go: when AllenNLP lets the predictor decide, and ends lines by line feeds alone.
    """

    def _get_json_data(original, self):
        path = self._input_file if self._input_file == "-" else user_path(self._input_file)
        shard = getattr(self._predictor, "shard", None)
        if _is_csv(path):
            lines = _rows_of_input(path, shard)
        else:
            lines = _told_format(_lines_of_input(path), path)
            if shard is not None:
                # Of the whole file, the form of the beginning alone is looked at.
                next(lines, None)
                lines = _lines_of_input(path, shard)
        for line in lines:
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


def _lines_of_input(path: str, shard: Optional[Shard] = None) -> Iterator[str]:
    """The lines of the input, or of a shard of it, that are not blank, with undecodable bytes as surrogates."""
    try:
        # Not every replacement of standard input (a notebook's, a test's) has bytes. It is not closed here.
        source = nullcontext(getattr(sys.stdin, "buffer", sys.stdin)) if path == "-" else opened(cached_path(path))
        with source as lines:
            if path == "-" and hasattr(lines, "peek"):
                check_text_bytes(lines.peek(1)[:HEAD], "standard input", has_name=False)
            for number, line in enumerate(lines) if shard is None else _of_shard(lines, path, shard):
                if isinstance(line, bytes):
                    line = line.decode("utf-8", errors="surrogateescape")
                line = line.removeprefix("\ufeff") if number == 0 else line
                if line and not line.isspace():
                    yield NumberedLine(f"{line[:-2]}\n" if line.endswith("\r\n") else line, number + 1)
    except READ_ERRORS as error:
        # An error with a file's name, as that of a missing file, says enough.
        if isinstance(error, FileNotFoundError) or getattr(error, "filename", None) is not None:
            raise
        raise ConfigurationError(f"{path}: the file cannot be read ({error})") from error


def _of_shard(lines: Iterable[Any], path: str, shard: Shard) -> Iterator[Tuple[int, Any]]:
    """The lines of a shard of the file, with their indices in the whole file."""
    with opened(cached_path(path)) as whole:
        places = shard.lines(sum(1 for _ in whole))
    return itertools.islice(enumerate(lines), places.start, places.stop)


def _is_csv(path: str) -> bool:
    return without_packing(path).endswith(".csv")


def _rows_of_input(path: str, shard: Optional[Shard] = None) -> Iterator[str]:
    """The rows of a CSV file, or of a shard of it, as lines of JSON."""

    def records() -> Iterator[Tuple[int, Dict[str, str]]]:
        return csv_records(path, text_lines(cached_path(path)))

    rows = records()
    if shard is not None:
        places = shard.lines(sum(1 for _ in records()))
        rows = itertools.islice(rows, places.start, places.stop)
    for number, record in rows:
        yield NumberedLine(json.dumps(record), number)


def _told_format(lines: Iterator[str], path: str) -> Iterator[str]:
    """
    Passes the lines on. What is not lines of text or of JSON is refused, and what looks like columns is told of.
    """
    name = "standard input" if path == "-" else path
    begin = list(itertools.islice(lines, 1))
    # The next line is only waited for where it is needed: standard input may be a person.
    if begin and begin[0].strip() in OPENINGS:
        begin += itertools.islice(lines, 1)
    found = other_format(begin, json_lines=True)
    if found is not None:
        raise ConfigurationError(f"{name}: this looks like {found}; a line of the input is one input.")
    found = columns_format(begin[0]) if begin else None
    if found is not None:
        raise ConfigurationError(
            f"{name}: this looks like {found}; give the text alone, a line an input, or add --use-dataset-reader if "
            "the file has the format of the training data."
        )
    looks: Set[Optional[str]] = set()
    count = 0
    for count, line in enumerate(itertools.chain(begin, lines), start=1):
        looks.add(look_of_row(line))
        yield line
    look = looks.pop() if count > 1 and len(looks) == 1 else None
    if look is not None:
        logger.warning(
            "%s: each of the %d lines %s, as rows of columns do, and was read as text; if the file has the format of "
            "the training data, add --use-dataset-reader", name, count, look,
        )


#: What a command reads of a model that is given as a folder.
_FILES_OF_MODEL = ("config.json", "model.tar.gz", "weights.th", "best.th")


def _files_read(paths: List[Optional[str]]) -> List[str]:
    """The files behind the paths of models and data: a model's folder, a pattern, or a part of a file, `FILE#valid`."""
    files: List[str] = []
    for path in map(user_path, filter(None, paths)):
        files += [path, *glob.glob(path.partition("#")[0])]
        files += [os.path.join(path, name) for name in _FILES_OF_MODEL]
    return [file for file in files if os.path.isfile(file)]


def _check_files_and_batch_size(
    batch_size: Optional[int], inputs: List[Optional[str]], outputs: Dict[str, List[str]]
) -> None:
    check_range("--batch-size", batch_size, least=1)
    read = _files_read(inputs)
    option_of: Dict[str, str] = {}
    for option, path in [(option, path) for option, paths in outputs.items() for path in paths if path]:
        if os.path.exists(path) and not os.path.isfile(path):
            continue  # A pipe or `/dev/null` may be named twice: it holds no result.
        real = os.path.realpath(path)
        if real in option_of:
            named = ", ".join(dict.fromkeys((option_of[real], option)))
            raise ConfigurationError(f"{named}: '{path}' is named twice, and would hold one result; name another.")
        option_of[real] = option
        if os.path.exists(path) and any(os.path.samefile(path, file) for file in read):
            raise ConfigurationError(f"{option}: '{path}' is the input, which would be lost; name another file.")
        if not os.path.isdir(os.path.dirname(path) or "."):
            raise ConfigurationError(f"{option}: there is no folder '{os.path.dirname(path)}'; make it first.")


def _inputs_of_evaluation(text: str) -> List[str]:
    """The files that `evaluate` reads; none where the text holds JSON objects, which some readers take."""
    if os.path.exists(user_path(text)):
        return [text]
    try:
        inputs = json.loads(f"[{text}]")
    except json.JSONDecodeError:
        return text.split(",")
    return inputs if all(isinstance(path, str) for path in inputs) else []


def _outputs_of_evaluation(
    inputs: List[str], metrics: Optional[str], predictions: Optional[str], auto_names: str
) -> Dict[str, List[str]]:
    """The files that `evaluate` writes, by the option that names them; `inputs` is empty where they are not files."""
    outputs: Dict[str, List[str]] = {}
    for option, names, auto, ending in (
        ("--output-file", metrics, "METRICS", ".outputs"),
        ("--predictions-output-file", predictions, "PREDS", ".preds"),
    ):
        if names and auto_names in (auto, "ALL"):
            made = [str(path.parent / f"{path.stem}{ending}") for path in map(Path, inputs)]
            outputs["--auto-names"] = outputs.get("--auto-names", []) + made
        elif names:
            outputs[option] = names.split(",")
            if inputs and len(outputs[option]) != len(inputs):
                raise ConfigurationError(
                    f"{option}: {len(inputs)} files are evaluated, so name as many here, separated by commas, or use "
                    f"--auto-names {auto}; found {len(outputs[option])}."
                )
    return outputs


@contextmanager
def _no_batch_sampler(module: Any) -> Iterator[None]:
    """Inside, the archives that the module loads have no batch sampler in their config."""
    original = module.load_archive

    def load_archive(*args: Any, **settings: Any) -> Any:
        archive = original(*args, **settings)
        for loader in ("data_loader", "validation_data_loader"):
            settings_of_loader = archive.config.get(loader)
            if isinstance(settings_of_loader, Params):  # Else null, or a name alone.
                settings_of_loader.pop("batch_sampler", None)
        return archive

    module.load_archive = load_archive
    try:
        yield
    finally:
        module.load_archive = original


def check_options_of_predict() -> None:
    """
    Patches: `allennlp.commands.predict._get_predictor`.

    Symptom: an output file that is also the input or the model is emptied. With `--batch-size 0` nothing is predicted,
    and a negative one ends in a traceback. An unknown `--predictor` is reported only after the model is loaded, in five
    lines about packages.

    Can go: when AllenNLP checks its arguments, and names the predictors to choose from.
    """

    def _get_predictor(original, args):
        _check_predictor(args.predictor)
        inputs = [args.input_file, args.archive_file, args.weights_file]
        outputs = {"--output-file": [args.output_file or ""], "--summary": [getattr(args, "summary", None) or ""]}
        _check_files_and_batch_size(args.batch_size, inputs, outputs)
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
            self._file = self._file or open(self._path, "w", buffering=1)
            yield self._file
        except OSError as error:
            raise ConfigurationError(
                f"--output-file: '{self._path}' cannot be written ({error.strerror}); predictions are missing."
            ) from error


def open_the_output_of_predict_late() -> None:
    """
    Patches: `allennlp.commands.predict._PredictManager.__init__`.

    Symptom: where the input has a mistake, the output file of an earlier run is emptied.

    Can go: when AllenNLP opens the file for the first record.
    """

    def __init__(original, self, predictor, input_file, output_file, *args, **kwargs):
        original(self, predictor, input_file, None, *args, **kwargs)
        self._output_file = None if output_file is None else _OutputFile(output_file)

    replace_once(predict._PredictManager, "__init__", __init__)


def write_the_output_of_predict_to_its_end() -> None:
    """
    Patches: `allennlp.commands.predict._PredictManager._maybe_print_to_console_and_file`.

    Symptom: where the reader of standard output, such as `head`, stops early, the output file ends there, too.

    Can go: when AllenNLP continues to write the file.
    """

    def _maybe_print_to_console_and_file(original, self, *args, **kwargs):
        try:
            original(self, *args, **kwargs)
        except BrokenPipeError:
            if self._output_file is None:
                raise
            discard_standard_output()
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


def check_options_of_evaluate() -> None:
    """
    Patches: `allennlp.commands.evaluate.evaluate_from_archive`.

    Symptom: an output file that is also the input is emptied. A missing folder of an output file is noticed only after
    the evaluation. An output file that is named twice, or that `--auto-names` makes from two inputs, keeps one result
    of two. A `--batch-size` below 1 ends in a traceback, and so does a number of output files that differs from that of
    inputs. `--batch-size` for a model that was trained with a `batch_sampler` is refused as if the config had both. A
    `--cuda-device` that does not exist ends in a traceback, where `predict` prints one sentence. Without
    `--output-file` the scores are nowhere but in the progress bar.

    Can go: when AllenNLP checks its arguments, and prints the scores.
    """

    def evaluate_from_archive(
        original,
        archive_file,
        input_file,
        metrics_output_file=None,
        predictions_output_file=None,
        batch_size=None,
        **kwargs,
    ):
        check_for_gpu(kwargs.get("cuda_device", -1))
        inputs = _inputs_of_evaluation(str(input_file))
        if len(inputs) == 1:
            # As JSON, so that a name with commas or of digits is one name.
            input_file = json.dumps(inputs[0])
        outputs = _outputs_of_evaluation(
            inputs, metrics_output_file, predictions_output_file, kwargs.get("auto_names", "NONE")
        )
        read = [*inputs, str(archive_file), kwargs.get("weights_file")]
        _check_files_and_batch_size(batch_size, read, outputs)
        with nullcontext() if batch_size is None else _no_batch_sampler(evaluate):
            metrics = original(
                archive_file, input_file, metrics_output_file, predictions_output_file, batch_size, **kwargs
            )
        if not outputs.get("--output-file") and not outputs.get("--auto-names"):
            print(json.dumps(plain(metrics), indent=2))
        return metrics

    replace_once(evaluate, "evaluate_from_archive", evaluate_from_archive)


def end_data_workers_quietly() -> None:
    """
    Patches: `allennlp.data.data_loaders.MultiProcessDataLoader._instance_worker` (and `_batch_worker`).

    Symptom: where one data-loading worker fails, AllenNLP ends the others by SIGTERM. They inherit the
    command's handler, which raises an error, so each prints its own traceback beside the one sentence that names
    the mistake.

    Can go: when AllenNLP's workers reset the handler.
    """

    def worker(original, self, *args, **kwargs):
        # Only in a worker process: in the main process this would remove the command's own handler.
        if multiprocessing.parent_process() is not None:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        return original(self, *args, **kwargs)

    replace_once(MultiProcessDataLoader, "_instance_worker", worker)
    replace_once(MultiProcessDataLoader, "_batch_worker", worker)


PATCHES = (
    read_the_lines_of_predict,
    few_long_lines_at_once,
    check_options_of_predict,
    open_the_output_of_predict_late,
    write_the_output_of_predict_to_its_end,
    tell_of_wrong_lines,
    check_options_of_evaluate,
    end_data_workers_quietly,
)
