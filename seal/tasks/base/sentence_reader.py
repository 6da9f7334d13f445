"""
The base class of the readers of sentences, and the paths `FILE#train` and `FILE#valid` of the two parts of a file.
"""

import itertools
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Optional, TypeVar, Union

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.data import DatasetReader, Instance, Token, TokenIndexer
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer

from seal.common.setting_checks import check_range, check_that
from seal.common.tag_encodings import first_broken, repaired_tags
from seal.files.paths import expanded, one_path, user_path
from seal.files.text_lines import text_lines
from seal.tasks.base.fields import KnownLabelsField, field_of

logger = logging.getLogger(__name__)

T = TypeVar("T")

# The placeholders of data sets that are published without their words.
_PLACEHOLDERS = ("[WORD]", "_")
# A file with at least this many words, all equal, is taken to hold placeholders.
_LEAST_EQUAL_WORDS = 6


class SentenceReader(DatasetReader):
    """
    The base class of the readers of sentences. It adds the token indexers after data-loading workers have sent an
    instance, shards the data among workers, and skips long sentences.

    For data without a validation split, the paths `FILE#train` and `FILE#valid` name two parts of a file: every
    `valid_every`th sentence, starting with the first, belongs to `valid`, the others to `train`. A path that exists is
    taken literally.

    # Parameters

    token_indexers : `dict[str, TokenIndexer]`, optional (default = `{"tokens": SingleIdTokenIndexer()}`)
        Convert words to indices.
    max_words : `Optional[int]`, optional (default = `None`)
        Sentences with more words are skipped, and their number is logged. For training data only: a test score without
        the long sentences cannot be compared with others.
    max_instances : `Optional[int]`, optional (default = `None`)
        Stop after this many instances, over all processes together.
    serialization_dir : `Optional[str]`, optional (default = `None`)
        The folder of the training run, given by AllenNLP.
    valid_every : `float`, optional (default = `10`)
        The share of `FILE#valid` is `1 / valid_every`; at least 2. `2.5` selects two of five sentences.
    also_check : `Optional[Union[str, list[str]]]`, optional (default = `None`)
        Further files, such as the test data. The reader reads them once before training begins, so that mistakes in
        them are reported before training. Missing files are ignored.

    # Raises

    `ConfigurationError` if `max_words` or `valid_every` is out of range.
    """

    def __init__(
        self,
        token_indexers: Optional[dict[str, TokenIndexer]] = None,
        max_words: Optional[int] = None,
        max_instances: Optional[int] = None,
        serialization_dir: Optional[str] = None,
        valid_every: float = 10,
        also_check: Optional[Union[str, list[str]]] = None,
    ) -> None:
        super().__init__(
            max_instances=max_instances,
            manual_distributed_sharding=True,
            manual_multiprocess_sharding=True,
            serialization_dir=serialization_dir,
        )
        check_range("dataset_reader.max_words", max_words, least=1)
        check_range("dataset_reader.valid_every", valid_every, least=2)
        self._valid_every = valid_every
        self._token_indexers = token_indexers or {"tokens": SingleIdTokenIndexer()}
        self._max_words = max_words
        self._also_check = [also_check] if isinstance(also_check, str) else list(also_check or ())

    def _check(self, sentences_of: Callable[[str], Iterable]) -> None:
        """
        Reads the files of `also_check` once, if training is about to begin. `sentences_of` yields the sentences of a
        path and raises an error for a mistake in the file.
        """
        paths, self._also_check = self._also_check, []
        folder = self.serialization_dir
        # A run folder with a vocabulary belongs to a trained model or a recovered run, which need no check. The folder
        # of an unpacked archive is deleted before the archive's reader reads.
        if folder is None or not os.path.isdir(folder) or os.path.exists(os.path.join(folder, "vocabulary")):
            return
        worker = self.get_worker_info()
        if worker is None or worker.id == 0:
            for path in paths:
                if os.path.exists(user_path(split_off_part(path)[0])):
                    for _ in sentences_of(path):
                        pass

    def _of_part(self, file_path: str, items_of: Callable[[str], Iterable[T]]) -> Iterator[T]:
        """The items of a path, `FILE`, `FILE#train` or `FILE#valid`; `items_of` yields the items of a file."""
        path, part = split_off_part(file_path)
        return of_part(items_of(path), part, self._valid_every)

    def read_inputs(self, file_path: str, plain_text: bool = False) -> Iterator[Instance]:
        """
        Reads instances for self-training, which ignores their gold.

        # Parameters

        file_path : `str`
        plain_text : `bool`, optional (default = `False`)
            True: each line that is not blank is one input, for tasks whose input is text alone. False: the file is in a
            data format of the task.

        # Raises

        `ConfigurationError` if a file is malformed, or `plain_text` is set and the task's input is more than text.
        """
        if plain_text:
            lines = ((line, f"{path}:{number}") for path in expanded(file_path) for number, line in text_lines(path))
            instances: Iterable[Instance] = (
                self._of_line(line, source) for line, source in lines if not line.isspace()
            )
        else:
            instances = self._without_gold(file_path)
        for instance in instances:
            self.apply_token_indexers(instance)
            yield instance

    def _without_gold(self, file_path: str) -> Iterable[Instance]:
        """The instances of a file in a data format of the task; they may have gold."""
        return self._read(file_path)

    def _of_line(self, line: str, source: str) -> Instance:
        """The instance, without gold, of a line of plain text."""
        raise ConfigurationError(
            f"{source}: an input of this task is more than text; give a file in a format of the training data."
        )

    def _short_enough(self, file_path: str, sentences: Iterable) -> Iterator:
        """
        Yields the sentences with at most `max_words` words and logs the number of the others.

        # Raises

        `ConfigurationError` if all sentences are longer.
        """
        too_long, any_short = 0, False
        for sentence in sentences:
            if self._max_words is not None and len(sentence.words) > self._max_words:
                too_long += 1
                continue
            any_short = True
            yield sentence
        if too_long and not any_short:
            raise ConfigurationError(
                f"{file_path}: each of its {too_long} sentences has over {self._max_words} words; raise "
                "dataset_reader.max_words."
            )
        if too_long:
            logger.warning("%s: skipped %d sentences of over %d words", file_path, too_long, self._max_words)

    def _shard(self, examples: Iterable) -> Iterator:
        # `shard_iterable` gets the rank from torch's process group. A spawned data-loading worker has no process group,
        # so that every rank would read the whole data set.
        info = self.get_distributed_info()
        if info is not None and not is_distributed():
            examples = itertools.islice(examples, info.global_rank, None, info.world_size)
        return self.shard_iterable(examples)

    def apply_token_indexers(self, instance: Instance) -> None:
        """
        Sets the token indexers of an instance, in place. Data-loading workers send instances without them, because an
        indexer may hold a large pretrained vocabulary.
        """
        field_of(instance, "tokens", TextField).token_indexers = self._token_indexers


