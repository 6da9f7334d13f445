"""
Files of word vectors that cannot be used: a look at the first lines, before anything is made, and the line to blame
where reading one has failed.
"""

import itertools
import lzma
import os
import tarfile
import zipfile
import zlib
from typing import Any, Optional

import numpy
from allennlp.common.file_utils import get_file_extension
from allennlp.modules.token_embedders import embedding

from seal.files.text_lines import undecodable
from seal.registry import ConfigurationError

# What a file that is no text, archive or HDF5 file, or is damaged, makes its library raise.
_UNREADABLE = (
    *(ArithmeticError, EOFError, LookupError, NotImplementedError, OSError, RuntimeError, ValueError),
    *(lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, zlib.error),
)


def check_vectors(uri: str, embedding_dim: int) -> None:
    """
    Looks at the first lines of a file of word vectors; at an HDF5 file, only whether it is there.

    # Raises

    `ConfigurationError` if it is not there, is no text, or its vectors have another size.
    """
    path = embedding.parse_embeddings_file_uri(uri)[0]
    if "://" in path:
        return
    if not os.path.isfile(os.path.expanduser(path)):
        where = "" if os.path.isabs(path) or path.startswith("~") else f" in {os.getcwd()}"
        folder, name = os.path.split(path)
        if folder == os.path.join("data", "vectors"):  # As the configs' libraries make it of a name.
            where += f", where vectors named '{os.path.splitext(name)[0]}' are looked for"
        raise ConfigurationError(
            f"{path}: there is no such file of word vectors{where}; put it there, or give the path of another."
        )
    if get_file_extension(uri) not in (".h5", ".hdf5"):
        _check_first_lines(uri, embedding_dim)


def _check_first_lines(uri: str, embedding_dim: int) -> None:
    try:
        with embedding.EmbeddingsTextFile(uri) as lines:
            # Several lines are read, because a word may contain a blank.
            first = list(itertools.islice(lines, 10))
    except StopIteration:
        raise ConfigurationError(f"{uri}: the file of word vectors is empty") from None
    except (ConfigurationError, *_UNREADABLE) as error:
        raise ConfigurationError(_unreadable(uri, error)) from error
    if first and first[0].startswith("\ufeff"):
        raise ConfigurationError(
            f"{uri}: it begins with a byte order mark, which would be part of the first word; save it without one"
        )
    sizes = [len(line.rstrip().split(" ")) - 1 for line in first]
    found = max(sizes, key=sizes.count, default=embedding_dim)
    if embedding_dim in sizes or not sizes:
        return
    if found == 0:
        raise ConfigurationError(
            f"{uri}: its first lines have no blank; put one between a word and its numbers, and between them"
        )
    raise ConfigurationError(
        f"{uri}: its vectors have {found} numbers, and embedding_dim is {embedding_dim}; set it (word_dim of seal's "
        f"libraries) to {found}."
    )


def _unreadable(uri: str, error: BaseException) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"{uri}: {undecodable(error)}"
    message = " ".join(str(error).split())
    if isinstance(error, ConfigurationError):
        return message if str(uri) in message else f"{uri}: {message}"
    return f"{uri}: this is no file of word vectors, or a damaged one: {message}"


def unusable_vector(error: BaseException, uri: str, embedding_dim: int, vocab: Any, namespace: str) -> Optional[str]:
    """The message for an error in reading a file of word vectors, with the line of a number that is not finite."""
    try:
        return _first_of_no_use(uri, embedding_dim, vocab, namespace) or _unreadable(uri, error)
    except _UNREADABLE:
        return _unreadable(uri, error)


def check_read_vectors(model: Any) -> None:
    """
    # Raises

    `ConfigurationError` if a model has word vectors of a file that are not finite.
    """
    for module in model.modules():
        uri = getattr(module, "_pretrained_file", None)
        if uri is None or bool(module.weight.isfinite().all()):
            continue
        message = _first_of_no_use(uri, module.weight.shape[1], model.vocab, module._vocab_namespace)
        raise ConfigurationError(message or f"{uri}: it has numbers that are not finite; mend or drop these lines")


def _first_of_no_use(uri: str, embedding_dim: int, vocab: Any, namespace: str) -> Optional[str]:
    """The line and the value of the first number that is not finite in a vector of a known word."""
    if get_file_extension(uri) in (".h5", ".hdf5"):
        return None
    known = vocab.get_token_to_index_vocabulary(namespace)
    with embedding.EmbeddingsTextFile(uri) as lines:
        # A first line of numbers alone, the size of the file, is no vector.
        for number, line in enumerate(lines, start=1 if lines.num_tokens is None else 2):
            word, *values = line.rstrip().split(" ")
            if word not in known or len(values) != embedding_dim:
                continue
            for value in values:
                try:
                    if abs(float(value)) <= float(numpy.finfo(numpy.float32).max):
                        continue
                except ValueError:
                    pass
                return (
                    f"{uri}:{number}: {value!r} is not a finite number in single precision; correct the vector, or "
                    "leave its word out"
                )
    return None
