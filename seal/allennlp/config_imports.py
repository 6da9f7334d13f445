"""The library of configs by a name that is the same everywhere: `import 'seal/srl.libsonnet'`."""

from pathlib import Path

from allennlp.common import params as allennlp_params
from allennlp.common.util import SigTermReceived

from seal.allennlp.replacing import replace_once
from seal.allennlp.safe_archives import config_of_archive
from seal.common.setting_checks import suggest

#: What a config writes before the name of a file of the library.
PREFIX = "seal/"

_PACKAGE = Path(__file__).resolve().parents[1]


def library_folder() -> Path:
    """The folder of the library's files: in an installed package a part of it, in a clone beside it."""
    installed = _PACKAGE / "config_library"
    return installed if installed.is_dir() else _PACKAGE.parent / "training_configs" / "lib"


def find_import(folder: str, name: str) -> tuple[str, bytes]:
    """
    What a config imports, as jsonnet's `import_callback`: a file beside it, or `seal/NAME` of the library.

    # Parameters

    folder : `str`
        That of the file that imports, with `/` at its end; empty for the working folder.
    name : `str`
        As it stands after `import`, `importstr` or `importbin`.

    # Returns

    The file's path and content.

    # Raises

    `RuntimeError` if there is no such file, or it cannot be read; jsonnet says where it is imported.
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
    Patches: `allennlp.common.params.evaluate_file` and `evaluate_snippet`, which overrides are read by.

    Symptom: `couldn't open import "seal/srl.libsonnet"`: a config has to give the path from its own folder to the
    library, which in an installed package lies among the packages. A command that is stopped while it reads its config
    is told that as well. The config of an archive is evaluated as jsonnet, which may import files and take all memory.

    Can go: when AllenNLP lets a plugin name folders of configs. (Jsonnet's `jpathdir` alone would need a folder `seal`
    that has the files.)
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
            # Jsonnet makes whatever its callback raises an error of the config.
            if stops:
                raise stops[0] from None
            raise

    def evaluate_file(original, filename, *args, **kwargs):
        # Of an archive it was found to be JSON when it was unpacked, and is not evaluated.
        text = config_of_archive(filename)
        return evaluate_snippet(original, filename, *args, **kwargs) if text is None else text

    replace_once(allennlp_params, "evaluate_file", evaluate_file)
    replace_once(allennlp_params, "evaluate_snippet", evaluate_snippet)


PATCHES = (import_the_library_by_name,)
