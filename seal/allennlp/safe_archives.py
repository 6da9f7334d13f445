"""
Opens archives of models safely. An archive may come from a stranger, or be damaged. Opening it writes nothing outside a
temporary folder, runs no code of the archive, and takes a bounded part of the disk. A damaged archive is refused.
"""

import functools
import gzip
import hashlib
import json
import os
import re
import shutil
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Optional

from allennlp.commands import evaluate
from allennlp.common import Params, Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.common.file_utils import cached_path
from allennlp.common.meta import META_NAME, Meta
from allennlp.common.params import parse_overrides, with_overrides
from allennlp.data import Vocabulary
from allennlp.models import archival

from seal.allennlp.error_sentences import describe
from seal.allennlp.model_names import model_path, ready_model
from seal.allennlp.replacing import replace_once
from seal.common.setting_checks import check_that
from seal.files.atomic_files import FULL
from seal.files.weights import check_finite, check_is_whole

#: An archive may unpack to this many bytes, or to this many times its own size, whichever is more.
MOST_BYTES, MOST_RATIO = 2**30, 50
#: The most members of an archive.
MOST_MEMBERS = 1000
#: The most bytes of one header, which holds a name, and of all headers together. Headers are read into memory.
MOST_HEADER, MOST_HEADERS = 2**13, 2**21
#: The most bytes of the config, and of each other file of JSON or digests.
MOST_CONFIG = 2**20
#: The member with the SHA-256 digests of the model's files, in the format of `sha256sum`. The checksum of gzip detects
#: a change after packing; the digests also detect a change between training and packing.
DIGESTS = "SHA256SUMS"
#: The member with the weights.
WEIGHTS = "weights.th"

# The errors of reading a file that is not a `.tar.gz`, is not complete, or has damaged headers.
_DAMAGED = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ArithmeticError, RecursionError, ValueError)

# The path of each unpacked archive, by its folder; and the archive whose parts are being constructed.
_unpacked: dict[str, str] = {}
_opening: ContextVar[Optional[str]] = ContextVar("opening", default=None)


@contextmanager
def extracted_archive(path: str, cleanup: bool = True, with_config: bool = False) -> Iterator[str]:
    """
    A context with a temporary folder that holds the files of an archive. In an error about one of these files, the path
    of the archive replaces the folder.

    # Parameters

    path : `str`
    cleanup : `bool`, optional (default = `True`)
        Whether the folder is removed at the end.
    with_config : `bool`, optional (default = `False`)
        Whether the archive must have a config, which weights or a vocabulary alone do not need.

    # Raises

    `ConfigurationError` if the file is not an archive or is damaged, checked up to the checksum at its end; if a file
    differs from its digest; if a member would lie outside the folder, is a device, or links to a file outside the
    archive; if the content is too large, or there is no room for it; or if `config.json` is not plain JSON.
    """
    folder = tempfile.mkdtemp()
    done = False
    try:
        try:
            _unpack(path, folder)
        except _DAMAGED as error:
            raise ConfigurationError(
                f"{path} is not a model archive (.tar.gz), or a damaged one: {error}; copy it anew from where it is "
                "whole."
            ) from error
        except OSError as error:
            if error.errno not in FULL:
                raise
            raise ConfigurationError(
                f"{path} is unpacked to {tempfile.gettempdir()}, where there is no room ({error.strerror}); make some, "
                "or name another folder in the environment variable TMPDIR."
            ) from error
        _check_digests(path, folder)
        _check_json(path, folder)
        if with_config and not os.path.isfile(os.path.join(folder, archival.CONFIG_NAME)):
            raise ConfigurationError(f"{path}: there is no {archival.CONFIG_NAME} in it; this is no model.")
        _unpacked[folder] = path
        done = True
        with _naming(folder):
            yield folder
    finally:
        if cleanup or not done:
            _unpacked.pop(folder, None)
            shutil.rmtree(folder, ignore_errors=True)


