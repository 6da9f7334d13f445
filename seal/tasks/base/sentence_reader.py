"""
The base class of the readers of sentences, and paths that name a part of a file.
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

# What stands for each word in data that are published without their words, and as many equal words as are no accident.
_PLACEHOLDERS = ("[WORD]", "_")
_NO_ACCIDENT = 6


class SentenceReader(DatasetReader):
    """
    What readers of sentences share: token indexers that workers do not send, sharding, a limit on length, and paths
    that name a part of a file, `FILE#train` and `FILE#valid`, for data without a validation split. Every
    `valid_every`th item of all files of a path, starting with the first, belongs to `valid`; all others belong to
    `train`. Where a file has the `#` in its own name, the path is that file, whole.

    # Parameters

    token_indexers : `dict[str, TokenIndexer]`, optional (default = `{"tokens": SingleIdTokenIndexer()}`)
        How words become indices.
    max_words : `Optional[int]`, optional (default = `None`)
        Sentences with more words are skipped, and their number is logged. For training data only: a test score without
        the long sentences cannot be compared with others.
    max_instances : `Optional[int]`, optional (default = `None`)
        Stop after this many instances, over all processes together.
    serialization_dir : `Optional[str]`, optional (default = `None`)
        The folder of the training run, given by AllenNLP.
    valid_every : `float`, optional (default = `10`)
        For `FILE#train` and `FILE#valid`: one in this many items, at least 2, belongs to the latter; `2.5` is two in
        five.
    also_check : `Optional[Union[str, list[str]]]`, optional (default = `None`)
        The paths of further files, such as the test data, that are read once before a training begins, so that what is
        wrong in them is told then and not after it. What is not there is left out.

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
        Reads the paths `also_check` to their end, once, where a training is about to begin; `sentences_of` raises where
        what a path holds is wrong.
        """
        paths, self._also_check = self._also_check, []
        folder = self.serialization_dir
        # The vocabulary is made of what was read; a trained model has it, and does not need these files any more. The
        # folder into which its archive was unpacked is gone when a reader of it reads.
        if folder is None or not os.path.isdir(folder) or os.path.exists(os.path.join(folder, "vocabulary")):
            return
        worker = self.get_worker_info()
        if worker is None or worker.id == 0:
            for path in paths:
                if os.path.exists(user_path(split_off_part(path)[0])):
                    for _ in sentences_of(path):
                        pass

    def _of_part(self, file_path: str, items_of: Callable[[str], Iterable[T]]) -> Iterator[T]:
        """What a path holds, or the part that it names."""
        path, part = split_off_part(file_path)
        return of_part(items_of(path), part, self._valid_every)

    def read_inputs(self, file_path: str, plain_text: bool = False) -> Iterator[Instance]:
        """
        Instances whose gold, if they have any, is not to be read, for self-training.

        # Parameters

        file_path : `str`
        plain_text : `bool`, optional (default = `False`)
            Whether each line that is not blank is an input, for tasks whose input is text alone. If not, the file is in
            a format of the task's data.

        # Raises

        `ConfigurationError` where a file is malformed, or an input is more than text.
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
        """Instances, with or without gold, of a file in a format of the task."""
        return self._read(file_path)

    def _of_line(self, line: str, source: str) -> Instance:
        """The instance of a line of text without gold."""
        raise ConfigurationError(
            f"{source}: an input of this task is more than text; give a file in a format of the training data."
        )

    def _short_enough(self, file_path: str, sentences: Iterable) -> Iterator:
        """
        The `sentences` with at most `max_words` `words`. That all have more is an error; if some have, their number is
        logged.
        """
        too_long, kept = 0, False
        for sentence in sentences:
            if self._max_words is not None and len(sentence.words) > self._max_words:
                too_long += 1
                continue
            kept = True
            yield sentence
        if too_long and not kept:
            raise ConfigurationError(
                f"{file_path}: each of its {too_long} sentences has over {self._max_words} words; raise "
                "dataset_reader.max_words."
            )
        if too_long:
            logger.warning("%s: skipped %d sentences of over %d words", file_path, too_long, self._max_words)

    def _shard(self, examples: Iterable) -> Iterator:
        # `shard_iterable` asks torch for the rank. A data-loading worker that was spawned, not forked, has no
        # process group: there every rank would read the whole data set.
        info = self.get_distributed_info()
        if info is not None and not is_distributed():
            examples = itertools.islice(examples, info.global_rank, None, info.world_size)
        return self.shard_iterable(examples)

    def apply_token_indexers(self, instance: Instance) -> None:
        """
        Give the instance its token indexers. Data-loading workers send instances without them, so that large
        indexers (a pretrained vocabulary) do not travel with every instance.

        # Parameters

        instance : `Instance`
            An instance of this reader; changed in place.
        """
        field_of(instance, "tokens", TextField).token_indexers = self._token_indexers


