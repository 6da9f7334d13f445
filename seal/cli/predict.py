"""
The sub-command `predict`: a record for each line of a file or of standard input, or for each instance of a reader.

However many lines there are, few are in memory at once. A wrong line has a record of its error, and the others go on.
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
#: The exit status where an input has an error in place of a prediction, and all else went well.
SOME_ERRORS = 3
#: How many of its programs oneDNN keeps, and the variable of the environment that it takes this from.
MOST_PROGRAMS, PROGRAMS = 32, "ONEDNN_PRIMITIVE_CACHE_CAPACITY"


def add_parser(subparsers: argparse._SubParsersAction) -> argparse.ArgumentParser:
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
    Predicts what the options name.

    # Raises

    `ConfigurationError` where an option is wrong, or a file cannot be read or written; `SystemExit` at the end, where
    some records are errors.
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
        os.remove(args.summary)  # That of an earlier run would look like success, if this one fails.
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
    oneDNN, by which PyTorch runs LSTMs on a CPU, makes a program for each shape of its input and keeps 1,024 of them.
    Groups of lines have ever new shapes, so that memory would grow for thousands of lines. A few are enough where a
    shape comes again, as in a filter of single lines; a number that the environment gives is left.
    """
    # Before the first program: oneDNN reads it once.
    os.environ.setdefault(PROGRAMS, str(MOST_PROGRAMS))


@dataclass
class PredictionSummary:
    """What `write_records` has written: the numbers of records and of errors among them, and the first of these."""

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
    Predicts, and writes each record as soon as there is one.

    # Parameters

    pipeline : `Pipeline`
    inputs : `Iterable[tuple[Any, int]]`
        Those of its `lines` or `instances`.
    at_once : `int`
        How many inputs are predicted at once; fewer where they are long.
    output_file : `str`, optional (default = `None`)
    form : `str`, optional (default = `"json"`)
        How records are printed, one of `FORMATS`; `None`: not at all.
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
    """Whether the reader of standard output has not had enough, as `head` has after its lines."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        drop_output()
        return False
    return True


def _writer(path: Optional[str]) -> Callable[..., None]:
    """
    Writes to the file of `--output-file`, which no other command writes at the same time. It is opened for the first
    record or, where there is none, at the end: that of an earlier run outlives a mistake in the input.
    """
    file: Optional[TextIO] = None

    def write_record(record: str, is_last: bool = False) -> None:
        nonlocal file
        if path is None:
            return
        try:
            # By lines, so that what is predicted survives a kill.
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
    """Takes out the part of a record that a full disk has left, which no program could read."""
    with suppress(OSError), open(path, "r+b") as written:
        written.truncate(sum(len(line) for line in written if line.endswith(b"\n")))
    # What is left of the record in memory goes nowhere when the file is closed.
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), file.fileno())
