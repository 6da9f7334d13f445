"""
A cache of arrays that were parsed from large files. An entry is a folder of `.npy` files, named by a hash of the files'
content and of the settings of the parser.

The arrays of an entry are memory-mapped, so that the system can drop their pages when memory is short. An entry is
written under a temporary name and renamed when it is complete. A missing or damaged entry is rebuilt.
"""

import functools
import hashlib
import json
import logging
import os
import re
import secrets
import shutil
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, Optional, TypeVar

import numpy

from seal.files.paths import user_path

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: The environment variable with the folder of the cache, or `off`.
VARIABLE = "SEAL_CACHE"
#: Smaller files are not cached, because they are parsed in less than half a second.
LEAST_BYTES = 5_000_000
# The version of the parsers: raise it when the result of a parser changes.
_VERSION = 1

_LIST = "entry.json"
_NAME = re.compile(r"(draft-)?[0-9a-f]{40}(-\w+)?")
# The days after which an unused entry, and the draft of a killed process, is removed.
_DAYS, _DAYS_OF_DRAFTS = 30, 1
# NumPy leaves room in a header for any number of rows.
_HEADER_BYTES = 128
_BYTES_AT_ONCE = 2**18


class Arrays:
    """
    Named arrays in memory, to which rows can be appended.

    # Parameters

    arrays : `Mapping[str, numpy.ndarray]`, optional
        The initial arrays.
    """

    def __init__(self, arrays: Optional[Mapping[str, numpy.ndarray]] = None) -> None:
        self._parts = {name: [array] for name, array in (arrays or {}).items()}

    def __contains__(self, name: str) -> bool:
        return name in self._parts

    def append(self, name: str, values: numpy.ndarray) -> None:
        """Appends rows to an array; the first call creates it."""
        self._parts.setdefault(name, []).append(values)

    def array(self, name: str) -> numpy.ndarray:
        """All rows so far. Change values by `write` only."""
        parts = self._parts[name]
        if len(parts) > 1:
            parts[:] = [numpy.concatenate(parts)]
        return parts[0]

    def write(self, name: str, start: int, values: numpy.ndarray) -> None:
        """Overwrites rows from the row `start` on."""
        self.array(name)[start : start + len(values)] = values

    def remove(self, name: str) -> None:
        del self._parts[name]


