"""The sub-command `evaluate`: the scores of a trained model on files of data."""

import argparse
import json
import os
import sys
from contextlib import nullcontext
from copy import deepcopy
from pathlib import Path
from typing import Any, Optional

from allennlp.common import Params
from allennlp.common.util import prepare_environment
from allennlp.data import DataLoader
from allennlp.evaluation import Evaluator

from seal.allennlp.safe_archives import opening
from seal.cli.models import add_options_of_model, check_files_and_batch_size, load_model, write
from seal.common.nested_values import plain
from seal.files.atomic_files import open_locked, with_filename
from seal.files.paths import user_path
from seal.registry import ConfigurationError
from seal.tasks.base import OTHER_OUTPUTS, metrics_of_prediction

# The samplers that make batches of similar length.
_BY_TOKENS = ("bucket", "by_size", "frames")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the sub-command with its options."""
    parser = subparsers.add_parser(
        "evaluate",
        description="Score a trained model on a file of data, or on several.",
        help="Evaluate the specified model + dataset(s).",
    )
    add_options_of_model(parser)
    parser.add_argument("input_file", help="a file of data; commas between several")
    parser.add_argument("--output-file", metavar="FILE", help="a JSON file for the scores; commas between several")
    parser.add_argument(
        "--predictions-output-file", metavar="FILE", help="a file of JSON lines for predictions; commas between several"
    )
    parser.add_argument("--batch-size", type=int, help="instances in a batch (default: as in training)")
    parser.add_argument("--batch-weight-key", default="", help="the output by which the loss of a batch is weighted")
    parser.set_defaults(func=evaluate)
    return parser


def evaluate(args: argparse.Namespace) -> dict[str, Any]:
    """
    Scores the model on each file, and writes the scores and predictions to the files that the options name. Without a
    file for them, it prints the scores; the scores of the output of `seal predict` come first.

    # Raises

    `ConfigurationError` if an option is wrong; `OSError` if a file cannot be read or written.
    """
    inputs = inputs_of(args.input_file)
    scores_files, prediction_files = _checked_outputs(args, inputs)
    # The user has made the folder of a run; an archive may come from a stranger.
    with opening(None if os.path.isdir(args.archive_file) else args.archive_file):
        archive = load_model(args)
        model = archive.model
        config = deepcopy(archive.config)
        prepare_environment(config)
        params = config.pop("evaluation", {})
        params["cuda_device"] = args.cuda_device
        evaluator = Evaluator.from_params(params)
        every: dict[str, Any] = {}
        for place, (source, scores_file, predictions) in enumerate(zip(inputs, scores_files, prediction_files)):
            loader = DataLoader.from_params(
                batches_by_length(deepcopy(archive.config), args.batch_size),
                reader=archive.validation_dataset_reader,
                data_path=source,
            )
            loader.index_with(model.vocab)
            alone = open_locked(predictions, "--predictions-output-file") if predictions else nullcontext()
            with with_filename(predictions or ""), alone:
                made = evaluator(model, loader, args.batch_weight_key, None, predictions)  # type: ignore[arg-type]
            scores = _ordered(plain(made))
            if scores_file is not None:
                write(scores_file, json.dumps(scores, indent=2), "--output-file")
            name = Path(source).stem if isinstance(source, str) else str(place)
            every.update({key if len(inputs) == 1 else f"{name}_{key}": value for key, value in scores.items()})
    _tell_what_is_scored(scores)
    if not args.output_file:
        print(json.dumps(every, indent=2))
    return every


def _ordered(scores: dict[str, Any]) -> dict[str, Any]:
    """The scores, those of the output of `seal predict` first."""
    return {name: scores[name] for name in dict.fromkeys([*metrics_of_prediction(scores), *scores])}


def _tell_what_is_scored(scores: dict[str, Any]) -> None:
    """If there are scores of several outputs, explains on standard error which score belongs to which output."""
    others = {end: what for end, what in OTHER_OUTPUTS.items() if any(name.endswith(end) for name in scores)}
    if others:
        of_others = "; ".join(f"*{end}: {what}" for end, what in others.items())
        # Without the scores of single labels or roles.
        names = ", ".join(name for name in metrics_of_prediction(scores) if "-" not in name)
        print(f"what `seal predict` gives: {names}; {of_others}", file=sys.stderr)


def inputs_of(text: str) -> list[Any]:
    """The files of a comma-separated list, or the JSON objects that some readers take. An existing file is one name."""
    if os.path.exists(user_path(text)):
        return [text]
    try:
        return json.loads(f"[{text}]")
    except json.JSONDecodeError:
        return text.split(",")


def _checked_outputs(args: argparse.Namespace, inputs: list[Any]) -> list[list[Optional[str]]]:
    """The files for scores and the files for predictions, one for each input; `None` for an input without one."""
    named = {"--output-file": args.output_file, "--predictions-output-file": args.predictions_output_file}
    paths = {option: text.split(",") if text else [] for option, text in named.items()}
    for option, given in paths.items():
        if given and len(given) != len(inputs):
            raise ConfigurationError(
                f"{option}: {len(inputs)} files are evaluated, so name as many here, separated by commas; found "
                f"{len(given)}."
            )
    check_files_and_batch_size(args, [source for source in inputs if isinstance(source, str)], paths)
    return [[*given] or [None] * len(inputs) for given in paths.values()]


def batches_by_length(config: Params, batch_size: Optional[int]) -> Any:
    """
    The data loader of an evaluation, from the config of the archive. Batches have at most `batch_size` instances, or as
    many as in training. They are sorted by length and bounded in size, so that one long text does not pad others.
    """
    loader = config.get("validation_data_loader")
    loader = config.get("data_loader") if loader is None else loader
    if isinstance(loader, str):
        return loader if batch_size is None else Params({"type": loader, "batch_size": batch_size})
    sampler = loader.get("batch_sampler")
    of_sampler = sampler.params if isinstance(sampler, Params) else {}
    by_tokens = of_sampler.get("sorting_keys", ["tokens"]) == ["tokens"] and of_sampler.get("type") in _BY_TOKENS
    if batch_size is None and sampler is not None and not by_tokens:
        return loader
    size = batch_size or of_sampler.get("batch_size") or loader.get("batch_size")
    if batch_size is not None:
        loader.pop("batch_sampler", None)
        loader["batch_size"] = batch_size
    if loader.get("type", "multiprocess") == "multiprocess" and not loader.get("drop_last") and type(size) is int:
        for key in ("batch_size", "batch_sampler", "shuffle", "drop_last"):
            loader.pop(key, None)
        loader["batch_sampler"] = {"type": "by_length", "batch_size": size}
    return loader