def open_archive(
    name: str | os.PathLike,
    cuda_device: int = -1,
    overrides: str = "",
    weights_file: Optional[str] = None,
    check: Optional[Callable[[dict[str, Any]], None]] = None,
) -> archival.Archive:
    """
    Loads a trained model, like `allennlp.models.archival.load_archive`, but half a second faster: AllenNLP's function
    imports clients of remote storage to read the config.

    # Parameters

    name : `str`
        As for `model_path`.
    cuda_device : `int`, optional (default = `-1`)
        A GPU; -1 for the CPU.
    overrides : `str`, optional (default = `""`)
        Changes of the config, as JSON.
    weights_file : `str`, optional (default = `None`)
        A file of weights that replaces the model's own weights.
    check : `Callable[[dict[str, Any]], None]`, optional (default = `None`)
        Receives the config of the training. It may raise an error for overrides that do not fit it.

    # Raises

    `ConfigurationError` as for `model_path` and `extracted_archive`, or if weights and config do not fit each other.
    """
    path = model_path(name)
    with nullcontext(path) if os.path.isdir(path) else extracted_archive(path, with_config=True) as folder:
        file = os.path.join(folder, archival.CONFIG_NAME)
        text = config_of_archive(file)
        trained = Params.from_file(file).params if text is None else json.loads(text)
        if check is not None:
            check(trained)
        config = Params(with_overrides(trained, parse_overrides(overrides)) if overrides else trained)
        weights = weights_file or archival.get_weights_path(folder)
        reader, validation_reader = archival._load_dataset_readers(config.duplicate(), folder)
        model = archival._load_model(config.duplicate(), weights, folder, cuda_device)
        file = os.path.join(folder, META_NAME)
        meta = Meta.from_path(file) if os.path.exists(file) else None
    if meta is not None:
        archival._check_version_compatibility(os.fspath(name), meta)
    return archival.Archive(model, config, reader, validation_reader, meta)


@contextmanager
def _naming(folder: str) -> Iterator[None]:
    """A context in which an error about a file of the folder names the archive, since the folder will be removed."""
    try:
        yield
    except Exception as error:
        message = describe(error)
        if message is None or folder not in message:
            raise
        message = message.replace(os.path.join(folder, ""), "").replace(folder, "its folder")
        raise ConfigurationError(f"{_unpacked[folder]}: {message}") from error


def _unpack(path: str, folder: str) -> None:
    with gzip.open(path) as file:
        unpacked = _Unpacked(file, path)
        try:
            # Reading needs no `write` and no `close`.
            with tarfile.open(fileobj=unpacked, mode="r:") as archive:  # type: ignore[call-overload]
                archive.extractall(folder, filter=functools.partial(unpacked.allow, archive))
        finally:
            # A damaged archive may look like a valid one until the checksum is read.
            unpacked.read_to_the_checksum()