class MappedArrays(Arrays):
    """Named arrays in memory-mapped files of a folder, to which rows can be appended."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = folder
        self._files: dict[str, BinaryIO] = {}
        self._types: dict[str, tuple[numpy.dtype, tuple[int, ...]]] = {}
        self._rows: dict[str, int] = {}
        #: Whether the entry is to be kept.
        self.keep = True

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def append(self, name: str, values: numpy.ndarray) -> None:
        if name not in self._files:
            self._files[name] = open(self._path(name), "w+b")
            self._types[name], self._rows[name] = (values.dtype, values.shape[1:]), 0
            self._files[name].write(bytes(_HEADER_BYTES))
        self._files[name].write(_bytes(values))
        self._rows[name] += len(values)

    def array(self, name: str) -> numpy.ndarray:
        file, (dtype, columns) = self._files[name], self._types[name]
        file.seek(0)
        descr, shape = numpy.lib.format.dtype_to_descr(dtype), (self._rows[name], *columns)
        numpy.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
        file.flush()
        file.seek(0, os.SEEK_END)
        return mapped(self._path(name))

    def write(self, name: str, start: int, values: numpy.ndarray) -> None:
        # Writing through the memory map would end the process on some file systems when the disk is full.
        dtype, columns = self._types[name]
        row = int(numpy.prod(columns, dtype=int)) * dtype.itemsize
        self._files[name].seek(_HEADER_BYTES + start * row)
        self._files[name].write(_bytes(values))
        self._files[name].seek(0, os.SEEK_END)

    def remove(self, name: str) -> None:
        self._files.pop(name).close()
        os.remove(self._path(name))

    def finish(self, of: Sequence[str]) -> None:
        """Completes the entry: writes the list of arrays with their checksums and, for information, the paths `of`."""
        for name in self._files:
            self.array(name)
        self.close()
        sums = {name: _checksum(self._path(name)) for name in self._types if os.path.exists(self._path(name))}
        with open(os.path.join(self._folder, _LIST), "w", encoding="utf-8") as file:
            json.dump({"of": [os.fspath(path) for path in of], "sums": sums}, file, indent=1)

    def close(self) -> None:
        with ExitStack() as closing:
            for file in self._files.values():
                closing.callback(file.close)

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, f"{name}.npy")


def kept_or_read(
    files: Sequence[Sequence[str]], settings: Any, read: Callable[[Arrays], T], again: Callable[[Arrays], T]
) -> T:
    """
    Parses files, or restores the result from the cache if files with the same content were parsed with the same
    settings before.

    # Parameters

    files : `Sequence[Sequence[str]]`
        Groups of files that the result depends on. If the first group has fewer than `LEAST_BYTES`, nothing is cached.
    settings : `Any`
        All settings that the result depends on; serializable as JSON.
    read : `Callable`
        Parses the files, and writes everything whose size grows with the rows into the arrays.
    again : `Callable`
        Makes the same result from arrays that `read` has filled.
    """
    folder = cache_folder()
    before = _states(files)
    if folder is None or before is None or sum(size for size, _ in before[0]) < LEAST_BYTES:
        return read(Arrays())
    try:
        key = _key(files, settings)
    except OSError:
        return read(Arrays())  # It reports the error in the files.
    entry = _entry(folder, key)
    if entry is not None:
        return again(entry)
    try:
        with _draft(folder, key, files[0]) as arrays:
            result = read(arrays)
            arrays.keep = _states(files) == before
            return result
    except OSError as error:
        _warn(folder, error.strerror or str(error))
    return read(Arrays())


def cache_folder() -> Optional[str]:
    """The folder of the cache, which may not exist yet; `None` if `SEAL_CACHE` is `off`."""
    given = os.environ.get(VARIABLE)
    if given is not None and given.lower() == "off":
        return None
    if given:
        return user_path(given)
    base = os.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(base if os.path.isabs(base) else user_path("~/.cache"), "seal")


def mapped(path: str) -> numpy.ndarray:
    """The memory-mapped array of an `.npy` file. Changes to it are not written to the file."""
    try:
        return numpy.load(path, mmap_mode="c").view(numpy.ndarray)
    except ValueError:
        # An array without rows cannot be memory-mapped.
        return numpy.load(path)


def is_mapped(array: numpy.ndarray) -> bool:
    """Whether an array is memory-mapped, or a view of a memory-mapped array."""
    base: Any = array
    while isinstance(base, numpy.ndarray) and not isinstance(base, numpy.memmap):
        base = base.base
    return isinstance(base, numpy.memmap)


def _states(files: Sequence[Sequence[str]]) -> Optional[list[list[tuple[int, int]]]]:
    """The size and modification time of each file; `None` if one is not accessible."""
    try:
        stats = [[os.stat(user_path(os.fspath(file))) for file in group] for group in files]
    except OSError:
        return None
    return [[(state.st_size, state.st_mtime_ns) for state in group] for group in stats]


def _key(files: Sequence[Sequence[str]], settings: Any) -> str:
    contents = [[_content(user_path(os.fspath(file))) for file in some] for some in files]
    text = json.dumps([_VERSION, contents, settings], sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def _content(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def _entry(folder: str, key: str) -> Optional[Arrays]:
    """The arrays of an entry; `None` if it is missing or damaged. A damaged entry is removed."""
    place = os.path.join(folder, key)
    if not os.path.isdir(place):
        return None
    try:
        with open(os.path.join(place, _LIST), encoding="utf-8") as file:
            sums = json.load(file)["sums"]
        paths = {name: os.path.join(place, f"{name}.npy") for name in sums}
        if any(_checksum(paths[name]) != known for name, known in sums.items()):
            raise ValueError("a sum differs")
        arrays = {name: mapped(path) for name, path in paths.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        shutil.rmtree(place, ignore_errors=True)
        return None
    try:
        os.utime(place)
    except OSError:
        pass  # The cache is read-only for this user.
    return Arrays(arrays)


@contextmanager
def _draft(folder: str, key: str, files: Sequence[str]) -> Iterator[MappedArrays]:
    """A context with the arrays of a new entry, which is added to the cache if the block ends without an error."""
    if folder.startswith("~"):
        # Without a home folder, `~` would be created in the working directory.
        raise OSError("there is no home folder")
    os.makedirs(folder, exist_ok=True)
    _prune(folder)
    place = os.path.join(folder, f"draft-{key}-{secrets.token_hex(4)}")
    os.mkdir(place)
    arrays = MappedArrays(place)
    try:
        yield arrays
        if arrays.keep:
            arrays.finish(files)
            try:
                os.rename(place, os.path.join(folder, key))
            except OSError:
                # Another process has added the entry first. The memory maps of this draft stay valid until their end.
                if not os.path.isdir(os.path.join(folder, key)):
                    raise
    finally:
        try:
            # It flushes the files, which may fail on a full disk.
            arrays.close()
        finally:
            shutil.rmtree(place, ignore_errors=True)


def _prune(folder: str) -> None:
    for item in os.scandir(folder):
        if not _NAME.fullmatch(item.name):
            continue
        days = _DAYS_OF_DRAFTS if item.name.startswith("draft-") else _DAYS
        try:
            used = max(os.stat(path).st_mtime for path in (item.path, *(file.path for file in os.scandir(item.path))))
        except OSError:
            continue  # Another process has removed it.
        if time.time() - used > days * 86400:
            shutil.rmtree(item.path, ignore_errors=True)


@functools.cache
def _warn(folder: str, reason: str) -> None:
    logger.warning(
        "%s: what was read of a file cannot be kept there (%s), so the next start reads it anew; set %s to another "
        "folder, or to 'off'.",
        folder,
        reason,
        VARIABLE,
    )


def _bytes(values: numpy.ndarray) -> memoryview:
    return numpy.ascontiguousarray(values).reshape(-1).view(numpy.uint8).data


def _checksum(path: str) -> int:
    checksum = 0
    with open(path, "rb") as file:
        while piece := file.read(_BYTES_AT_ONCE):
            checksum = zlib.crc32(piece, checksum)
    return checksum
