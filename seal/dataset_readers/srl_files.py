"""
Semantic-role files as plain records, sentence by sentence: CoNLL-2012 columns, CoNLL-U with roles and BIO JSON lines.
"""

import json
import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Optional

from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.sentences import LegalTags
from seal.dataset_readers.srl_conll import is_conllu, parse_conll2012, parse_conllu
from seal.dataset_readers.srl_records import SrlFrame, SrlSentence
from seal.files.names import check_name, clean_name
from seal.files.paths import data_files, not_empty, with_packings
from seal.files.strict_json import read_json
from seal.files.text_lines import column_lines, text_lines

_ENDINGS = ("_conll", ".conll", ".jsonl")
_CONLL_U = (".conllu", ".conllup")
_GOLD, _AUTO = "gold_conll", "auto_conll"
_JSON_ENDINGS = with_packings((".jsonl", ".json"))
_CONLL_U_ENDINGS = with_packings(_CONLL_U)
_JSON_LINES = "JSON lines, an object with 'words' and 'frames' a line"
_COLUMNS = "columns of CoNLL-2012 or CoNLL-U (a file of JSON lines must end in .jsonl)"


def srl_data_files(path: str) -> list[str]:
    """
    The files that a data path stands for, sorted: a file for itself, a folder for every file below it whose name ends
    in `_conll`, `.conll` or `.jsonl`, or one of these and `.gz`, `.bz2` or `.xz`; `.conllu` and `.conllup` where there
    are none of these, as a treebank may lie beside its roles. Where there are files of `gold_conll`, those of
    `auto_conll` are left out: CoNLL-2012 has its sentences twice, annotated by hand and by tools.
    """
    files = data_files(path, (*_ENDINGS, *_CONLL_U), "CoNLL-2012 columns, CoNLL-U with roles or BIO JSON lines")
    if len(files) > 1:
        files = [name for name in files if not name.endswith(_CONLL_U_ENDINGS)] or files
    if len(files) > 1 and any(_GOLD in os.path.basename(name) for name in files):
        files = [name for name in files if _AUTO not in os.path.basename(name)]
    return files


def read_srl_sentences(path: str, role_spans: str = "head", legal: Optional[LegalTags] = None) -> Iterator[SrlSentence]:
    """
    Stream the sentences of a file or folder (see `srl_data_files`), in the order of the sorted files. All are UTF-8.

    A file whose name ends in `.jsonl` or `.json` (or these and `.gz`, `.bz2` or `.xz`) holds one JSON object a line:
    `{"words": [...], "frames": [{"pred": 3, "tags": [...], "lemma": "give", "sense": "01"}]}`, where `lemma` and
    `sense` may be left out and other keys are ignored. If the tags have a `B-V`, that at `pred` is `B-V` or `I-V`.

    A file whose name ends in `.conllu` or `.conllup`, or that begins as such files do, holds CoNLL-U with the roles of
    [Universal PropBank](https://universalpropositions.github.io/). Version 1.0 has the predicate's frame in column 10
    (from 0) and then one column of roles a predicate, each role on its head word. Version 2.0, merged with its
    treebank, has `UP:PRED` and, in the row of the predicate, `UP:ARGHEADS`, such as `A0:1|A1:3`; `UP:ARGSPANS` is not
    read. A line `# global.columns = ...` says where columns are. Rows of multi-word tokens and empty nodes are no
    words. Where a word has two roles of one frame, the first is kept, and a warning tells how many are left out.

    Every other file holds CoNLL-2012 columns, separated by ASCII white space: the word is column 3 (from 0), lemma 6,
    frameset 7, one column of roles a predicate from column 11 on, and coreference last. The n-th row with a frameset
    owns the n-th role column. Where the two counts differ, or the column's `(V` opens on another row, the row of the
    column's first `(V` is its predicate.

    # Parameters

    path : `str`
    role_spans : `str`, optional (default = `"head"`)
        What a role of CoNLL-U covers: see `parse_conllu`.
    legal : `Optional[LegalTags]`, optional (default = `None`)
        Checks the tags of JSON lines. `None`: they are not repaired.
    """
    legal = legal or LegalTags("BIO")
    for file_path in srl_data_files(path):
        if file_path.endswith(_JSON_ENDINGS):
            sentences = parse_json_lines(file_path, text_lines(file_path, _JSON_LINES, json_lines=True), legal)
        else:
            lines = column_lines(file_path, _COLUMNS)
            first = next((line for line in lines if not line[1].isspace()), (1, ""))
            if file_path.endswith(_CONLL_U_ENDINGS) or is_conllu(first[1]):
                sentences = parse_conllu(file_path, chain([first], lines), role_spans)
            else:
                sentences = parse_conll2012(file_path, chain([first], lines))
        try:
            yield from not_empty(sentences, f"{file_path}:1: the file holds no sentence.")
        finally:
            legal.warn(file_path)


