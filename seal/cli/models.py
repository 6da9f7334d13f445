"""The options of commands that load a trained model, and checks of the files that such a command reads and writes."""

import argparse
import glob
import os
from contextlib import nullcontext
from typing import Any, Optional

from allennlp.common import logging as common_logging
from allennlp.common.checks import check_for_gpu
from allennlp.models.archival import Archive

from seal.allennlp.model_names import ready_model
from seal.allennlp.safe_archives import open_archive, opening
from seal.cli.check import check_overridden
from seal.cli.config_keys import with_config_key
from seal.cli.configs import overridden
from seal.common.setting_checks import check_range
from seal.files.atomic_files import atomic_write
from seal.files.paths import user_path
from seal.registry import ConfigurationError

#: The files that a command reads in the folder of a model.
_FILES_OF_MODEL = ("config.json", "model.tar.gz", "weights.th", "best.th")


def add_options_of_model(parser: argparse.ArgumentParser) -> None:
    """Adds the options of a trained model; its archive is the first argument."""
    parser.add_argument(
        "archive_file", help="a trained model: its name, an archive, the folder of a run, or hf://USER/MODEL"
    )
    parser.add_argument("--weights-file", metavar="FILE", help="weights in place of those of the archive")
    parser.add_argument("--cuda-device", type=int, default=-1, help="number of the GPU, or -1 for the CPU")
    parser.add_argument(
        "-o", "--overrides", default="", help="changes of the archive's config, as JSON, such as '{\"a.b\": 1}'"
    )
    parser.add_argument(
        "--file-friendly-logging", action="store_true", help="progress bars as lines, also where there is no terminal"
    )


def load_model(args: argparse.Namespace) -> Archive:
    """
    Loads the model that the options name. It also sets the style of progress bars.

    # Raises

    `ConfigurationError` if the GPU does not exist, the archive cannot be opened, or the overrides are wrong.
    """
    common_logging.FILE_FRIENDLY_LOGGING = args.file_friendly_logging
    check_for_gpu(args.cuda_device)

    def check(trained: dict[str, Any]) -> None:
        # The user has made the folder of a run; an archive may come from a stranger.
        with opening(None if os.path.isdir(args.archive_file) else args.archive_file):
            check_overridden(overridden(trained, args.overrides), trained)

    with with_config_key():
        return open_archive(
            args.archive_file, args.cuda_device, args.overrides, args.weights_file, check if args.overrides else None
        )


def check_files_and_batch_size(args: argparse.Namespace, inputs: list[str], outputs: dict[str, list[str]]) -> None:
    """
    Checks `--batch-size` and the output files.

    # Parameters

    args : `argparse.Namespace`
    inputs : `list[str]`
        The paths of data.
    outputs : `dict[str, list[str]]`
        The output files by the option that names them; empty paths are ignored.

    # Raises

    `ConfigurationError` if the batch size is below 1, an output file would overwrite the model, the data or another
    output, or its folder does not exist.
    """
    check_range("--batch-size", args.batch_size, least=1)
    read = _files_read([*inputs, args.archive_file, args.weights_file])
    option_of: dict[str, str] = {}
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


def _files_read(paths: list[Optional[str]]) -> list[str]:
    """The files of paths of models and data: a path may be a folder, a pattern, or a part of a file, `FILE#valid`."""
    files: list[str] = []
    for path in map(user_path, filter(None, paths)):
        path = ready_model(path) or path
        files += [path, *glob.glob(path.partition("#")[0])]
        files += [os.path.join(path, name) for name in _FILES_OF_MODEL]
    return [file for file in files if os.path.isfile(file)]


def write(path: str, text: str, option: str = "--out") -> None:
    """
    Writes the file that an option names. If the disk is full, an earlier file of this name is unchanged. A pipe or a
    device is not replaced.
    """
    try:
        is_device = os.path.exists(path) and not os.path.isfile(path)
        # For a link, the file that it names is replaced.
        whole = nullcontext(path) if is_device else atomic_write(os.path.realpath(path))
        with whole as draft, open(draft, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ConfigurationError(f"{option}: '{path}' cannot be written ({error.strerror}).") from error
