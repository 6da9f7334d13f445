"""
A model's archive may come from anybody. Opening one writes nothing outside its temporary folder, runs none of its code,
and takes a bounded part of the disk.
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
from typing import IO, Any, Optional

from allennlp.commands import evaluate
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.models import archival

from seal.patches.replacing import replace_once

#: What an archive may unpack to: this many bytes, or as many times its own size, whichever is more.
MOST_BYTES, MOST_RATIO = 2**30, 50
#: How many members it may have.
MOST_MEMBERS = 1000
#: The bytes of a header, which holds a long name, and of all headers together: they are read into memory.
MOST_HEADER, MOST_HEADERS = 2**13, 2**21
#: The bytes of its config.
MOST_CONFIG = 2**20

# The errors raised by reading a file that is not a `.tar.gz`, or not a complete one, or has headers that make no sense.
_DAMAGED = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ArithmeticError, RecursionError, ValueError)

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
            with gzip.open(path) as file:
                unpacked = _Unpacked(file, path)
                with tarfile.open(fileobj=unpacked, mode="r:") as archive:
                    archive.extractall(folder, filter=_bounded(path, archive, unpacked))
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


class _Unpacked:
    """
    The bytes of an archive, which are read forwards: the content of members that are allowed, and their headers, which
    are few and small.

    # Attributes

    content_end : `int`
        Where the content of the last member that is allowed ends.
    """

    def __init__(self, file: IO[bytes], path: str) -> None:
        self._file, self._path = file, path
        self._of_headers = self.content_end = 0

    def read(self, size: int) -> bytes:
        if self.tell() + size > self.content_end:
            self._of_headers += size
            if size > MOST_HEADER or self._of_headers > MOST_HEADERS:
                raise ConfigurationError(
                    f"{self._path}: names and other headers of its files have more than {MOST_HEADER:,} bytes, or more "
                    f"than {MOST_HEADERS:,} together; this is no model."
                )
        return self._file.read(size)

    def seek(self, place: int) -> None:
        if not self.tell() <= place <= self.content_end:
            raise tarfile.ReadError("a member links to one that does not come before it")
        self._file.seek(place)

    def tell(self) -> int:
        return self._file.tell()


def _bounded(
    path: str, archive: tarfile.TarFile, unpacked: _Unpacked
) -> Callable[[tarfile.TarInfo, str], tarfile.TarInfo]:
    most = max(MOST_BYTES, MOST_RATIO * os.path.getsize(path))
    total = count = 0

    def check(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo:
        nonlocal total, count
        count += 1
        if count > MOST_MEMBERS:
            raise ConfigurationError(f"{path}: it has more than {MOST_MEMBERS:,} files; this is no model.")
        # The header was read last, and the next one begins where the content ends. A sparse file is larger than that.
        total += max(member.size, archive.offset - unpacked.tell())
        if total > most:
            raise ConfigurationError(
                f"{path}: it would unpack to more than {most:,} bytes, from {os.path.getsize(path):,}; this is no "
                "model."
            )
        unpacked.content_end = archive.offset
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


def config_of_archive(path: str) -> Optional[str]:
    """The text of a file in the folder of an archive that was unpacked, as it is; `None` of any other file."""
    if os.path.dirname(path) not in _unpacked:
        return None
    with open(path, encoding="utf-8") as file:
        return file.read()


def unpack_safely() -> None:
    """
    Patches: `allennlp.models.archival.extracted_archive`.

    Symptom: members of an archive are written outside the temporary folder, a pipe in place of the weights hangs, and
    a small file may fill the disk, or memory by the names in it. Its config is evaluated as jsonnet, which may import
    files and take all memory. A damaged archive ends in a traceback.

    Can go: when AllenNLP unpacks with the `data` filter, to a bounded size, reads the config as JSON, and names the
    archive.
    """
    archival.extracted_archive = extracted_archive


def construct_registered_classes_only() -> None:
    """
    Patches: `Registrable.resolve_class_name`, `_load_dataset_readers` and `_load_model` of
    `allennlp.models.archival`, and `allennlp.commands.evaluate.evaluate_from_archive`, which constructs further parts.

    Symptom: a class path in an archive's config, such as `evil.Model` or `subprocess.Popen`, is imported from the
    working folder or from anywhere, and called.

    Can go: when AllenNLP constructs only registered classes of archives.
    """

    @contextmanager
    def opening(archive: Optional[str]) -> Iterator[None]:
        token = _opening.set(archive)
        try:
            yield
        finally:
            _opening.reset(token)

    def load(original: Callable, config: Any, *args: Any, **kwargs: Any) -> Any:
        with opening(next((_unpacked[arg] for arg in args if arg in _unpacked), None)):
            return original(config, *args, **kwargs)

    def evaluate_from_archive(original: Callable, archive_file: Any, *args: Any, **kwargs: Any) -> Any:
        # The folder of a run is the user's own.
        with opening(None if os.path.isdir(archive_file) else str(archive_file)):
            return original(archive_file, *args, **kwargs)

    replace_once(archival, "_load_dataset_readers", load)
    replace_once(archival, "_load_model", load)
    replace_once(evaluate, "evaluate_from_archive", evaluate_from_archive)

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