def parse_json_lines(
    path: str, lines: Iterable[tuple[int, str]], legal: Optional[LegalTags] = None
) -> Iterator[SrlSentence]:
    """
    Stream sentences from numbered BIO JSON lines, of which empty ones are skipped; the keys are described at
    `read_srl_sentences`.
    """
    legal = legal or LegalTags("BIO")
    for number, line in lines:
        if not line.strip():
            continue
        where = f"{path}:{number}"
        record = read_json(line, "each line must be one JSON object", where)
        words, frames = _value(where, record, "words"), _value(where, record, "frames")
        if not isinstance(words, list) or not words or not all(isinstance(w, str) and w for w in words):
            raise ConfigurationError(f"{where}: 'words' must be a list of one or more non-empty strings.")
        for index, word in enumerate(words):
            check_name(word, f"{where}: word {index}")
        if not isinstance(frames, list):
            raise ConfigurationError(f"{where}: 'frames' must be a list, found {_as_json(frames)}.")
        yield SrlSentence(words, [_frame(where, frame, len(words), legal) for frame in frames], where)


def _value(where: str, record: Any, key: str) -> Any:
    if not isinstance(record, dict):
        raise ConfigurationError(f"{where}: expected a JSON object, found {_as_json(record)}.")
    if key not in record:
        raise ConfigurationError(f"{where}: the key {key!r} is missing; found {sorted(record)}.")
    return record[key]


def _as_json(value: Any) -> str:
    """The beginning of a value as the file has it, for messages: `true` and `null`, not Python's `True` and `None`."""
    return json.dumps(value)[:60]


def _frame(where: str, record: Any, length: int, legal: LegalTags) -> SrlFrame:
    predicate, tags = _value(where, record, "pred"), _value(where, record, "tags")
    # A JSON `true` is a Python int.
    if not isinstance(predicate, int) or isinstance(predicate, bool) or not 0 <= predicate < length:
        raise ConfigurationError(
            f"{where}: 'pred' must be the index of a word, 0 to {length - 1} here, found {_as_json(predicate)}."
        )
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise ConfigurationError(f"{where}: the 'tags' of predicate {predicate} must be a list of strings.")
    if len(tags) != length:
        raise ConfigurationError(f"{where}: predicate {predicate} has {len(tags)} tags for {length} words.")
    clean = {tag: clean_name(tag, f"{where}: the tag") for tag in dict.fromkeys(tags)}
    tags = [clean[tag] for tag in tags]
    given = tags
    tags = legal.of(
        given,
        lambda index: (
            f"{where}: tag {index} of predicate {predicate} is {given[index]!r}, not legal there: a tag is 'O', 'B-X' "
            "or 'I-X', and 'I-X' may only follow 'B-X' or 'I-X'"
        ),
        lambda index: f"{where}: tag {index} of predicate {predicate}",
    )
    if "B-V" in tags and tags[predicate] not in ("B-V", "I-V"):
        raise ConfigurationError(
            f"{where}: the tags of predicate {predicate} have V at word {tags.index('B-V')}, not at {predicate}."
        )
    for key in ("lemma", "sense"):
        if not isinstance(record.get(key), (str, type(None))):
            raise ConfigurationError(f"{where}: {key!r} must be a string or null, found {_as_json(record[key])}.")
    return SrlFrame(predicate, tags, record.get("lemma"), record.get("sense"))