class _Unpacked:
    """
    The decompressed bytes of an archive, as a file that can be read forwards only. It limits the number and size of
    headers and members.
    """

    def __init__(self, file: gzip.GzipFile, path: str) -> None:
        self._file, self._path = file, path
        self._most = max(MOST_BYTES, MOST_RATIO * os.path.getsize(path))
        self._of_headers = self._of_members = self._members = 0
        # The end of the content of the last allowed member.
        self._content_end = 0

    def allow(self, archive: tarfile.TarFile, member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo:
        """Checks a member before it is extracted: the `filter` of `extractall`."""
        self._members += 1
        if self._members > MOST_MEMBERS:
            raise ConfigurationError(f"{self._path}: it has more than {MOST_MEMBERS:,} files; this is no model.")
        # After a header is read, `archive.offset` is the end of the member's content. A sparse file may be larger.
        self._of_members += max(member.size, archive.offset - self.tell())
        if self._of_members > self._most:
            raise ConfigurationError(
                f"{self._path}: it would unpack to more than {self._most:,} bytes, from "
                f"{os.path.getsize(self._path):,}; this is no model."
            )
        self._content_end = archive.offset
        try:
            return tarfile.data_filter(member, folder)
        except tarfile.FilterError as error:
            raise ConfigurationError(f"{self._path}: it is not opened, as it would write elsewhere: {error}.") from None

    def read(self, size: int) -> bytes:
        if self.tell() + size > self._content_end:
            self._of_headers += size
            if size > MOST_HEADER or self._of_headers > MOST_HEADERS:
                raise ConfigurationError(
                    f"{self._path}: names and other headers of its files have more than {MOST_HEADER:,} bytes, or more "
                    f"than {MOST_HEADERS:,} together; this is no model."
                )
        return self._file.read(size)

    def seek(self, place: int) -> None:
        if not self.tell() <= place <= self._content_end:
            raise tarfile.ReadError("a member links to one that does not come before it")
        self._file.seek(place)

    def tell(self) -> int:
        return self._file.tell()

    def read_to_the_checksum(self) -> None:
        """Reads to the end, but at most the allowed size. At the end, gzip compares its checksum."""
        while self.tell() <= self._most + 2 * MOST_HEADERS and self._file.read(2**20):
            pass


def _check_json(path: str, folder: str) -> None:
    """Checks that the config and the file with AllenNLP's version are small files with JSON objects."""
    for name, what in ((archival.CONFIG_NAME, "config"), (META_NAME, META_NAME)):
        text = _small_text(path, folder, name, what)
        try:
            found = {} if text is None else json.loads(text)
        except (ValueError, RecursionError):
            raise ConfigurationError(
                f"{path}: its {what} is not plain JSON, which training writes; it is not evaluated as anything else."
            ) from None
        check_that(isinstance(found, dict), f"{path}: its {what}", "an object", found)


def _small_text(path: str, folder: str, name: str, what: str) -> Optional[str]:
    file = os.path.join(folder, name)
    if not os.path.isfile(file):
        return None
    if os.path.getsize(file) > MOST_CONFIG:
        raise ConfigurationError(f"{path}: its {what} has {os.path.getsize(file):,} bytes; this is no model.")
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: its {what} is not plain JSON or text in UTF-8.") from None


def digests_of(folder: str, weights: str = WEIGHTS) -> dict[str, str]:
    """
    The SHA-256 digests of the config, the weights and each file of the vocabulary of a model, by their names in an
    archive.

    # Parameters

    folder : `str`
        The folder of an unpacked archive, or of a run.
    weights : `str`, optional (default = `"weights.th"`)
        The file of weights in the folder. It has another name in a run.
    """
    vocabulary = os.path.join(folder, "vocabulary")
    words = os.listdir(vocabulary) if os.path.isdir(vocabulary) else []
    files = {f"vocabulary/{name}": f"vocabulary/{name}" for name in words if not name.startswith(".")}
    files |= {archival.CONFIG_NAME: archival.CONFIG_NAME, WEIGHTS: weights}
    found = {}
    for name in sorted(files):
        path = os.path.join(folder, files[name])
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _check_digests(path: str, folder: str) -> None:
    """Compares the files with the archive's digests, if it has any: archives of AllenNLP have none."""
    text = _small_text(path, folder, DIGESTS, DIGESTS)
    if text is None:
        return
    wanted = {name: digest for digest, _, name in (line.partition("  ") for line in text.splitlines())}
    found = digests_of(folder)
    for name in sorted(wanted | found):
        if wanted.get(name) != found.get(name):
            how = "is not there" if name not in found else f"is not the file of which {DIGESTS} has the digest"
            raise ConfigurationError(
                f"{path}: {name} in it {how}; take the archive from where it was trained, or, if you have changed it "
                f"yourself, pack it without {DIGESTS}."
            )


def config_of_archive(path: str) -> Optional[str]:
    """The text of a file in the folder of an unpacked archive; `None` for any other file."""
    folder = os.path.dirname(path)
    if folder not in _unpacked:
        return None
    with open(path, encoding="utf-8") as file:
        return file.read()


def unpack_safely() -> None:
    """
    Patches: `allennlp.models.archival.extracted_archive`, and `allennlp.data.Vocabulary.from_files`, which also unpacks
    archives.

    Symptom: AllenNLP writes members of an archive outside the temporary folder, and hangs if a pipe replaces the
    weights. A small archive may fill the disk, or memory by long names. The config is evaluated as jsonnet, which may
    import files and take all memory. A damaged archive ends in a traceback, or gives a different model, because the
    checksum is not read.

    Can go: when AllenNLP unpacks with the `data` filter, to a bounded size and to the end of the file, reads the config
    as JSON, and names the archive in errors.
    """
    archival.extracted_archive = functools.partial(extracted_archive, with_config=True)

    def from_files(original: Callable, cls: type, directory: Any, *args: Any, **kwargs: Any) -> Vocabulary:
        directory = ready_model(os.fspath(directory)) or directory
        path = os.fspath(directory)
        if os.path.dirname(path) in _unpacked and os.path.isfile(path):
            raise ConfigurationError(f"{path} is a file, where there must be a folder")  # Perhaps an archive itself.
        if os.path.isdir(path) or not path.endswith((".tar.gz", ".tgz")):
            try:
                return original(cls, directory, *args, **kwargs)
            except (AssertionError, UnicodeDecodeError) as error:
                raise ConfigurationError(f"{path}: there is no vocabulary, or a damaged one: {error}") from error
        with extracted_archive(cached_path(path)) as folder:
            inside = os.path.join(folder, "vocabulary")
            return from_files(original, cls, inside if os.path.isdir(inside) else folder, *args, **kwargs)

    replace_once(Vocabulary, "from_files", from_files)


@contextmanager
def opening(archive: Optional[str]) -> Iterator[None]:
    """A context in which parts of this archive are constructed; `None` stands for the user's own config."""
    token = _opening.set(archive)
    try:
        yield
    finally:
        _opening.reset(token)


def construct_registered_classes_only() -> None:
    """
    Patches: `allennlp.common.Registrable.resolve_class_name`; `_load_dataset_readers` and `_load_model` of
    `allennlp.models.archival`; and `allennlp.commands.evaluate.evaluate_from_archive`, which constructs further parts.

    Symptom: AllenNLP imports and calls any class that the config of an archive names by its path, such as `evil.Model`
    or `subprocess.Popen`. It loads damaged weights, because PyTorch does not compare the checksums of its files, and
    weights that are not finite. If the weights do not fit the config, for example after overrides of the model, a
    traceback lists the names of all weights.

    Can go: when AllenNLP constructs only registered classes for archives, and checks the weights.
    """

    def load(original: Callable, config: Any, *args: Any, **kwargs: Any) -> Any:
        folder = next((arg for arg in args if arg in _unpacked), None)
        path = None if folder is None else _unpacked[folder]
        with opening(path), nullcontext() if folder is None else _naming(folder):
            return original(config, *args, **kwargs)

    def evaluate_from_archive(original: Callable, archive_file: Any, *args: Any, **kwargs: Any) -> Any:
        # The user has made the folder of a run; an archive may come from a stranger.
        with opening(None if os.path.isdir(archive_file) else str(archive_file)):
            return original(archive_file, *args, **kwargs)

    def load_model(original: Callable, config: Any, weights_path: Any, *args: Any, **kwargs: Any) -> Any:
        return load(functools.partial(_load_whole, original), config, weights_path, *args, **kwargs)

    replace_once(archival, "_load_dataset_readers", load)
    replace_once(archival, "_load_model", load_model)
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


def _load_whole(load: Callable, config: Any, weights_path: Any, *args: Any, **kwargs: Any) -> Any:
    """Loads a model by AllenNLP's `load`, and checks that its weights are undamaged, fit the config and are finite."""
    check_is_whole(weights_path)
    try:
        model = load(config, weights_path, *args, **kwargs)
    except RuntimeError as error:
        text = str(error)
        if "loading state" not in text:
            raise
        # Where a size differs, torch itself has raised.
        sizes = re.search(r"size mismatch for .*", text)
        names = [re.findall(r"'([^']+)'", found) for found in re.findall(r"keys: \[(.*)\]", text)]
        if sizes is not None or len(names) != 2:
            message = (sizes[0] if sizes else text).rstrip(".")
        else:
            message = f'{len(names[0])} missing, {len(names[1])} unexpected, "{[*names[0], *names[1]][0]}" the first'
        raise ConfigurationError(
            f"the weights do not fit the config (see --overrides and --weights-file): {message}"
        ) from error
    check_finite(model.state_dict(), weights_path, {name for name, _ in model.named_parameters()})
    return model


PATCHES = (unpack_safely, construct_registered_classes_only)
