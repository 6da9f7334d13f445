"""
A file of word vectors, of data or of weights that cannot be used is reported in a sentence that names the file and says
what to change.
"""

import io
import itertools
import lzma
import os
import re
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Mapping
from typing import Any, Optional

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.file_utils import cached_path
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.models import archival
from allennlp.modules.token_embedders import embedding
from allennlp.nn import util as nn_util

from seal.allennlp.replacing import replace_once
from seal.files.text_lines import undecodable
from seal.files.unpacked import bounded


def explain_vectors_that_do_not_fit() -> None:
    """
    Patches: `allennlp.modules.token_embedders.embedding._read_embeddings_from_text_file`.

    Symptom: where a file's vectors have another size than the config says, there is a warning for each of its lines,
    with the vector in it, and then an error that gives neither size. What is no number, or no finite one, ends in a
    traceback.

    Can go: when AllenNLP's message says both, and names the file.
    """

    def read(original, file_uri, embedding_dim, vocab, namespace="tokens"):
        with embedding.EmbeddingsTextFile(file_uri) as lines:
            # Several lines are read, because a word may contain a blank.
            sizes = [len(line.rstrip().split(" ")) - 1 for line in itertools.islice(lines, 10)]
        if sizes and embedding_dim not in sizes:
            found = max(sizes, key=sizes.count)
            if found == 0:
                raise ConfigurationError(
                    f"{file_uri}: its first lines have no blank; put one between a word and its numbers, and between "
                    "them"
                )
            raise ConfigurationError(
                f"{file_uri}: its vectors have {found} numbers, and embedding_dim is {embedding_dim}; set it "
                f"(word_dim of seal's libraries) to {found}."
            )
        failed = None
        try:
            # What is too large is told of below, with its line.
            with numpy.errstate(over="ignore", invalid="ignore"):
                weight = original(file_uri, embedding_dim, vocab, namespace)
            if weight.isfinite().all():
                return weight
        except (ValueError, RuntimeError) as error:
            failed = error
        found = _first_of_no_use(file_uri, embedding_dim, vocab, namespace)
        if failed is not None and found is None:
            raise failed
        number, value = found
        raise ConfigurationError(
            f"{file_uri}:{number}: {value!r} is not a finite number in single precision; correct the vector, or leave "
            "its word out"
        )

    replace_once(embedding, "_read_embeddings_from_text_file", read)


def _first_of_no_use(file_uri, embedding_dim, vocab, namespace):
    """The line of the first vector of a known word with a value that is not a finite number, and that value."""
    known = vocab.get_token_to_index_vocabulary(namespace)
    with embedding.EmbeddingsTextFile(file_uri) as lines:
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
                return number, value
    return None


# What a file that is no text, archive or HDF5 file, or is damaged, makes its library raise.
_UNREADABLE = (
    ArithmeticError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)


def name_damaged_files_of_vectors() -> None:
    """
    Patches: `allennlp.modules.token_embedders.embedding._read_pretrained_embeddings_file`.

    Symptom: a damaged file of word vectors, compressed or not, what is no number in it, or a number that is not finite,
    ends in a traceback.

    Can go: when AllenNLP names the file.
    """

    def read(original, file_uri, embedding_dim, *args, **kwargs):
        _check_is_a_file(file_uri)
        try:
            vectors = original(file_uri, embedding_dim, *args, **kwargs)
        except _UNREADABLE as error:
            told = " ".join(str(error).split())
            problem = "this is no file of word vectors, or a damaged one"
            raise ConfigurationError(f"{file_uri}: {problem}: {told}") from error
        except ConfigurationError as error:
            named = str(file_uri) in str(error)
            raise ConfigurationError(str(error) if named else f"{file_uri}: {error}") from error
        if not bool(vectors.isfinite().all()):
            raise ConfigurationError(f"{file_uri}: it has numbers that are not finite; mend or drop these lines")
        return vectors

    replace_once(embedding, "_read_pretrained_embeddings_file", read)


def _check_is_a_file(file_uri):
    path = embedding.parse_embeddings_file_uri(file_uri)[0]
    if "://" in path or os.path.isfile(os.path.expanduser(path)):
        return
    if os.path.isdir(os.path.expanduser(path)):
        raise ConfigurationError(f"{path}: a file of word vectors is needed, and this is a folder; name a file in it.")
    where = "" if os.path.isabs(path) or path.startswith("~") else f" in {os.getcwd()}"
    folder, name = os.path.split(path)
    if folder == os.path.join("data", "vectors"):  # As the configs' libraries make it of a name.
        where += f", where vectors named '{os.path.splitext(name)[0]}' are looked for"
    raise ConfigurationError(
        f"{path}: there is no such file of word vectors{where}; put it there, or give the path of another."
    )


def name_files_of_vectors_that_are_no_text() -> None:
    """
    Patches: `allennlp.modules.token_embedders.embedding.EmbeddingsTextFile.__init__` and `__next__`.

    Symptom: a file of word vectors that is empty or not UTF-8 ends in a traceback; of one that is not there, or is a
    folder, nothing says where it was looked for. A byte order mark becomes part of the first word.

    Can go: when AllenNLP names the file, and leaves out the mark.
    """

    def __init__(original, self, file_uri, encoding="utf-8-sig", *args, **kwargs):
        _check_is_a_file(file_uri)
        try:
            original(self, file_uri, encoding, *args, **kwargs)
        except StopIteration:
            raise ConfigurationError(f"{file_uri}: the file of word vectors is empty") from None
        except UnicodeDecodeError as error:
            raise ConfigurationError(f"{file_uri}: {undecodable(error)}") from error

    def __next__(original, self):
        try:
            return original(self)
        except UnicodeDecodeError as error:
            raise ConfigurationError(f"{self.uri}: {undecodable(error)}") from error

    replace_once(embedding.EmbeddingsTextFile, "__init__", __init__)
    replace_once(embedding.EmbeddingsTextFile, "__next__", __next__)


