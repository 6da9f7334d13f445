"""
The command `seal`: what `allennlp` does with this package loaded, by loops of its own, faster and without the messages
of other libraries.

`seal train ...`, or `python -m seal train ...`, takes the options of `allennlp`. It needs no `--include-package seal`
and no plugins file, does not import `allennlp_models` (which asks the network for data; `--include-package
allennlp_models` does), and prints warnings and results, but no settings: these are in the run's `config.json` and
`out.log`. A user's mistake ends in one sentence (`seal.cli.errors`).
"""

import argparse
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Any, NoReturn

from seal.lazy_imports import LAZY, import_below, lazy

#: Of AllenNLP: what is deprecated, for tests, or needs a package that is not installed, and programs.
NOT_IMPORTED = (
    "allennlp.common.testing",
    "allennlp.confidence_checks.task_checklists",
    "allennlp.sanity_checks",
    "allennlp.tools",
)

try:
    with lazy(*LAZY):
        # The first, as it hides warnings of AllenNLP's own imports.
        importlib.import_module("seal.plugin")
        import allennlp
        from allennlp.commands import ArgumentParserWithDefaults, Subcommand
        from allennlp.common import plugins
        from allennlp.common.util import import_module_and_submodules, install_sigterm_handler

        # So that configs can name all that AllenNLP registers.
        import_below(allennlp, NOT_IMPORTED)
except ImportError as error:
    if (error.name or "").partition(".")[0] != "allennlp":
        raise
    if sys.argv[1:2] == ["structure"]:
        from seal.cli.structure import main as structure

        sys.exit(structure(sys.argv[2:]))
    sys.exit("error: the command `seal` needs AllenNLP, and the core does without; see docs/running.md.")
except KeyboardInterrupt:
    # These imports take seconds, and what tells of a stopped command is not there yet.
    print("stopped", file=sys.stderr)
    sys.exit(130)

from seal.cli.errors import in_sentences  # noqa: E402
from seal.cli.logs import log_quietly  # noqa: E402
from seal.registry import ConfigurationError  # noqa: E402
from seal.version import VERSION  # noqa: E402

#: The command's own sub-commands: modules of this package, each with a function `add_parser`.
OWN = ("check", "evaluate", "predict", "structure", "train")
#: The group of entry points whose modules register further sub-commands with AllenNLP: those that look at the package,
#: at models and at runs (`seal_inspect`), and those of other packages. None is imported before it is asked for.
COMMANDS = "seal.commands"
# The number of the command's process, by which workers know that it has spawned them.
_STARTED = "SEAL_COMMAND"


class _Parser(ArgumentParserWithDefaults):
    """Says of a sub-command that only `allennlp` has where it is."""

    def error(self, message: str) -> NoReturn:
        theirs = (name for name in Subcommand.list_available() if name not in OWN)
        asked = next((name for name in theirs if f"invalid choice: '{name}'" in message), None)
        super().error(message if asked is None else f"seal does not have {asked}; try `allennlp {asked}`.")


def parser_for(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of a command line: of the sub-command that it names, or of all, where it names none that there is."""
    asked = next((word for word in arguments if not word.startswith("-")), "")
    others = {} if asked in OWN else _commands_of_others(asked)
    parser = _Parser(
        prog="seal",
        description="Predict structures with energies: train, evaluate and try models that a config names. "
        "`seal COMMAND --help` tells more of each command.",
    )
    parser.add_argument("--version", action="version", version=f"seal {VERSION} (AllenNLP {allennlp.__version__})")
    parsers = parser.add_subparsers(title="Commands", metavar="")
    every = sorted({*OWN, *others})
    for name in [asked] if asked in every else every:
        if name in OWN:
            subparser = importlib.import_module(f"seal.cli.{name}").add_parser(parsers)
        else:
            subparser = others[name]().add_subparser(parsers)
        if name in OWN or others[name].requires_plugins:
            text = "additional packages to include"
            subparser.add_argument("--include-package", action="append", default=[], metavar="PACKAGE", help=text)
    return parser


def _commands_of_others(asked: str) -> dict[str, Any]:
    """The sub-commands that packages beside AllenNLP register; of those of entry points only the one asked for."""
    found = entry_points(group=COMMANDS)
    for entry in found.select(name=asked) or found:
        entry.load()
    if not found.select(name=asked):
        plugins.import_plugins()
    known = {name: Subcommand.by_name(name) for name in Subcommand.list_available()}
    return {name: cls for name, cls in known.items() if not cls.__module__.startswith("allennlp.")}


def _import_plugins() -> None:
    """Those of AllenNLP's files of plugins. Where there are none but this package, which is there, AllenNLP's function
    would import all of AllenNLP again, and look for changes on the disk before each module."""
    if all(name in sys.modules for name in plugins.discover_plugins()):
        sys.path += [folder for folder in [os.getcwd()] if folder not in sys.path]  # As it does.
    else:
        plugins.import_plugins()


def _include(package: str) -> None:
    try:
        import_module_and_submodules(package)
    except ModuleNotFoundError as error:
        # Not that of something which the package itself imports.
        if not f"{package}.".startswith(f"{error.name}."):
            raise
        raise ConfigurationError(f"--include-package {package}: there is no such package") from error


@in_sentences
def main(arguments: Sequence[str]) -> None:
    """
    Runs the command with these arguments, without its name.

    # Raises

    `SystemExit` where something went wrong: the status is 1 and the sentence is printed, 2 for a wrong option, and 130
    or 143 for a command that is stopped.
    """
    parser = parser_for(arguments)
    args = parser.parse_args(arguments)
    if not hasattr(args, "func"):
        parser.print_help()
        return
    _import_plugins()
    for package in getattr(args, "include_package", []):
        _include(package)
    args.func(args)


def _quietly() -> None:
    """No messages but warnings, and no plugin that asks the network for data."""
    log_quietly()
    plugins.DEFAULT_PLUGINS = ()  # type: ignore[assignment]


def run() -> None:
    """Runs the command of `sys.argv`."""
    # What was imported stays to the end; without this, each collection of garbage, and the exit, would look through it.
    gc.freeze()
    os.environ[_STARTED] = str(os.getpid())
    _quietly()
    install_sigterm_handler()
    main(sys.argv[1:])


if os.environ.get(_STARTED) == str(os.getppid()):
    # A worker of a distributed run: it imports the command before it begins.
    _quietly()
