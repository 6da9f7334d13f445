"""
The command `seal`: it does what `allennlp` does with this package loaded, but faster and without the messages of other
libraries.

`seal train ...`, or `python -m seal train ...`, takes the same sub-commands and options as `allennlp`. It needs no
`--include-package seal` and no plugins file, does not import `allennlp_models` (which asks the network for data;
`--include-package allennlp_models` does), and prints warnings and results, but no settings: these are in the run's
`config.json` and `out.log`. While a model is trained it also says which part of the run begins and what was chosen.
"""

import argparse
import io
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from importlib.metadata import entry_points
from typing import Any, NoReturn, Optional

from seal.late_imports import late

#: What AllenNLP imports for parts that most commands do not use: half of the time that the imports took.
LATE = (
    "boto3",
    "botocore.client",
    "botocore.config",
    "nltk",
    "scipy.stats",
    "sklearn",
    "spacy",
    "tensorboardX",
    "torchvision",
    "transformers.data",
    "transformers.generation",
    "transformers.modeling_utils",
    "transformers.models",
)

try:
    with late(*LATE):
        import allennlp.commands
        from allennlp.commands import Subcommand, main, predict, train
        from allennlp.common.util import import_module_and_submodules

        # What `main` would import, so that configs can name all that AllenNLP registers.
        import_module_and_submodules("allennlp", exclude={"allennlp.sanity_checks", "allennlp.tools"})
except ImportError as error:
    if (error.name or "").partition(".")[0] != "allennlp":
        raise
    sys.exit("error: the command `seal` needs AllenNLP, and the core does without; see docs/running.md.")
except KeyboardInterrupt:
    # These imports take seconds, and what tells of a stopped command is not there yet.
    print("stopped", file=sys.stderr)
    sys.exit(130)
from allennlp.common import logging as allennlp_logging  # noqa: E402
from allennlp.common import plugins  # noqa: E402
from allennlp.common import tqdm as bars  # noqa: E402
from allennlp.common.checks import ConfigurationError  # noqa: E402
from allennlp.common.util import install_sigterm_handler  # noqa: E402

from seal.allennlp.replacing import replace_once  # noqa: E402
from seal.files.runs import read_run  # noqa: E402
from seal.files.shards import Shard, shard_of  # noqa: E402
from seal.files.strict_json import read_json  # noqa: E402
from seal.files.whole_files import replacing  # noqa: E402
from seal.predictors.readable import readable  # noqa: E402
from seal.version import VERSION  # noqa: E402

#: Warnings of AllenNLP about what the config says, and about what every run that goes on finds.
NO_NEWS = (
    "patience was set to None",
    "vocabulary serialization directory",
    "was found in both **extras and in params",
    "completed its entire epoch",
)
#: The group of entry points whose modules register sub-commands of their own: those that look at models and runs
#: (`seal_inspect`), and those of other packages. None is imported before it is asked for.
COMMANDS = "seal.commands"
#: In the folder of a run and in its archive.
CARD = "model_card.md"
#: AllenNLP's sub-commands that are for the models of this package. Those of other packages are theirs to support.
SUPPORTED = ("evaluate", "predict", "train")
FORMATS = ("json", "plain", "allennlp")
# The number of the command's process, by which workers know that it has spawned them.
_STARTED = "SEAL_COMMAND"
#: The exit status of `predict` where an input has an error in place of a prediction, and all else went well.
SOME_ERRORS = 3


class _Warnings(logging.Formatter):
    """`warning: ...`, as `seal.allennlp.user_errors` writes `error: ...`."""

    def format(self, record: logging.LogRecord) -> str:
        kind = "" if record.levelno < logging.WARNING else f"{record.levelname.lower()}: "
        return kind + super().format(record)


class _ForConsole(logging.Filter):
    """
    What a training tells on the console: each warning once, though every epoch of every fold may give it, and what a
    logger is given with `extra={"news": True}`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return getattr(record, "news", False)
        text = record.getMessage()
        again = record.levelno == logging.WARNING and text in self._told
        self._told.add(text)
        return not again and not any(words in str(record.msg) for words in NO_NEWS)


class _BarsInLog(bars.TqdmToLogsWriter):
    """Progress bars where standard error is no terminal: every ten seconds a line in the run's `out.log` alone."""

    def write(self, message: str) -> None:
        if allennlp_logging.FILE_FRIENDLY_LOGGING:  # They are asked for, by an option of AllenNLP's.
            super().write(message)
        else:
            with redirect_stderr(io.StringIO()):
                super().write(message)


def _log_quietly() -> None:
    """
    Warnings and news on standard error, and progress bars if it is a terminal. `ALLENNLP_LOG_LEVEL` and
    `ALLENNLP_DEBUG` are for AllenNLP's own log, as ever.
    """
    if any(os.environ.get(name) for name in ("ALLENNLP_LOG_LEVEL", "ALLENNLP_DEBUG")):
        # Not imported otherwise: it configures the log.
        import allennlp.__main__  # noqa: F401

        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Warnings())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("filelock").setLevel(logging.WARNING)

    if not sys.stderr.isatty():
        bars.TqdmToLogsWriter = _BarsInLog

    def prepare_global_logging(original: Callable, *args: Any, **kwargs: Any) -> None:
        """The run's `out.log` has everything; the console, warnings and news alone, on standard error."""
        original(*args, **kwargs)
        for own in logging.getLogger().handlers:
            if type(own) is logging.StreamHandler:
                own.setStream(sys.stderr)
                own.setFormatter(_Warnings())
                own.addFilter(_ForConsole())

    replace_once(allennlp_logging, "prepare_global_logging", prepare_global_logging)


