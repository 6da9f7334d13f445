"""
A model's archive may come from anybody: opening one writes nothing outside its temporary folder, runs no code of its
own, and takes a bounded part of the disk.
"""

import gzip
import json
import os
import shutil
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Optional

from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.models import archival

from seal.patches.replacing import replace_once

#: What an archive may unpack to: this many bytes, or as many times its own size, whichever is more.
MOST_BYTES, MOST_RATIO = 2**30, 50
#: The bytes of its config.
MOST_CONFIG = 2**24

# The errors raised by reading a file that is not a `.tar.gz`, or not a complete one.
_DAMAGED = (tarfile.ReadError, gzip.BadGzipFile, zlib.error, EOFError)

# The archives by the folders that they are unpacked to, and the one whose parts are being constructed.
_unpacked: dict[str, str] = {}
_opening: ContextVar[Optional[str]] = ContextVar("opening", default=None)


@contextmanager
def extracted_archive(path: str, cleanup: bool = True) -> Iterator[str]:
    """
    A temporary folder with what an archive has; with `cleanup` it is removed at the end.

    # Raises

    `ConfigurationError` if the file is no archive, or a damaged one; if a member would lie outside the folder, is a
    device, or links to what is not in the archive; if there is too much; or if `config.json` is not plain JSON.
    """
    folder = tempfile.mkdtemp()
    done = False
    try:
        try:
            with tarfile.open(path, "r:gz") as archive:
                archive.extractall(folder, filter=_bounded(path))
        except _DAMAGED as error:
            raise ConfigurationError(f"{path} is not a model archive (.tar.gz): {error}") from error
        _check_config(path, os.path.join(folder, archival.CONFIG_NAME))
        _unpacked[folder] = path
        done = True
        yield folder
    finally:
        if cleanup or not done:
            _unpacked.pop(folder, None)
            shutil.rmtree(folder, ignore_errors=True)


def _bounded(path: str) -> Callable[[tarfile.TarInfo, str], tarfile.TarInfo]:
    most = max(MOST_BYTES, MOST_RATIO * os.path.getsize(path))
    total = 0

    def check(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo:
        nonlocal total
        total += member.size
        if total > most:
            raise ConfigurationError(
                f"{path}: it would unpack to more than {most:,} bytes, from {os.path.getsize(path):,}; this is no "
                "model."
            )
        try:
            return tarfile.data_filter(member, folder)
        except tarfile.FilterError as error:
            raise ConfigurationError(f"{path}: it is not opened, as it would write elsewhere: {error}.") from None

    return check


def _check_config(path: str, config: str) -> None:
    if not os.path.isfile(config):
        return  # AllenNLP says so; weights alone need none.
    if os.path.getsize(config) > MOST_CONFIG:
        raise ConfigurationError(f"{path}: its config has {os.path.getsize(config):,} bytes; this is no model.")
    try:
        with open(config, encoding="utf-8") as file:
            json.load(file)
    except (ValueError, RecursionError):
        raise ConfigurationError(
            f"{path}: its config is not plain JSON, which training writes; it is not evaluated as anything else."
        ) from None


def unpack_safely() -> None:
    """
    Patches: `allennlp.models.archival.extracted_archive`.

    Symptom: members of an archive are written outside the temporary folder, a pipe in place of the weights hangs, and
    a small file may fill the disk. Its config is evaluated as jsonnet, which may import files and take all memory. A
    damaged archive ends in a traceback.

    Can go: when AllenNLP unpacks with the `data` filter, to a bounded size, reads the config as JSON, and names the
    archive.
    """
    archival.extracted_archive = extracted_archive


def construct_registered_classes_only() -> None:
    """
    Patches: `Registrable.resolve_class_name`, and `_load_dataset_readers` and `_load_model` of
    `allennlp.models.archival`.

    Symptom: a class path in an archive's config, such as `evil.Model` or `subprocess.Popen`, is imported from the
    working folder or from anywhere, and called.

    Can go: when AllenNLP constructs only registered classes of archives.
    """

    def load(original: Callable, config: Any, *args: Any, **kwargs: Any) -> Any:
        token = _opening.set(next((_unpacked[arg] for arg in args if arg in _unpacked), None))
        try:
            return original(config, *args, **kwargs)
        finally:
            _opening.reset(token)

    replace_once(archival, "_load_dataset_readers", load)
    replace_once(archival, "_load_model", load)

    def resolve_class_name(original: Callable, cls: type, name: str) -> Any:
        archive = _opening.get()
        if archive is None or name in Registrable._registry[cls] or "." not in name:
            return original(cls, name)
        package = name.partition(".")[0]
        if package not in sys.modules:
            raise ConfigurationError(
                f"{archive}: its config names the class {name}, and the package is not loaded; if you trust both, add "
                f"--include-package {package}."
            )
        found, constructor = original(cls, name)
        if not (isinstance(found, type) and issubclass(found, cls)):
            raise ConfigurationError(f"{archive}: its config names {name} as a {cls.__name__}, which it is not.")
        return found, constructor

    replace_once(Registrable, "resolve_class_name", resolve_class_name)


PATCHES = (unpack_safely, construct_registered_classes_only)
