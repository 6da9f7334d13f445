"""
Arrays that are read from large files, kept for the next start: an entry of the cache is a folder of `.npy` files under
a hash of the files' content and of all else that decides what is read of them.

The arrays of an entry are mapped, not read: their pages are the system's, which drops them where memory is short. An
entry is written under another name and renamed when it is whole. Whatever is removed or damaged is made anew.
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

#: In the environment: the folder of the cache, or `off`.
VARIABLE = "SEAL_CACHE"
#: What is read of smaller files is not kept: they are parsed in less than half a second.
LEAST_BYTES = 5_000_000
# What decides what is read of a file, besides the file: to be raised where a parser changes what it makes of one.
_VERSION = 1

_LIST = "entry.json"
_NAME = re.compile(r"(draft-)?[0-9a-f]{40}(-\w+)?")
# An entry that was not used for so long is removed, and so is what a killed process left.
_DAYS, _DAYS_OF_DRAFTS = 30, 1
# NumPy leaves room in a header for any number of rows.
_HEADER_BYTES = 128
_BYTES_AT_ONCE = 2**18


class Arrays:
    """
    Named arrays in memory, to which rows are added.

    # Parameters

    arrays : `Mapping[str, numpy.ndarray]`, optional
        Those of the beginning.
    """

    def __init__(self, arrays: Optional[Mapping[str, numpy.ndarray]] = None) -> None:
        self._parts = {name: [array] for name, array in (arrays or {}).items()}

    def __contains__(self, name: str) -> bool:
        return name in self._parts

    def append(self, name: str, values: numpy.ndarray) -> None:
        """Adds rows to an array, which begins with its first ones."""
        self._parts.setdefault(name, []).append(values)

    def array(self, name: str) -> numpy.ndarray:
        """All rows so far; values are changed by `write` alone."""
        parts = self._parts[name]
        if len(parts) > 1:
            parts[:] = [numpy.concatenate(parts)]
        return parts[0]

    def write(self, name: str, start: int, values: numpy.ndarray) -> None:
        """Puts other values in the place of rows, from the row `start` on."""
        self.array(name)[start : start + len(values)] = values

    def remove(self, name: str) -> None:
        del self._parts[name]


class MappedArrays(Arrays):
    """Named arrays in files, to which rows are added."""

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
        # Not through the map: where the disk is full, some file systems end a process that writes to one.
        dtype, columns = self._types[name]
        row = int(numpy.prod(columns, dtype=int)) * dtype.itemsize
        self._files[name].seek(_HEADER_BYTES + start * row)
        self._files[name].write(_bytes(values))
        self._files[name].seek(0, os.SEEK_END)

    def remove(self, name: str) -> None:
        self._files.pop(name).close()
        os.remove(self._path(name))

    def finish(self, of: Sequence[str]) -> None:
        """Makes the folder an entry; `of` is for those who look into it."""
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
    What is read of files: from the cache, if they are large and their content was read with these settings before.

    # Parameters

    files : `Sequence[Sequence[str]]`
        Groups of files whose content decides what is read. If those of the first have fewer than `LEAST_BYTES`, nothing
        is kept.
    settings : `Any`
        What else decides what is read, as JSON has it.
    read : `Callable`
        Reads the files, and puts all that grows with their rows into the arrays.
    again : `Callable`
        Makes the same of the arrays that `read` has filled.
    """
    folder = cache_folder()
    before = _states(files)
    if folder is None or before is None or sum(size for size, _ in before[0]) < LEAST_BYTES:
        return read(Arrays())
    try:
        key = _key(files, settings)
    except OSError:
        return read(Arrays())  # This tells what is the matter with the files.
    entry = _entry(folder, key)
    if entry is not None:
        return again(entry)
    try:
        with _draft(folder, key, files[0]) as arrays:
            found = read(arrays)
            arrays.keep = _states(files) == before
            return found
    except OSError as error:
        _warn(folder, error.strerror or str(error))
    return read(Arrays())


def cache_folder() -> Optional[str]:
    """The folder of the cache, which need not be there; `None` where none is wanted."""
    given = os.environ.get(VARIABLE)
    if given is not None and given.lower() == "off":
        return None
    if given:
        return user_path(given)
    base = os.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(base if os.path.isabs(base) else user_path("~/.cache"), "seal")


def mapped(path: str) -> numpy.ndarray:
    """The array of an `.npy` file, mapped; what is written to it never reaches the file."""
    try:
        return numpy.load(path, mmap_mode="c").view(numpy.ndarray)
    except ValueError:
        # Nothing can be mapped of an array without rows.
        return numpy.load(path)


def is_mapped(array: numpy.ndarray) -> bool:
    """Whether an array is one of a mapped file, or a part of it."""
    found: Any = array
    while isinstance(found, numpy.ndarray) and not isinstance(found, numpy.memmap):
        found = found.base
    return isinstance(found, numpy.memmap)


def _states(files: Sequence[Sequence[str]]) -> Optional[list[list[tuple[int, int]]]]:
    """Size and time of change of each file; `None` where one cannot be looked at."""
    try:
        found = [[os.stat(user_path(os.fspath(file))) for file in some] for some in files]
    except OSError:
        return None
    return [[(state.st_size, state.st_mtime_ns) for state in some] for some in found]


def _key(files: Sequence[Sequence[str]], settings: Any) -> str:
    contents = [[_content(user_path(os.fspath(file))) for file in some] for some in files]
    text = json.dumps([_VERSION, contents, settings], sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def _content(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def _entry(folder: str, key: str) -> Optional[Arrays]:
    """The arrays of an entry; `None` where it is not there, or damaged, and then it is removed."""
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
        pass  # A folder of others, which can be read alone.
    return Arrays(arrays)


@contextmanager
def _draft(folder: str, key: str, files: Sequence[str]) -> Iterator[MappedArrays]:
    """The arrays of a new entry, which is there when the block has ended without an error."""
    if folder.startswith("~"):
        # Not a folder of that name in the working directory.
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
                # Another process was first: what has been mapped of the own files stays until it is no longer used.
                if not os.path.isdir(os.path.join(folder, key)):
                    raise
    finally:
        try:
            # Which writes what is left, where the disk may be full.
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
    found = 0
    with open(path, "rb") as file:
        while piece := file.read(_BYTES_AT_ONCE):
            found = zlib.crc32(piece, found)
    return found
