"""
The dataset reader for constituency parsing.
"""

from collections.abc import Iterator
from typing import NamedTuple, Optional, Union

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance, Token, TokenIndexer
from allennlp.data.fields import SequenceField, TextField

from seal.common.linear_trees import check_tree, linearised
from seal.dataset_readers.fields import KnownLabelsField, WordsField
from seal.dataset_readers.penn_trees import cleaned, read_trees
from seal.dataset_readers.sentences import SentenceReader, check_valid_every, of_part, split_off_part, with_words
from seal.files.other_formats import to_be_converted
from seal.files.paths import data_files, expanded, not_empty
from seal.files.text_lines import without_packing

_ENDINGS = (".mrg", ".prd", ".ptb", ".tree", ".trees")
_NXT = ".syntax.xml"


class _ReadTree(NamedTuple):
    words: list[str]
    tags: list[str]
    symbols: list[str]
    source: str


@DatasetReader.register("seal_parsing")
class ParsingReader(SentenceReader):
    """
    Reads trees in Penn Treebank brackets (`read_trees`), and cleans them (`cleaned`): no empty elements, function tags
    or outer bracket. A path is a file, a pattern with `*`, a folder, which is every file below it whose name ends in
    `.mrg`, `.prd`, `.ptb`, `.tree` or `.trees`, or a list of these. The fields of an instance, one a tree:

    - `tokens`: the words.
    - `symbols`: the tree as a list of symbols (`seal.common.linear_trees`), vocabulary namespace `tree_tags`; absent
      without gold.
    - `metadata`: a dictionary of `words`, `symbols` (the strings, or `None` without gold), `tags` (the parts of speech,
      which scoring needs to leave punctuation out, or `None`) and `source` (`file:line`, or `None`).

    `FILE#train` and `FILE#valid` are two parts of one file, for data without a validation split: the first tree and
    then every `valid_every`th one belong to the latter.

    # Parameters

    token_indexers : `dict[str, TokenIndexer]`, optional (default = `{"tokens": SingleIdTokenIndexer()}`)
    max_words : `Optional[int]`, optional (default = `None`)
        Sentences with more words are skipped, and their number is logged. For training data only: a test score without
        the long sentences cannot be compared with others.
    max_instances : `Optional[int]`, optional (default = `None`)
        Stop after this many instances, over all processes together.
    valid_every : `int`, optional (default = `10`)
    punctuation : `bool`, optional (default = `True`)
        Whether words of punctuation are kept. Tran et al. 2018 parse transcribed speech without them.
    serialization_dir : `Optional[str]`, optional (default = `None`)
        The folder of the training run, given by AllenNLP.

    # Raises

    `ConfigurationError`
        Where an option is out of range, or a file is malformed.
    """

    def __init__(
        self,
        token_indexers: Optional[dict[str, TokenIndexer]] = None,
        max_words: Optional[int] = None,
        max_instances: Optional[int] = None,
        valid_every: int = 10,
        punctuation: bool = True,
        serialization_dir: Optional[str] = None,
    ) -> None:
        super().__init__(token_indexers, max_words, max_instances, serialization_dir)
        check_valid_every(valid_every)
        self._valid_every, self._punctuation = valid_every, punctuation

    def _read(self, file_path: Union[str, list[str]]) -> Iterator[Instance]:
        paths = list(file_path) if isinstance(file_path, (list, tuple)) else [file_path]
        for tree in self._shard(self._short_enough(str(file_path), self._trees(paths, str(file_path)))):
            yield self.text_to_instance(tree.words, tree.symbols, tree.tags, tree.source)

    def _of_line(self, line: str, source: str) -> Instance:
        return self.text_to_instance(line.split(), source=source)

    def _trees(self, paths: list[str], told: str) -> Iterator[_ReadTree]:
        """Those of all paths, which messages call `told`."""
        trees = (tree for path in paths for tree in self._of_path(path))
        return with_words(told, not_empty(trees, f"{told}: it has no tree with a word."))

    def _of_path(self, file_path: str) -> Iterator[_ReadTree]:
        path, part = split_off_part(file_path)
        return of_part((tree for one in expanded(path) for tree in self._whole(one)), part, self._valid_every)

    def _whole(self, path: str) -> Iterator[_ReadTree]:
        for file in data_files(path, _ENDINGS, "trees in Penn Treebank brackets"):
            if without_packing(file).endswith(_NXT):
                raise to_be_converted(file, "NXT's XML", "nxt", ".mrg")
            for number, tree in read_trees(file):
                tree = cleaned(tree, self._punctuation)
                if tree is not None:
                    words, tags = map(list, zip(*tree.pos()))
                    yield _ReadTree(words, tags, linearised(tree), f"{file}:{number}")

    def text_to_instance(  # type: ignore[override]
        self,
        words: list[str],
        symbols: Optional[list[str]] = None,
        tags: Optional[list[str]] = None,
        source: Optional[str] = None,
    ) -> Instance:
        """
        One instance, without token indexers (`apply_token_indexers` adds them).

        # Parameters

        words : `list[str]`
            At least one.
        symbols : `Optional[list[str]]`
            The symbols of the gold tree; `None` where there is no gold.
        tags : `Optional[list[str]]`
            The part of speech of each word, for scores. `None`: no word is punctuation.
        source : `Optional[str]`
            Where the sentence is from, `file:line`, for messages.

        # Raises

        `ConfigurationError`
            Where there are no words, or the symbols are no tree over them.
        """
        where = f"{source}: " if source else ""
        if not words:
            raise ConfigurationError(f"{where}a sentence needs at least one word.")
        fields: dict[str, Field] = {"tokens": TextField([Token(word) for word in words])}
        if symbols is not None:
            try:
                check_tree(symbols, len(words))
            except ValueError as error:
                raise ConfigurationError(f"{where}{error}") from error
            fields["symbols"] = KnownLabelsField(symbols, _Steps(len(symbols)), "tree_tags")
        metadata = {"words": words, "symbols": symbols, "tags": tags, "source": source}
        fields["metadata"] = WordsField(metadata)
        return Instance(fields)


class _Steps(SequenceField):
    """The steps of an output: their number alone."""

    def __init__(self, number: int) -> None:
        self._number = number

    def sequence_length(self) -> int:
        return self._number

    def empty_field(self) -> "_Steps":
        return _Steps(0)
