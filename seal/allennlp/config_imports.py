"""Configs import the library of configs by the same name in every folder: `import 'seal/srl.libsonnet'`."""

from pathlib import Path

from allennlp.common import params as allennlp_params
from allennlp.common.util import SigTermReceived

from seal.allennlp.replacing import replace_once
from seal.allennlp.safe_archives import config_of_archive
from seal.common.setting_checks import suggest

#: The prefix of the files of the library in imports.
PREFIX = "seal/"

_PACKAGE = Path(__file__).resolve().parents[1]


def library_folder() -> Path:
    """The folder of the library: inside an installed package, or beside the package in a clone."""
    installed = _PACKAGE / "config_library"
    return installed if installed.is_dir() else _PACKAGE.parent / "training_configs" / "lib"


def find_import(folder: str, name: str) -> tuple[str, bytes]:
    """
    Finds the file that a config imports: a file beside the config, or `seal/NAME` of the library. It is jsonnet's
    `import_callback`.

    # Parameters

    folder : `str`
        The folder of the importing file, with a final `/`; empty for the working folder.
    name : `str`
        The string after `import`, `importstr` or `importbin`.

    # Returns

    The file's path and content.

    # Raises

    `RuntimeError` if there is no such file, or it cannot be read. Jsonnet adds the place of the import.
    """
    path = Path(folder, name)
    if name.startswith(PREFIX) and not path.exists():
        library = library_folder()
        path = library / name.removeprefix(PREFIX)
        if not path.exists():
            known = [PREFIX + file.name for file in library.glob("*.libsonnet")]
            raise RuntimeError(f"the library of configs has no such file{suggest(name, known)}")
    try:
        return str(path), path.read_bytes()
    except OSError as error:
        raise RuntimeError(error.strerror) from error


def import_the_library_by_name() -> None:
    """
    Patches: `allennlp.common.params.evaluate_file`, which reads configs, and `evaluate_snippet`, which reads overrides.

    Symptom: `couldn't open import "seal/srl.libsonnet"`. A config would need the path from its own folder to the
    library, which an installed package has among the packages. A command that is stopped while it reads its config
    reports an error of the config. The config of an archive is evaluated as jsonnet, which may import files and take
    all memory.

    Can go: when AllenNLP lets a plugin name folders of configs. (Jsonnet's `jpathdir` would need these files in a
    folder `seal`.)
    """

    def evaluate_snippet(original, *args, **kwargs):
        stops: list[BaseException] = []

        def find(folder: str, name: str) -> tuple[str, bytes]:
            try:
                return find_import(folder, name)
            except (KeyboardInterrupt, SigTermReceived) as stop:
                stops.append(stop)
                raise

        try:
            return original(*args, **{"import_callback": find, **kwargs})
        except RuntimeError:
            # Jsonnet reports any error of its callback as an error of the config.
            if stops:
                raise stops[0] from None
            raise

    def evaluate_file(original, filename, *args, **kwargs):
        # The config of an archive was found to be JSON when it was unpacked. It is not evaluated.
        text = config_of_archive(filename)
        return evaluate_snippet(original, filename, *args, **kwargs) if text is None else text

    replace_once(allennlp_params, "evaluate_file", evaluate_file)
    replace_once(allennlp_params, "evaluate_snippet", evaluate_snippet)


PATCHES = (import_the_library_by_name,)
