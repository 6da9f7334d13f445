"""
The command `seal`, a faster and quieter `allennlp` with this package loaded.

`seal train ...`, or `python -m seal train ...`, takes the options of `allennlp train`. It needs no plugins file and no
`--include-package seal`. It does not import `allennlp_models`, which downloads data; `--include-package
allennlp_models` does. It prints warnings and results; the settings are in the run's `config.json` and `out.log`. A
user's mistake ends in one sentence (`seal.cli.errors`).
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

#: Modules of AllenNLP that are deprecated, are for tests, are programs, or need a package that is not installed.
NOT_IMPORTED = (
    "allennlp.common.testing",
    "allennlp.confidence_checks.task_checklists",
    "allennlp.sanity_checks",
    "allennlp.tools",
)

try:
    with lazy(*LAZY):
        # It comes first, because it hides warnings of AllenNLP's imports.
        importlib.import_module("seal.plugin")
        import allennlp
        from allennlp.commands import ArgumentParserWithDefaults, Subcommand
        from allennlp.common import plugins
        from allennlp.common.util import import_module_and_submodules, install_sigterm_handler

        # Configs can then name every class that AllenNLP registers.
        import_below(allennlp, NOT_IMPORTED)
except ImportError as error:
    if (error.name or "").partition(".")[0] != "allennlp":
        raise
    if sys.argv[1:2] == ["structure"]:
        from seal.cli.structure import main as structure

        sys.exit(structure(sys.argv[2:]))
    sys.exit("error: the command `seal` needs AllenNLP, and the core does without; see docs/running.md.")
except KeyboardInterrupt:
    # These imports take seconds, and `seal.cli.errors` is not imported yet.
    print("stopped", file=sys.stderr)
    sys.exit(130)

from seal.cli.errors import in_sentences  # noqa: E402
from seal.cli.logs import log_quietly  # noqa: E402
from seal.registry import ConfigurationError  # noqa: E402
from seal.version import VERSION  # noqa: E402

#: The command's own sub-commands: modules of this package, each with a function `add_parser`.
OWN = ("check", "evaluate", "predict", "structure", "train")
#: The group of entry points whose modules register further sub-commands with AllenNLP: the commands of `seal_inspect`,
#: and those of other packages. A module is imported when its command is called.
COMMANDS = "seal.commands"
# The environment variable with the id of the command's process. A process whose parent has this id is a worker.
_STARTED = "SEAL_COMMAND"


class _Parser(ArgumentParserWithDefaults):
    """A parser whose error for a sub-command of `allennlp` names that command."""

    def error(self, message: str) -> NoReturn:
        theirs = (name for name in Subcommand.list_available() if name not in OWN)
        asked = next((name for name in theirs if f"invalid choice: '{name}'" in message), None)
        super().error(message if asked is None else f"seal does not have {asked}; try `allennlp {asked}`.")


def parser_for(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser for the sub-command that a command line names, or for all sub-commands if it names none."""
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
    """The sub-commands that other packages than AllenNLP register; of entry points, only the command that is called."""
    found = entry_points(group=COMMANDS)
    for entry in found.select(name=asked) or found:
        entry.load()
    if not found.select(name=asked):
        plugins.import_plugins()
    known = {name: Subcommand.by_name(name) for name in Subcommand.list_available()}
    return {name: cls for name, cls in known.items() if not cls.__module__.startswith("allennlp.")}


def _import_plugins() -> None:
    """
    Imports the plugins that AllenNLP's plugins files name. If all of them are imported already, as seal is, AllenNLP's
    function is not called: it would search the disk before each module of AllenNLP.
    """
    if all(name in sys.modules for name in plugins.discover_plugins()):
        sys.path += [folder for folder in [os.getcwd()] if folder not in sys.path]  # As it does.
    else:
        plugins.import_plugins()


def _include(package: str) -> None:
    try:
        import_module_and_submodules(package)
    except ModuleNotFoundError as error:
        # The package may exist, and import a module that does not.
        if not f"{package}.".startswith(f"{error.name}."):
            raise
        raise ConfigurationError(f"--include-package {package}: there is no such package") from error


@in_sentences
def main(arguments: Sequence[str]) -> None:
    """
    Runs the command with these arguments, without its name.

    # Raises

    `SystemExit` after an error: with status 1 for a user's mistake, 2 for a wrong option, and 130 or 143 for a stopped
    command.
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
    """Restricts the console to warnings, and disables the default plugin `allennlp_models`, which downloads data."""
    log_quietly()
    plugins.DEFAULT_PLUGINS = ()  # type: ignore[assignment]


def run() -> None:
    """Runs the command of `sys.argv`."""
    # Imported objects stay until the end, so the garbage collector need not visit them.
    gc.freeze()
    os.environ[_STARTED] = str(os.getpid())
    _quietly()
    install_sigterm_handler()
    main(sys.argv[1:])


if os.environ.get(_STARTED) == str(os.getppid()):
    # A worker of a distributed run: it imports the command before it begins.
    _quietly()
