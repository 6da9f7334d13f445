"""The library of configs by a name that is the same everywhere: `import 'seal/srl.libsonnet'`."""

from pathlib import Path

from allennlp.common import params as allennlp_params

from seal.patches.config_keys import suggest
from seal.patches.replacing import replace_once

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
    library, which in an installed package lies among the packages.

    Can go: when AllenNLP lets a plugin name folders of configs. (Jsonnet's `jpathdir` alone would need a folder `seal`
    that has the files.)
    """

    def evaluate(original, *args, **kwargs):
        return original(*args, **{"import_callback": find_import, **kwargs})

    replace_once(allennlp_params, "evaluate_file", evaluate)
    replace_once(allennlp_params, "evaluate_snippet", evaluate)


PATCHES = (import_the_library_by_name,)
