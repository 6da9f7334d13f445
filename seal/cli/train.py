"""The sub-command `train`: checks a config, trains its model, and packs the model as an archive."""

import argparse
import json
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.metadata import entry_points
from typing import Any, Optional

import torch.distributed as dist
from allennlp.commands.train import TrainModel
from allennlp.common import Params
from allennlp.common import logging as common_logging
from allennlp.common.util import SigTermReceived, prepare_environment
from allennlp.models.archival import CONFIG_NAME, verify_include_in_archive
from torch.multiprocessing import ProcessExitedException

from seal.allennlp.error_sentences import BEGUN, describe
from seal.cli.check import check
from seal.cli.config_keys import no_instance, with_config_key
from seal.cli.configs import read_config
from seal.cli.data_check import check_beginnings
from seal.cli.run_folder import check_folder, fill_folder, locked, sort_namespaces, write_archive
from seal.cli.workers import group_of, run_workers
from seal.files.atomic_files import with_filename
from seal.files.runs import read_run
from seal.registry import ConfigurationError

logger = logging.getLogger(__name__)

#: The name of the model card, in the folder of a run and in its archive.
CARD = "model_card.md"


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the sub-command `train`, with AllenNLP's options."""
    parser = subparsers.add_parser(
        "train", help="Train a model.", description="Train the model that a config names, on the data that it names."
    )
    add = parser.add_argument
    add("param_path", help="the config, a file of jsonnet")
    add("-s", "--serialization-dir", required=True, help="a folder for the model and the logs, which is made")
    add("-r", "--recover", action="store_true", help="continue the run of the folder, which was stopped")
    add("-f", "--force", action="store_true", help="empty the folder first")
    add(
        "-o",
        "--overrides",
        default="",
        help="""JSON: settings in the place of the config's, '{"trainer.patience": 3}'""",
    )
    add("--node-rank", type=int, default=0, help="of a run on several machines: the number of this one")
    add("--dry-run", action="store_true", help="do not train, but read the data, and make the vocabulary and the nets")
    add("--file-friendly-logging", action="store_true", help="a line for each progress bar, every ten seconds")
    parser.set_defaults(func=_train)
    return parser


def _train(args: argparse.Namespace) -> None:
    common_logging.FILE_FRIENDLY_LOGGING = args.file_friendly_logging
    path = train(
        read_config(args.param_path, args.overrides),
        args.serialization_dir,
        source=args.param_path,
        recover=args.recover,
        force=args.force,
        node_rank=args.node_rank,
        packages=args.include_package,
        dry_run=args.dry_run,
    )
    for line in () if path is None else _what_was_trained(args.serialization_dir, path):
        print(line)


def train(
    config: dict[str, Any],
    folder: str,
    *,
    recover: bool = False,
    force: bool = False,
    node_rank: int = 0,
    packages: Optional[list[str]] = None,
    dry_run: bool = False,
    source: Optional[str] = None,
) -> Optional[str]:
    """
    Trains the model of a config.

    # Parameters

    config : `dict[str, Any]`
    folder : `str`
        The folder for the model, the vocabulary, checkpoints and logs. It must be empty or not exist.
    recover, force : `bool`, optional (default = `False`)
        Whether to continue the run in the folder, or to empty the folder first.
    node_rank : `int`, optional (default = `0`)
        The number of this machine in a run on several machines.
    packages : `list[str]`, optional
        Packages that workers import in addition to plugins.
    dry_run : `bool`, optional (default = `False`)
        Whether to construct everything and train nothing.
    source : `str`, optional
        The file of the config, for messages.

    # Returns

    The path of the archive; `None` with `dry_run`.

    # Raises

    `ConfigurationError` for a mistake in the config, the data or the folder. The folder is then removed or emptied
    again.
    """
    # Further nodes of a distributed run may share the folder with the first one.
    with nullcontext() if node_rank else locked(folder):
        check_folder(folder, config, recover, force)
        check(config, source)
        check_beginnings(config)
        existed = os.path.exists(folder)
        try:
            fill_folder(folder, config, force)
            return _run(config, folder, recover, node_rank, packages or [], dry_run)
        except (KeyboardInterrupt, SigTermReceived) as error:
            if not dry_run and os.path.exists(os.path.join(folder, CONFIG_NAME)):
                option = "" if recover else " with --recover in the place of --force" if force else " with --recover"
                error.remedies = [f"the same command{option} continues the run"]  # type: ignore[union-attr]
            raise
        except Exception as error:
            if not recover and not node_rank and describe(error) is not None and not _has_begun(error):
                # Log handlers keep writing to their open files.
                shutil.rmtree(folder, ignore_errors=True)
                if existed:
                    os.makedirs(folder, exist_ok=True)
            raise