def text_field(words: list[str], where: str) -> TextField:
    """
    The `TextField` of a sentence, without token indexers. Raises a `ConfigurationError` that starts with `where` if
    there are no words.
    """
    if not words:
        raise ConfigurationError(f"{where}a sentence needs at least one word.")
    return TextField([Token(word) for word in words])


def tags_field(
    tags: list[str],
    tokens: TextField,
    namespace: str,
    where: str,
    notation: Optional[str] = None,
    encoding: Optional[str] = None,
) -> KnownLabelsField:
    """
    The field of the tags of `tokens`; see `KnownLabelsField`. Raises a `ConfigurationError` that starts with `where` if
    the numbers of tags and words differ.
    """
    check_that(len(tags) == len(tokens), f"{where}the tags", f"{len(tokens)}, one for each word", len(tags))
    return KnownLabelsField(tags, tokens, namespace, notation, encoding)


def with_words(file_path: str, sentences: Iterable) -> Iterator:
    """
    Yields the sentences unchanged.

    # Raises

    `ConfigurationError` after the last sentence, if most words are placeholders or all words are equal.
    """
    first, same, words, missing = None, True, 0, 0
    for sentence in sentences:
        yield sentence
        words += len(sentence.words)
        missing += sum(word in _PLACEHOLDERS for word in sentence.words)
        if same and sentence.words:
            first = sentence.words[0] if first is None else first
            same = all(word == first for word in sentence.words)
    if missing > max(words / 2, 1) or (same and words >= _LEAST_EQUAL_WORDS):
        reason = f"all of its {words} words are '{first}'"
        if not same:
            reason = f"{missing} of its {words} words are {' or '.join(_PLACEHOLDERS)}"
        raise ConfigurationError(
            f"{file_path}: {reason}: these are data without their words; fill them in by the program that comes with "
            "the data, or name the column that has them."
        )


