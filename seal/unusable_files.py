"""
A file of word vectors, or of data, that cannot be used is reported in a sentence that names the file and says what to
change. Docstrings have the same form as in `seal/compat.py`.
"""

import itertools

from allennlp.common.checks import ConfigurationError
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.modules.token_embedders import embedding

from seal.compat import replace_once


def name_wrong_size_of_vectors() -> None:
    """
    Patches: `allennlp.modules.token_embedders.embedding._read_embeddings_from_text_file`.

    Symptom: where a file's vectors have another size than the config says, there is a warning for each of its lines,
    with the vector in it, and then an error that gives neither size.

    Can go: when AllenNLP's message says both.
    """

    def read(original, file_uri, embedding_dim, *args, **kwargs):
        with embedding.EmbeddingsTextFile(file_uri) as lines:
            # Several lines are read, because a word may contain a blank.
            sizes = [len(line.rstrip().split(" ")) - 1 for line in itertools.islice(lines, 10)]
        if sizes and embedding_dim not in sizes:
            found = max(sizes, key=sizes.count)
            raise ConfigurationError(
                f"{file_uri}: its vectors have {found} numbers, and embedding_dim is {embedding_dim}; set it "
                f"(word_dim of seal's libraries) to {found}."
            )
        return original(file_uri, embedding_dim, *args, **kwargs)

    replace_once(embedding, "_read_embeddings_from_text_file", read)


def name_empty_files_of_vectors() -> None:
    """
    Patches: `allennlp.modules.token_embedders.embedding.EmbeddingsTextFile.__init__`.

    Symptom: an empty file of word vectors ends in a traceback.

    Can go: when AllenNLP names the file.
    """

    def __init__(original, self, file_uri, *args, **kwargs):
        try:
            original(self, file_uri, *args, **kwargs)
        except StopIteration:
            raise ConfigurationError(f"{file_uri}: the file of word vectors is empty") from None

    replace_once(embedding.EmbeddingsTextFile, "__init__", __init__)


def refuse_data_without_instances() -> None:
    """
    Patches: `allennlp.data.data_loaders.MultiProcessDataLoader.iter_instances`.

    Symptom: where a reader gives no instance, the error is one about the key `min_count` of the vocabulary, or there
    is none and nothing is trained.

    Can go: when AllenNLP's loader refuses to be empty.
    """

    def iter_instances(original, self):
        instances = original(self)
        first = next(instances, None)
        if first is None:
            raise ConfigurationError(
                f"{self.data_path}: no instance is read; see what the file has, and what the dataset_reader leaves out"
            )
        yield first
        yield from instances

    replace_once(MultiProcessDataLoader, "iter_instances", iter_instances)


PATCHES = (name_wrong_size_of_vectors, name_empty_files_of_vectors, refuse_data_without_instances)