def _has_begun(error: Exception) -> bool:
    """Whether the error was raised during training. The kill of a worker counts, because it may have been."""
    text = "\n".join([str(error), *getattr(error, "__notes__", ())])
    return isinstance(error, ProcessExitedException) or BEGUN in text


def _run(
    config: dict[str, Any], folder: str, recover: bool, node_rank: int, packages: list[str], dry_run: bool
) -> Optional[str]:
    """Trains in the folder, and packs the model."""
    settings = Params(config).duplicate()
    settings.pop("evaluation", None)
    include = settings.pop("include_in_archive", None)
    verify_include_in_archive(include)
    section = settings.params.pop("distributed", None)
    try:
        if section is None:
            common_logging.prepare_global_logging(folder)
            prepare_environment(settings)
            _work(settings, folder, dry_run)
        else:
            with with_config_key():
                group = group_of(section, node_rank, packages)
                run_workers(group, _work, settings, folder, recover, dry_run)
    except (KeyboardInterrupt, SigTermReceived):
        if os.path.exists(os.path.join(folder, "best.th")):
            write_archive(folder, include)
        raise
    if dry_run:
        return None
    with _begun():
        return write_archive(folder, [*(include or ()), *_card(folder)])


@contextmanager
def _begun() -> Iterator[None]:
    """A context that marks its errors as raised during training."""
    try:
        yield
    except Exception as error:
        error.add_note(BEGUN)
        raise


def _work(params: Params, folder: str, dry_run: bool, rank: int = 0, accelerator: Any = None) -> None:
    """Constructs the objects of the config, and trains. Each process of a run calls it."""
    with with_config_key(), with_filename(folder):
        given = {"serialization_dir": folder, "local_rank": rank, "ddp_accelerator": accelerator}
        loop: Any = TrainModel.from_params(params, **given)
        _check_made(loop)
        if rank == 0:
            sort_namespaces(folder)
    if dry_run:
        return
    with _begun(), with_config_key(), with_filename(folder):
        if dist.is_initialized():
            dist.barrier()
        metrics = loop.run()
        if rank == 0:
            loop.finish(metrics)


def _check_made(loop: Any) -> None:
    """Raises a `ConfigurationError` if a data loader has no instance."""
    trainer = loop.trainer
    message = no_instance([trainer.data_loader, trainer._validation_data_loader, loop.evaluation_data_loader])
    if message is not None:
        raise ConfigurationError(message)


def _card(folder: str) -> list[str]:
    """Writes the report of the run, without figures and examples, as the model card. Returns the written files."""
    try:
        text = entry_points(group="seal.commands")["report"].load().card(folder)
        with open(os.path.join(folder, CARD), "w", encoding="utf-8") as file:
            file.write(text)
        return [CARD]
    except (ConfigurationError, ImportError, KeyError, OSError) as error:  # The archive matters more.
        logger.warning("There is no model card: %s", error)
        return []


def _what_was_trained(folder: str, path: str) -> Iterator[str]:
    """Yields the lines to print after a training: the best epoch, its scores, and the choices of a structure."""
    try:
        found = read_run(folder, "")
    except ConfigurationError:  # A training of no epoch.
        yield path
        return
    metric = found.validation_metric
    score = found.scores.get(f"validation_{metric}")
    reached = "" if score is None else f", validation {metric} {score:.4g}"
    own = found.scores.get(f"validation_{metric}_own")
    reached += "" if own is None else f" (of the task-net's own output {own:.4g})"
    yield f"{path}: epoch {found.best_epoch + 1} of {len(found.epochs)} was the best{reached}"
    yield from _decisions(os.path.join(folder, "structure.json"))
    yield f"to look at it: seal report {folder} --out report.html"


def _decisions(path: str) -> Iterator[str]:
    """
    Yields a line for each choice of a structure's gate, with its reason, and for each rule that the training gold
    keeps. `path` is the file `structure.json`, which only a run with a structure has.
    """
    if not os.path.isfile(path):
        return
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    for score, found in report["decisions"].items():
        own, chosen = (100 * found["values"][option] for option in ("own", found["option"]))
        # `seal predict` uses the choice for `model.score`.
        other = "" if score == report.get("score", score) else f", if model.score is '{score}'"
        yield f"{score} of validation data: {own:.2f} own, {chosen:.2f} chosen{other}; {found['told']}"
    for rule, shares in report.get("declared", {}).items():
        least = min(shares.values())
        yield f"declared: {rule} each of {', '.join(shares)}, as at least {100 * least:.2f} % of training gold has it"