def bound_unpacked_vectors() -> None:
    """
    Patches: the attribute `_handle` of `allennlp.modules.token_embedders.embedding.EmbeddingsTextFile`.

    Symptom: a small compressed file of word vectors may unpack to more than memory holds, in one line.

    Can go: when AllenNLP bounds what it unpacks.
    """

    def set_handle(self, handle):
        # Of a file that is not compressed, the buffer is Python's own.
        if type(handle.buffer) is not io.BufferedReader:
            path = cached_path(embedding.parse_embeddings_file_uri(self.uri)[0], cache_dir=self._cache_dir)
            handle = io.TextIOWrapper(bounded(handle.detach(), path), encoding=self._encoding)
        self.__dict__["_handle"] = handle

    embedding.EmbeddingsTextFile._handle = property(lambda self: self.__dict__["_handle"], set_handle)


def refuse_data_without_instances() -> None:
    """
    Patches: `allennlp.data.data_loaders.MultiProcessDataLoader.iter_instances`.

    Symptom: where a reader gives no instance, the error is one about the key `min_count` of the vocabulary, or there
    is none and nothing is trained. Of several processes, one may get no instance of a small file.

    Can go: when AllenNLP's loader refuses to be empty.
    """

    def iter_instances(original, self):
        instances = original(self)
        first = next(instances, None)
        if first is None:
            info = self.reader.get_distributed_info()
            if info is not None and info.global_rank > 0:
                # The first process gets the first instance, if there is one.
                raise ConfigurationError(
                    f"{self.data_path}: process {info.global_rank + 1} of {info.world_size} gets no instance, as there "
                    "are fewer instances than processes; take fewer processes (distributed.cuda_devices) or more data"
                )
            raise ConfigurationError(
                f"{self.data_path}: no instance is read; see what the file has, and what the dataset_reader leaves out"
            )
        yield first
        yield from instances

    replace_once(MultiProcessDataLoader, "iter_instances", iter_instances)


def name_files_that_are_no_weights() -> None:
    """
    Patches: `allennlp.nn.util.read_state_dict`.

    Symptom: what is no file of weights, or a damaged one, ends in an error of torch, of nearly any type; or, where
    numbers are damaged, in other weights, as PyTorch does not look at the checksums of the zip archive that it writes.

    Can go: when torch's error names the file, and it reads the checksums.
    """

    def read_state_dict(original, path, *args, **kwargs):
        try:
            weights = original(path, *args, **kwargs)
            damaged = None
            if zipfile.is_zipfile(path):  # What torch wrote before its version 1.6 is none.
                with zipfile.ZipFile(path) as archive:
                    damaged = archive.testzip()
        except (OSError, MemoryError, torch.cuda.OutOfMemoryError):
            raise
        except Exception as error:
            raise ConfigurationError(f"{path} is not a file of weights") from error
        if damaged is not None:
            raise ConfigurationError(f"{path} is damaged: the checksum of '{damaged}' in it is wrong")
        return weights

    replace_once(nn_util, "read_state_dict", read_state_dict)


def check_finite(weights: Mapping[str, Any], path: str, learned: Optional[Collection[str]] = None) -> None:
    """
    # Raises

    `ConfigurationError` if a weight is not a number, or, where it is among those that are learned (all, where none are
    named), infinite.
    """
    for name, value in weights.items():
        if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
            continue
        if bool(value.sum().isfinite()):  # Quicker than to look at each of them.
            continue
        fit = value.isfinite() if learned is None or name in learned else ~value.isnan()
        if not bool(fit.all()):
            raise ConfigurationError(
                f"{path}: of the {fit.numel():,} numbers of '{name}' {int((~fit).sum()):,} are not finite, so nothing "
                "can be predicted with them; take the weights of a training that has not diverged"
            )


def tell_which_weights_do_not_fit() -> None:
    """
    Patches: `allennlp.models.archival._load_model`.

    Symptom: weights that do not fit the config, as where overrides change the model, end in a traceback with the names
    of all of them. Weights that are no numbers are loaded.

    Can go: when AllenNLP says it in a sentence.
    """

    def _load_model(original, config, weights_path, *args, **kwargs):
        try:
            model = original(config, weights_path, *args, **kwargs)
            check_finite(model.state_dict(), weights_path, {name for name, _ in model.named_parameters()})
            return model
        except RuntimeError as error:
            text = str(error)
            if "loading state" not in text:
                raise
            # Where a size differs, torch itself has raised.
            sizes = re.search(r"size mismatch for .*", text)
            names = [re.findall(r"'([^']+)'", found) for found in re.findall(r"keys: \[(.*)\]", text)]
            if sizes is not None or len(names) != 2:
                told = (sizes[0] if sizes else text).rstrip(".")
            else:
                told = f'{len(names[0])} missing, {len(names[1])} unexpected, "{[*names[0], *names[1]][0]}" the first'
            raise ConfigurationError(
                f"the weights do not fit the config (see --overrides and --weights-file): {told}"
            ) from error

    replace_once(archival, "_load_model", _load_model)


PATCHES = (
    explain_vectors_that_do_not_fit,
    name_damaged_files_of_vectors,
    name_files_of_vectors_that_are_no_text,
    bound_unpacked_vectors,
    refuse_data_without_instances,
    name_files_that_are_no_weights,
    tell_which_weights_do_not_fit,
)
