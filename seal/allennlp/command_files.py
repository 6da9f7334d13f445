"""Checks of the files and packages that a user gives to AllenNLP's sub-commands."""

import glob
import os
from typing import Optional

from allennlp import commands
from allennlp.common.checks import ConfigurationError

from seal.allennlp.replacing import replace_once
from seal.common.setting_checks import check_range
from seal.files.paths import user_path

#: What a command reads of a model that is given as a folder.
_FILES_OF_MODEL = ("config.json", "model.tar.gz", "weights.th", "best.th")


def _files_read(paths: list[Optional[str]]) -> list[str]:
    """The files behind the paths of models and data: a model's folder, a pattern, or a part of a file, `FILE#valid`."""
    files: list[str] = []
    for path in map(user_path, filter(None, paths)):
        files += [path, *glob.glob(path.partition("#")[0])]
        files += [os.path.join(path, name) for name in _FILES_OF_MODEL]
    return [file for file in files if os.path.isfile(file)]


def check_files_and_batch_size(
    batch_size: Optional[int], inputs: list[Optional[str]], outputs: dict[str, list[str]]
) -> None:
    """
    Refuses a batch size below 1, and output files that would be lost or would lose another: paths by the option that
    names them, empty ones left out. The `inputs`, paths of data and of models, must not be written to.
    """
    check_range("--batch-size", batch_size, least=1)
    read = _files_read(inputs)
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


def name_packages_that_are_not_there() -> None:
    """
    Patches: `allennlp.commands.import_module_and_submodules`.

    Symptom: a misspelt `--include-package` ends in a traceback.

    Can go: when AllenNLP says that there is no such package.
    """

    def import_module_and_submodules(original, package_name, *args, **kwargs):
        try:
            return original(package_name, *args, **kwargs)
        except ModuleNotFoundError as error:
            # Not that of something which the package itself imports.
            if not f"{package_name}.".startswith(f"{error.name}."):
                raise
            raise ConfigurationError(f"--include-package {package_name}: there is no such package") from error

    replace_once(commands, "import_module_and_submodules", import_module_and_submodules)


PATCHES = (name_packages_that_are_not_there,)
