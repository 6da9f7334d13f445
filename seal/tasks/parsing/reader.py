"""
The dataset reader for constituency parsing, and trees in the brackets of the Penn Treebank: the `.mrg` files of WSJ,
Brown and Switchboard, trees over several lines or one a line, as parsers and conversions write them.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Optional, Union

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance
from allennlp.data.fields import SequenceField
from nltk import Tree

from seal.common.linear_trees import PUNCTUATION, WORD, check_tree, linearised
from seal.common.setting_checks import abbreviate, with_parameters_of
from seal.files.format_sniffing import to_be_converted
from seal.files.paths import data_files, not_empty
from seal.files.text_lines import text_lines, without_packing
from seal.tasks.base.fields import KnownLabelsField, WordsField
from seal.tasks.base.sentence_reader import SentenceReader, text_field, with_words

# A no-break space is part of a word.
_TOKEN = re.compile(r"[()]|[^() \t\r\n\f\v]+")
# The lines of the copyright notice in files of the Penn Treebank.
_NOTICE = "*x*"
_EXAMPLE = "(S (NP (PRP I)) (VP (VBP sleep)))"
#: Constituents inside each other, at most; nltk goes through a tree by recursion, and Python's has an end.
MOST_DEEP = 200

#: The label of a root above the constituents of the sentence.
ROOT = "TOP"
_ROOTS = ("", ROOT, "ROOT", "S1")
#: The part of speech of an empty element.
EMPTY = "-NONE-"
#: The part of speech of a mark of disfluencies in Switchboard.
MARKS = "-DFL-"
# A constituent that marks a turn.
_CODE = "CODE"
# The labels of empty elements and marks.
_NO_WORDS = (EMPTY, MARKS, _CODE)
# A label without function tags, indices and its alternatives; `-LRB-` has none of them.
_BARE = re.compile(r"[^-=|]+")


def read_trees(path: str) -> Iterator[tuple[int, Tree]]:
    """
    The trees of a UTF-8 file, plain or packed (`.gz`, `.bz2`, `.xz`), in their order, each with the number of its first
    line, from 1. A bracket at the very start of a line begins a tree.

    # Raises

    `ConfigurationError` if brackets do not form trees, or a bracket has several words and no bracket inside, as
    `(NN cook cook-1)`, which is ambiguous.
    """
    trees = parsed_trees(path, text_lines(path, f"trees in brackets, such as {_EXAMPLE}"))
    return not_empty(trees, f"{path}: the file has no tree.")


def parsed_trees(  # noqa: C901 - a branch a token
    path: str, lines: Iterable[tuple[int, str]]
) -> Iterator[tuple[int, Tree]]:
    """As `read_trees`, from lines with their numbers."""
    open_: list[Tree] = []
    start = 0
    after_bracket = False
    for number, line in lines:
        if open_ and line[0] == "(":
            raise ConfigurationError(
                f"{path}:{start}: the tree that begins here is not closed before line {number}, where another begins "
                "(inside a tree, lines begin with a blank)."
            )
        if not open_ and line.startswith(_NOTICE):
            continue
        for token in _TOKEN.findall(line):
            if token == "(":
                if not open_:
                    start = number
                if len(open_) == MOST_DEEP:
                    raise ConfigurationError(
                        f"{path}:{number}: more than {MOST_DEEP} brackets are open in the tree that begins at line "
                        f"{start}."
                    )
                open_.append(Tree("", []))
            elif not open_:
                what = "this bracket closes nothing" if token == ")" else f"{abbreviate(token)} is outside of any tree"
                raise ConfigurationError(f"{path}:{number}: {what}; expected trees such as {_EXAMPLE}.")
            elif token == ")":
                node = open_.pop()
                if not node:
                    raise ConfigurationError(
                        f"{path}:{number}: the bracket {abbreviate(f'({node.label()})')} has no word."
                    )
                if len(node) > 1 and node.label() not in _NO_WORDS and all(isinstance(child, str) for child in node):
                    bracket = f"({' '.join([node.label(), *node])})"
                    raise ConfigurationError(
                        f"{path}:{number}: the bracket {abbreviate(bracket)} has {len(node)} "
                        "words and no bracket: a part of speech has one word, and in a constituent each word needs a "
                        f"bracket with its part of speech, or with {WORD} if that is not known."
                    )
                if open_:
                    open_[-1].append(node)
                else:
                    yield start, node
            elif after_bracket:
                open_[-1].set_label(token)
            else:
                open_[-1].append(token)
            after_bracket = token == "("
    if open_:
        raise ConfigurationError(
            f"{path}:{start}: the tree that begins here is never closed; at the end of the file {len(open_)} of its "
            "brackets are open."
        )


def cleaned(tree: Tree, punctuation: bool = True) -> Optional[Tree]:
    """
    The tree that parsers learn, in which every word has a part of speech; `None` if nothing is left. It drops

    - empty elements (`-NONE-`), and constituents with nothing else in them;
    - function tags and indices, `NP-SBJ-1` and `NP=2` are `NP`; of two labels the second, `PRT|ADVP` is `PRT`;
    - the root around the sentence, whether it has no label or is `ROOT`, `TOP` or `S1`. Where several constituents, or
      a lone word, would be left without a root, it is `TOP`, which the scoring of brackets does not count;
    - a bracket without a label inside, whose children take its place;
    - in Switchboard, the marks of disfluencies (`-DFL-`, such as `\\[` and `E_S`) and of turns (`CODE`). `EDITED` and
      `INTJ` stay, as in [Tran et al. 2018](https://arxiv.org/abs/1704.07287);
    - without `punctuation`, words with a part of speech of it (`,` `:` `.` and quotes), as transcribed speech has none
      in Tran et al.
    """
    dropped = {EMPTY, MARKS} | (set() if punctuation else PUNCTUATION)
    kept = _cleaned(tree, dropped)
    while len(kept) == 1 and kept[0].label() in _ROOTS and not _is_tagged(kept[0]):
        kept = list(kept[0])
    if len(kept) == 1 and not _is_tagged(kept[0]):
        return kept[0]
    return Tree(ROOT, kept) if kept else None


def _cleaned(node: Union[Tree, str], dropped: Iterable[str]) -> list[Tree]:
    """The cleaned node, as a list: empty, one node, or the children of a node without a label."""
    if isinstance(node, str):
        return [Tree(WORD, [node])]
    if node.label() in dropped or node.label() == _CODE:
        return []
    if _is_tagged(node):
        return [Tree(_bare(node.label()), list(node))]
    kept = [left for child in node for left in _cleaned(child, dropped)]
    return [Tree(_bare(node.label()), kept)] if kept and node.label() else kept


def _is_tagged(node: Tree) -> bool:
    """Whether a node is a word with its part of speech."""
    return len(node) == 1 and isinstance(node[0], str)


def _bare(label: str) -> str:
    found = _BARE.match(label)
    return found[0] if found else label


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

    # Parameters

    As for `SentenceReader`, except `also_check`.

    punctuation : `bool`, optional (default = `True`)
        Whether words of punctuation are kept. Tran et al. 2018 parse transcribed speech without them.

    # Raises

    `ConfigurationError`
        Where an option is out of range, or a file is malformed.
    """

    @with_parameters_of(SentenceReader.__init__, without=("also_check",))
    def __init__(self, *, punctuation: bool = True, **settings: Any) -> None:
        super().__init__(**settings)
        self._punctuation = punctuation

    def _read(self, file_path: Union[str, list[str]]) -> Iterator[Instance]:
        paths = list(file_path) if isinstance(file_path, (list, tuple)) else [file_path]
        for tree in self._shard(self._short_enough(str(file_path), self._trees(paths, str(file_path)))):
            yield self.text_to_instance(tree.words, tree.symbols, tree.tags, tree.source)

    def _of_line(self, line: str, source: str) -> Instance:
        return self.text_to_instance(line.split(), source=source)

    def _trees(self, paths: list[str], name: str) -> Iterator[_ReadTree]:
        """The trees of all paths; `name` stands for them in messages."""
        trees = (tree for path in paths for tree in self._of_part(path, self._whole))
        return with_words(name, not_empty(trees, f"{name}: it has no tree with a word."))

    def _whole(self, path: str) -> Iterator[_ReadTree]:
        for file in data_files(path, _ENDINGS, "trees in Penn Treebank brackets"):
            if without_packing(file).endswith(_NXT):
                raise to_be_converted(file, "NXT's XML", "nxt", ".mrg")
            for number, tree in read_trees(file):
                tree = cleaned(tree, self._punctuation)
                if tree is not None:
                    words, tags = map(list, zip(*tree.pos()))
                    yield _ReadTree(words, tags, linearised(tree), f"{file}:{number}")

    def text_to_instance(
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
        fields: dict[str, Field] = {"tokens": text_field(words, where)}
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