class _Parser(allennlp.commands.ArgumentParserWithDefaults):
    """The command's own description, and what it says of a sub-command that only `allennlp` has."""

    #: The names of those.
    not_supported: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.description == "Run AllenNLP":
            self.description = (
                "Predict structures with energies: train, evaluate and try models that a config names. "
                "`seal COMMAND --help` tells more of each command."
            )

    def error(self, message: str) -> NoReturn:
        asked = next((name for name in self.not_supported if f"invalid choice: '{name}'" in message), None)
        super().error(message if asked is None else f"seal does not have {asked}; try `allennlp {asked}`.")


def _name_what_is_here() -> None:
    """
    `seal --help` and `--version` speak of this package, and of no sub-command that is not supported; so does the
    message about one that is mistyped.
    """
    allennlp.commands.ArgumentParserWithDefaults = _Parser
    allennlp.commands.__version__ = f"{VERSION} (AllenNLP {allennlp.__version__})"
    known = Subcommand._registry[Subcommand]
    _Parser.not_supported = tuple(
        name for name, (found, _) in known.items() if found.__module__.startswith("allennlp.") and name not in SUPPORTED
    )
    for name in _Parser.not_supported:
        del known[name]


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


def _add_commands() -> None:
    """Adds the sub-command that is asked for, or all if it is none that is known, for the help or for the message."""
    asked = next((word for word in sys.argv[1:] if not word.startswith("-")), None)
    if asked in Subcommand.list_available():
        return  # It takes a look at every installed package to find others.
    found = entry_points(group=COMMANDS)
    for entry in found.select(name=asked) or found:
        entry.load()


def _say_what_was_trained() -> None:
    """
    Puts a model card into the archive that `train` makes, and ends with what came out, and with what a structure was
    found to gain, as its log is in a file.
    """

    def archive_model(original: Callable, serialization_dir: Any, *args: Any, **kwargs: Any) -> str:
        folder = os.fspath(serialization_dir)
        try:
            _write_card(folder)
            kwargs["include_in_archive"] = [*(kwargs.get("include_in_archive") or ()), CARD]
        except (ConfigurationError, ImportError, KeyError, OSError) as error:  # The model must not be lost for it.
            logging.getLogger(__name__).warning("There is no model card: %s", error)
        path = original(serialization_dir, *args, **kwargs)
        try:
            found = read_run(folder, "")
        except ConfigurationError:  # A training of no epoch.
            print(path)
            return path
        metric = found.validation_metric
        score = found.scores.get(f"validation_{metric}")
        reached = "" if score is None else f", validation {metric} {score:.4g}"
        print(f"{path}: epoch {found.best_epoch + 1} of {len(found.epochs)} was the best{reached}")
        for line in _decisions(os.path.join(serialization_dir, "structure.json")):
            print(line)
        print(f"to look at it: seal report {serialization_dir} --out report.html")
        return path

    replace_once(train, "archive_model", archive_model)


def _write_card(folder: str) -> None:
    """Writes the report of the run without figures and examples."""
    text = entry_points(group=COMMANDS)["report"].load().card(folder)
    with open(os.path.join(folder, CARD), "w", encoding="utf-8") as file:
        file.write(text)


def _decisions(path: str) -> Iterator[str]:
    """
    A table of what the gate chose for each score, and the rules that training gold was found to keep, from the file
    that a run with a structure has.
    """
    if not os.path.isfile(path):
        return
    rows = [("on validation data", "own", "chosen", "gain", "standard error", "by")]
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    for score, found in report["decisions"].items():
        numbers = (found["values"]["own"], found["values"][found["option"]], found["gain"], found["standard_error"])
        own, chosen, gain, error = (f"{100 * number:.2f}" for number in numbers)
        by = "the task-net's own output" if found["option"] == "own" else found["option"]
        rows.append((score, own, chosen, gain, error, by))
    widths = [max(map(len, column)) for column in zip(*rows)]
    for first, *numbers, by in rows:
        cells = (number.rjust(width) for number, width in zip(numbers, widths[1:]))
        yield "  ".join((first.ljust(widths[0]), *cells, by))
    for rule, shares in report.get("declared", {}).items():
        least = min(shares.values())
        yield f"declared: {rule} each of {', '.join(shares)}, as at least {100 * least:.2f} % of training gold has it"


def _quietly() -> None:
    """No messages but warnings, and no plugin that asks the network for data."""
    _log_quietly()
    plugins.DEFAULT_PLUGINS = ()


def run() -> None:
    """Runs the command of `sys.argv`."""
    os.environ[_STARTED] = str(os.getpid())
    _quietly()
    _name_what_is_here()
    _add_options_of_predict()
    _say_what_was_trained()
    _add_commands()
    install_sigterm_handler()
    main(prog="seal")


if __name__ == "__main__":
    # Workers then run this file, as they run that of the command `seal`; a package's main module they leave out.
    __spec__ = None
    run()
elif os.environ.get(_STARTED) == str(os.getppid()):
    # A worker of a distributed run: it imports the command before it begins.
    _quietly()