class LegalTags:
    """
    Checks that the tags of a file follow a span encoding, and optionally repairs them.

    # Parameters

    encoding : `str`
        See `seal.common.tag_encodings`.
    repair : `bool`, optional (default = `False`)
        Whether to repair a tag that breaks the encoding, such as an `I-X` that continues no span, by `repaired_tags`.
    """

    def __init__(self, encoding: str, repair: bool = False) -> None:
        self._encoding, self._repair = encoding, repair
        self._repaired, self._first = 0, ""
        self._warned: set[str] = set()

    def of(self, tags: list[str], complaint: Callable[[int], str], where: Callable[[int], str]) -> list[str]:
        """
        Returns the tags, repaired if needed.

        # Parameters

        tags : `list[str]`
        complaint : `Callable[[int], str]`
            Returns the message about an illegal tag, with `file:line`, from its index.
        where : `Callable[[int], str]`
            Returns `file:line` of a tag from its index.

        # Raises

        `ConfigurationError` with the complaint, if the tags break the encoding and cannot or must not be repaired.
        """
        broken = first_broken(tags, self._encoding)
        if broken is None:
            return tags
        repaired = repaired_tags(tags, self._encoding)
        if repaired is None or not self._repair:
            remedy = (
                "; or set 'repair' to true in dataset_reader, and in validation_dataset_reader if there is one: what "
                "continues nothing then begins a span, and one warning tells how many there are"
            )
            raise ConfigurationError(f"{complaint(broken)}{'' if repaired is None else remedy}.")
        changed = [index for index, tag in enumerate(tags) if tag != repaired[index]]
        if not self._repaired:
            self._first = f"{where(changed[0])}, '{tags[changed[0]]}' read as '{repaired[changed[0]]}'"
        self._repaired += len(changed)
        return repaired

    def warn(self, path: str) -> None:
        """Logs, once for each path, the number of tags that were repaired since the last call."""
        if self._repaired and path not in self._warned:
            logger.warning(
                "%s: tags that broke the encoding %s were repaired: %d, the first at %s",
                path,
                self._encoding,
                self._repaired,
                self._first,
            )
            self._warned.add(path)
        self._repaired = 0


PARTS = ("train", "valid")


def split_off_part(path: Union[str, "os.PathLike[str]"]) -> tuple[str, Optional[str]]:
    """
    Splits the path `FILE#PART` into `FILE` and `PART`. The part is `None` for a whole file.

    # Raises

    `ConfigurationError` if the path does not exist and the part is neither `train` nor `valid`, or `path` is not a
    path.
    """
    path = one_path(path)
    file, mark, part = path.rpartition("#")
    # In `run#1/dev.tsv` the sign belongs to the name of a folder.
    if not mark or os.sep in part or os.path.exists(path):
        return path, None
    if part not in PARTS:
        raise ConfigurationError(f"{path}: the part of a file after '#' is one of {', '.join(PARTS)}, not '{part}'.")
    return file, part


def of_part(items: Iterable[T], part: Optional[str], valid_every: float) -> Iterator[T]:
    """
    Yields the items of a file that belong to the part, `train` or `valid`; all items if the part is `None`. The share
    of `valid` is `1 / valid_every`, rounded up to whole items: with `2.5`, items 1, 4 and 6 of seven.
    """
    for number, item in enumerate(items):
        if part is None or (number % valid_every < 1) == (part == "valid"):
            yield item
