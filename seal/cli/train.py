"""The sub-command `train`."""

import argparse
import json
import logging
import os
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Any

from allennlp.commands import train

from seal.allennlp.replacing import replace_once
from seal.files.runs import read_run
from seal.registry import ConfigurationError

#: In the folder of a run and in its archive.
CARD = "model_card.md"


def add_parser(subparsers: argparse._SubParsersAction) -> argparse.ArgumentParser:
    _say_what_was_trained()
    return train.Train().add_subparser(subparsers)


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
    text = entry_points(group="seal.commands")["report"].load().card(folder)
    with open(os.path.join(folder, CARD), "w", encoding="utf-8") as file:
        file.write(text)


def _decisions(path: str) -> Iterator[str]:
    """A table of what the gate chose for each score, from the file that a run with a structure has."""
    if not os.path.isfile(path):
        return
    rows = [("on validation data", "own", "chosen", "gain", "standard error", "by")]
    with open(path, encoding="utf-8") as file:
        decisions = json.load(file)["decisions"]
    for score, found in decisions.items():
        numbers = (found["values"]["own"], found["values"][found["option"]], found["gain"], found["standard_error"])
        own, chosen, gain, error = (f"{100 * number:.2f}" for number in numbers)
        by = "the task-net's own output" if found["option"] == "own" else found["option"]
        rows.append((score, own, chosen, gain, error, by))
    widths = [max(map(len, column)) for column in zip(*rows)]
    for first, *numbers, by in rows:
        cells = (number.rjust(width) for number, width in zip(numbers, widths[1:]))
        yield "  ".join((first.ljust(widths[0]), *cells, by))
