"""
The sub-command `predict`: predicts each line of a file or of standard input, or each instance of a reader, and writes a
record for it.

Only a few lines are in memory at once. A wrong line gets a record with its error, and the other lines are predicted.
"""

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Optional, TextIO

from allennlp.predictors import Predictor

from seal.cli.errors import drop_output
from seal.cli.models import add_options_of_model, check_files_and_batch_size, load_model, write
from seal.common.setting_checks import check_that, suggest
from seal.files.atomic_files import open_locked
from seal.files.input_lines import Shard, shard_of
from seal.files.records import read_json
from seal.registry import ConfigurationError
from seal.tasks.base.pipeline import Pipeline
from seal.tasks.base.records import readable

logger = logging.getLogger(__name__)

FORMATS = ("json", "plain")
#: The exit status if some records are errors.
SOME_ERRORS = 3
#: The number of programs that oneDNN caches, and the environment variable that sets it.
MOST_PROGRAMS, PROGRAMS = 32, "ONEDNN_PRIMITIVE_CACHE_CAPACITY"


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the sub-command with its options."""
    parser = subparsers.add_parser(
        "predict",
        description="Predict each line of a file, of text or of JSON, with a trained model.",
        help="Use a trained model to make predictions.",
    )
    add_options_of_model(parser)
    parser.add_argument("input_file", help="a file of lines, or of rows (.csv); '-' for standard input")
    parser.add_argument("--output-file", metavar="FILE", help="a file for the records, a line of JSON each")
    parser.add_argument("--output-format", choices=FORMATS, default="json", help="how predictions are printed")
    parser.add_argument("--silent", action="store_true", help="print no predictions")
    parser.add_argument("--batch-size", type=int, help="lines predicted at once (default: many of a file, one of '-')")
    parser.add_argument(
        "--summary",
        metavar="FILE",
        help=f"a JSON file for the numbers of records and of errors; with errors the exit status is {SOME_ERRORS}",
    )
    parser.add_argument(
        "--shard",
        type=_shard,
        help="predict only a part of the lines: 2/8 is the second of eight, whose outputs in order are that of the "
        "whole file",
    )
    parser.add_argument("--predictor", metavar="NAME", help="a predictor in place of that of the model")
    parser.add_argument("--predictor-args", default="", help="further arguments of the predictor, as JSON")
    parser.add_argument(
        "--predicates-from",
        metavar="TAGGER",
        help="of roles: a tagging model, whose verbs are predicates, too; '' for none",
    )
    parser.add_argument(
        "--split-sentences", action="store_true", help="split each line into its sentences, which are predicted apart"
    )
    parser.add_argument(
        "--use-dataset-reader", action="store_true", help="read the file as one of data, by the model's reader"
    )
    parser.add_argument(
        "--dataset-reader-choice",
        choices=("train", "validation"),
        default="validation",
        help="which of the model's readers, where it has two",
    )
    parser.set_defaults(func=predict)
    return parser


def _shard(text: str) -> Shard:
    try:
        return shard_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def predict(args: argparse.Namespace) -> None:
    """
    Predicts the inputs that the options name.

    # Raises

    `ConfigurationError` if an option is wrong, or a file cannot be read or written; `SystemExit` at the end if some
    records are errors.
    """
    start = time.monotonic()
    arguments = _checked(args)
    limit_onednn_cache()
    archive = load_model(args)
    pipeline = Pipeline.of_archive(archive, args.archive_file, args.predictor, args.dataset_reader_choice, arguments)
    if args.silent and not args.output_file:
        print("--silent specified without --output-file.\nExiting early because no output will be created.")
        return
    if args.summary is not None and os.path.isfile(args.summary) and args.summary != args.input_file:
        os.remove(args.summary)  # If this run fails, the summary of an earlier run would look like success.
    if args.use_dataset_reader:
        inputs = pipeline.instances(args.input_file)
    else:
        inputs = pipeline.lines(args.input_file, args.shard)
    at_once = args.batch_size or (1 if args.input_file == "-" else pipeline.at_once)
    found = write_records(pipeline, inputs, at_once, args.output_file, None if args.silent else args.output_format)
    if args.use_dataset_reader:
        getattr(pipeline.predictor, "warn_of_gold", lambda: None)()
    if found.errors and not args.use_dataset_reader:
        all_wrong = found.errors == found.records
        hint = " If the file has the format of the training data, add --use-dataset-reader." if all_wrong else ""
        count = f"{found.errors} of {found.records} lines have an error in place of a prediction"
        logger.warning(f"{count}; the first: {found.first_error}{hint}")
    if args.summary is not None:
        summary = {**vars(found), "seconds": round(time.monotonic() - start, 3)}
        write(args.summary, json.dumps(summary) + "\n", "--summary")
    if found.errors:
        sys.exit(SOME_ERRORS)


def _checked(args: argparse.Namespace) -> dict[str, Any]:
    """Checks the options, and returns the arguments of the predictor."""
    known = Predictor.list_available()
    if args.predictor and "." not in args.predictor and args.predictor not in known:
        ours = [name for name in known if name.startswith("seal_")]
        advice = suggest(args.predictor, known) or suggest(args.predictor, ours)
        raise ConfigurationError(f'--predictor: "{args.predictor}" is not a registered name{advice}')
    arguments = read_json(args.predictor_args.strip() or "{}", "--predictor-args is not JSON")
    check_that(isinstance(arguments, dict), "--predictor-args", "a JSON object", arguments)
    for name in ("model", "dataset_reader"):
        if name in arguments:
            raise ConfigurationError(f"--predictor-args: '{name}' is given already; leave it out")
    if args.shard is not None and (args.use_dataset_reader or args.input_file == "-"):
        raise ConfigurationError(
            "--shard: it divides the lines of a file; leave --use-dataset-reader out, and name a file."
        )
    if args.use_dataset_reader and args.input_file == "-":
        raise ConfigurationError("--use-dataset-reader: name a file; a reader does not read standard input.")
    outputs = {"--output-file": [args.output_file or ""], "--summary": [args.summary or ""]}
    check_files_and_batch_size(args, [args.input_file], outputs)
    if args.predicates_from is not None:
        arguments["predicates_from"] = args.predicates_from
    if args.split_sentences:
        arguments["split_sentences"] = True
    return arguments


def limit_onednn_cache() -> None:
    """
    Limits the cache of oneDNN, which runs PyTorch's LSTMs on a CPU. oneDNN compiles a program for each shape of its
    input and keeps 1,024 of them. Groups of lines have new shapes again and again, so that memory would grow for
    thousands of lines. A small cache is enough for shapes that repeat. A number in the environment is unchanged.
    """
    # oneDNN reads the variable once, before it compiles the first program.
    os.environ.setdefault(PROGRAMS, str(MOST_PROGRAMS))


@dataclass
class PredictionSummary:
    """The number of records that `write_records` has written, the number of errors among them, and the first error."""

    records: int = 0
    errors: int = 0
    first_error: Optional[str] = None


def write_records(
    pipeline: Pipeline,
    inputs: Iterable[tuple[Any, int]],
    at_once: int,
    output_file: Optional[str] = None,
    form: Optional[str] = "json",
) -> PredictionSummary:
    """
    Predicts the inputs, and writes each record immediately.

    # Parameters

    pipeline : `Pipeline`
    inputs : `Iterable[tuple[Any, int]]`
        The result of the pipeline's `lines` or `instances`.
    at_once : `int`
        The number of inputs that are predicted together; fewer if they are long.
    output_file : `str`, optional (default = `None`)
    form : `str`, optional (default = `"json"`)
        The format of printed records, one of `FORMATS`; `None`: nothing is printed.
    """
    found, write_record = PredictionSummary(), _writer(output_file)
    for record in pipeline.predicted(inputs, at_once):
        text = pipeline.predictor.dump_line(record)
        if form is not None and not _print(text.rstrip("\n") if form == "json" else readable(record)):
            if output_file is None:
                raise SystemExit(1)
            form = None
        write_record(text)
        found.records += 1
        error = _error_of(record)
        if error is not None:
            found.errors += 1
            found.first_error = found.first_error or error
    write_record("", is_last=True)
    return found


def _error_of(record: Any) -> Optional[str]:
    """The error of a record or, for a text of several sentences, the first error of its sentences."""
    if not isinstance(record, dict):
        return None
    return record.get("error") or next(filter(None, map(_error_of, record.get("sentences", ()))), None)


def _print(text: str) -> bool:
    """Prints a text. Returns False if standard output is closed, as `head` closes it after its lines."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        drop_output()
        return False
    return True


def _writer(path: Optional[str]) -> Callable[..., None]:
    """
    Returns a function that writes records to the file `path`. The file is locked against other commands. It is opened
    for the first record or, without records, at the end, so that a mistake in the input does not delete an earlier
    file.
    """
    file: Optional[TextIO] = None

    def write_record(record: str, is_last: bool = False) -> None:
        nonlocal file
        if path is None:
            return
        try:
            # Each line is flushed, so that it survives a kill.
            file = file or open_locked(path, "--output-file")
            file.write(record)
            if is_last:
                file.close()
        except OSError as error:
            if file is not None and os.path.isfile(path):
                _end_after_a_whole_line(path, file)
            raise ConfigurationError(
                f"--output-file: '{path}' cannot be written ({error.strerror}); predictions are missing."
            ) from error

    return write_record


def _end_after_a_whole_line(path: str, file: TextIO) -> None:
    """Removes the incomplete last line that a full disk has left."""
    with suppress(OSError), open(path, "r+b") as written:
        written.truncate(sum(len(line) for line in written if line.endswith(b"\n")))
    # Closing the file flushes the rest of the record, which must not reach the disk.
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), file.fileno())
