"""The sub-command `predict`."""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Optional

from allennlp.commands import predict

from seal.allennlp.replacing import replace_once
from seal.files.shards import Shard, shard_of
from seal.files.strict_json import read_json
from seal.files.whole_files import replacing
from seal.predictors.readable import readable
from seal.registry import ConfigurationError

FORMATS = ("json", "plain", "allennlp")
#: The exit status of `predict` where an input has an error in place of a prediction, and all else went well.
SOME_ERRORS = 3


def add_parser(subparsers: argparse._SubParsersAction) -> argparse.ArgumentParser:
    _add_options_of_predict()
    return predict.Predict().add_subparser(subparsers)


def _add_options_of_predict() -> None:
    """
    Adds `predict --output-format`: `json`, one record a line and nothing else; `plain`, to read; or `allennlp`, records
    between its own words and blank lines. The output file has records in any case. Adds `--predicates-from`, an
    argument of the predictor of roles, `--summary`, a file for `Counts`, and `--shard`, a part of the lines. Lines of a
    file are predicted many at once, of standard input one by one, unless `--batch-size` says it.
    """
    replace_once(predict.Predict, "add_subparser", _add_subparser)
    replace_once(predict, "_get_predictor", _get_predictor)
    # The sub-command takes the function by its name when it adds its parser.
    replace_once(predict, "_predict", _predict)


def _add_subparser(original: Callable, self: Any, parser: Any) -> argparse.ArgumentParser:
    """The options of `predict`, beside AllenNLP's."""
    subparser = original(self, parser)
    subparser.add_argument(
        "--output-format", choices=FORMATS, default="json", help="how predictions are printed (default: json)"
    )
    subparser.add_argument(
        "--predicates-from", metavar="TAGGER", help="of roles: a tagging model, whose verbs are predicates, too"
    )
    subparser.add_argument(
        "--summary",
        metavar="FILE",
        help=f"a JSON file for the numbers of records and of errors; with errors the exit status is {SOME_ERRORS}",
    )
    subparser.add_argument(
        "--shard",
        type=_shard,
        help="predict only a part of the lines: 2/8 is the second of eight, whose outputs in order are that of the "
        "whole file",
    )
    (batch_size,) = (action for action in subparser._actions if action.dest == "batch_size")
    batch_size.default, batch_size.help = None, "lines predicted at once (default: many of a file, one of '-')"
    return subparser


def _get_predictor(original: Callable, args: argparse.Namespace) -> Any:
    """The predictor, and what the options say of it, of printing and of how many lines are predicted at once."""
    if args.shard is not None and (args.use_dataset_reader or args.input_file == "-"):
        raise ConfigurationError(
            "--shard: it divides the lines of a file; leave --use-dataset-reader out, and name a file."
        )
    if args.predicates_from is not None:
        more = read_json(args.predictor_args or "{}", "--predictor-args is not JSON")
        if not isinstance(more, dict):
            raise ConfigurationError("--predictor-args must be an object, such as '{\"energy\": true}'.")
        args.predictor_args = json.dumps({**more, "predicates_from": args.predicates_from})
    if args.output_format != "allennlp":
        # A name of the module is found before Python's own.
        predict.print = _Printer(args.output_format == "plain")
    predictor = original(args)
    if args.summary is not None and os.path.isfile(args.summary) and args.summary != args.input_file:
        os.remove(args.summary)  # That of an earlier run would look like success, if this one fails.
    if args.shard is not None:
        predictor.shard = args.shard
    if args.batch_size is None:
        args.batch_size = 1 if args.input_file == "-" else getattr(predictor, "lines_at_once", 1)
    return predictor


def _predict(original: Callable, args: argparse.Namespace) -> None:
    """Predicts, and counts."""
    counts = Counts()
    with counts.counting():
        original(args)
    if args.summary is not None:
        counts.write(args.summary)
    if counts.errors:
        sys.exit(SOME_ERRORS)


class Counts:
    """How many records `predict` gave, how many of these are errors, the first of them, and the seconds it took."""

    def __init__(self) -> None:
        self.records = self.errors = 0
        self.first_error: Optional[str] = None
        self._start = time.monotonic()

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Inside, each record that AllenNLP's `predict` hands out is counted."""
        manager: Any = predict._PredictManager
        original = manager._maybe_print_to_console_and_file

        def count(its: Any, index: int, record: str, *args: Any, **kwargs: Any) -> None:
            self.records += 1
            if '"error": ' in record:
                error = json.loads(record).get("error")
                self.errors += error is not None
                self.first_error = self.first_error or error
            original(its, index, record, *args, **kwargs)

        manager._maybe_print_to_console_and_file = count
        try:
            yield
        finally:
            manager._maybe_print_to_console_and_file = original

    def write(self, path: str) -> None:
        """
        Writes them as one line of JSON.

        # Raises

        `ConfigurationError` if the file cannot be written.
        """
        seconds = round(time.monotonic() - self._start, 3)
        found = {"records": self.records, "errors": self.errors, "first_error": self.first_error, "seconds": seconds}
        try:
            with replacing(path) as draft, open(draft, "w", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")
        except OSError as error:
            raise ConfigurationError(f"--summary: '{path}' cannot be written ({error.strerror}).") from error


def _shard(text: str) -> Shard:
    try:
        return shard_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


class _Printer:
    """Stands in for `print` in AllenNLP's `predict`, which calls it for each input and for each prediction."""

    def __init__(self, plain: bool) -> None:
        self._plain = plain

    def __call__(self, first: str, *rest: str) -> None:
        if first == "prediction: ":
            (record,) = rest
            print(readable(json.loads(record)) if self._plain else record.rstrip("\n"), flush=True)
        elif not first.startswith("input "):
            print(first, *rest)
