"""
Files of word vectors that cannot be used: a look at the first lines, before anything is made, and what to say where
reading one has failed.
"""

import itertools
import lzma
import os
import tarfile
import zipfile
import zlib
from typing import Any

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
    if os.path.isdir(os.path.expanduser(path)):
        raise ConfigurationError(f"{path}: a file of word vectors is needed, and this is a folder; name a file in it.")
    if not os.path.isfile(os.path.expanduser(path)):
        raise ConfigurationError(
            f"{path}: there is no such file of word vectors; put it there, or give the path of another."
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
        raise ConfigurationError(unreadable(uri, error)) from error
    if first and first[0].startswith("\ufeff"):
        raise ConfigurationError(
            f"{uri}: it begins with a byte order mark, which would be part of the first word; save it without one"
        )
    sizes = [len(line.rstrip().split(" ")) - 1 for line in first]
    found = max(sizes, key=sizes.count, default=embedding_dim)
    if embedding_dim in sizes or not sizes:
        return
    raise ConfigurationError(
        f"{uri}: its vectors have {found} numbers, a blank before each, and embedding_dim is {embedding_dim}; make "
        "them the same (word_dim of seal's libraries)."
    )


def unreadable(uri: str, error: BaseException) -> str:
    """What to say of an error that reading a file has raised."""
    if isinstance(error, UnicodeDecodeError):
        return f"{uri}: {undecodable(error)}"
    told = " ".join(str(error).split())
    if isinstance(error, ConfigurationError):
        return told if str(uri) in told else f"{uri}: {told}"
    # Where a number is not finite, AllenNLP fails at their mean.
    return f"{uri}: this is no file of word vectors, a damaged one, or one with nan, inf or a number as 1e39: {told}"


def check_read_vectors(model: Any) -> None:
    """
    # Raises

    `ConfigurationError` if a model has word vectors of a file that are not finite.
    """
    for module in model.modules():
        uri = getattr(module, "_pretrained_file", None)
        if uri is not None and not bool(module.weight.isfinite().all()):
            raise ConfigurationError(
                f"{uri}: there are numbers that are not finite in single precision; correct or drop their words"
            )