def text_field(words: list[str], where: str) -> TextField:
    """The field of a sentence's words, without token indexers; an error that begins with `where` if there are none."""
    if not words:
        raise ConfigurationError(f"{where}a sentence needs at least one word.")
    return TextField([Token(word) for word in words])


def tags_field(
    tags: list[str], tokens: TextField, namespace: str, where: str, notation: Optional[str] = None
) -> KnownLabelsField:
    """The field of tags; an error that begins with `where` if they are not as many as the words."""
    check_that(len(tags) == len(tokens), f"{where}the tags", f"{len(tokens)}, one for each word", len(tags))
    return KnownLabelsField(tags, tokens, namespace, notation)


def with_words(file_path: str, sentences: Iterable) -> Iterator:
    """
    Passes the sentences on.

    # Raises

    `ConfigurationError` after the last one, where most words are a placeholder, or all of them are the same.
    """
    first, same, words, missing = None, True, 0, 0
    for sentence in sentences:
        yield sentence
        words += len(sentence.words)
        missing += sum(word in _PLACEHOLDERS for word in sentence.words)
        if same and sentence.words:
            first = sentence.words[0] if first is None else first
            same = all(word == first for word in sentence.words)
    if missing > max(words / 2, 1) or (same and words >= _NO_ACCIDENT):
        found = f"all of its {words} words are '{first}'"
        if not same:
            found = f"{missing} of its {words} words are {' or '.join(_PLACEHOLDERS)}"
        raise ConfigurationError(
            f"{file_path}: {found}: these are data without their words; fill them in by the program that comes with "
            "the data, or name the column that has them."
        )


class LegalTags:
    """
    Checks tags of spans as a file has them, and repairs them where that is asked for.

    # Parameters

    encoding : `str`
        See `seal.common.tag_encodings`.
    repair : `bool`, optional (default = `False`)
        Whether a tag that breaks the encoding, such as an `I-X` that continues nothing, is read as `repaired_tags`
        does, and counted.
    """

    def __init__(self, encoding: str, repair: bool = False) -> None:
        self._encoding, self._repair = encoding, repair
        self._repaired, self._first = 0, ""
        self._said: set[str] = set()

    def of(self, tags: list[str], complaint: Callable[[int], str], where: Callable[[int], str]) -> list[str]:
        """
        The tags, legal.

        # Parameters

        tags : `list[str]`
        complaint : `Callable[[int], str]`
            What is wrong with the tag at an index, and where.
        where : `Callable[[int], str]`
            `file:line` of the tag at an index.

        # Raises

        `ConfigurationError` with the complaint where they break the encoding, and are not repaired.
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
        """Tells once for each path what was repaired since the last call."""
        if self._repaired and path not in self._said:
            logger.warning(
                "%s: tags that broke the encoding %s were repaired: %d, the first at %s",
                path,
                self._encoding,
                self._repaired,
                self._first,
            )
            self._said.add(path)
        self._repaired = 0


PARTS = ("train", "valid")


def split_off_part(path: Union[str, "os.PathLike[str]"]) -> tuple[str, Optional[str]]:
    """
    Splits a path into the file and its part; the part is `None` where the whole file is meant.

    # Raises

    `ConfigurationError` where there is no file of that name and the part is neither `train` nor `valid`, or `path` is
    not a path.
    """
    path = one_path(path)
    file, mark, part = path.rpartition("#")
    # A part has no folder: in `run#1/dev.tsv` the sign is one of a folder's name.
    if not mark or os.sep in part or os.path.exists(path):
        return path, None
    if part not in PARTS:
        raise ConfigurationError(f"{path}: the part of a file after '#' is one of {', '.join(PARTS)}, not '{part}'.")
    return file, part


def of_part(items: Iterable[T], part: Optional[str], valid_every: float) -> Iterator[T]:
    """
    The items of a file that belong to the part; all items where the part is `None`. The share of `valid` is
    `1 / valid_every`, rounded up to a whole item: of seven, `2.5` gives it the first, fourth and sixth.
    """
    for number, item in enumerate(items):
        if part is None or (number % valid_every < 1) == (part == "valid"):
            yield item
