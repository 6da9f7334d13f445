"""
Reads files with semantic roles, sentence by sentence: columns of CoNLL-2012, 2009 and 2005, BIO JSON lines, and CoNLL-U
with roles.
"""

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Optional

from seal.common.setting_checks import check_that
from seal.files.names import check_name, clean_name
from seal.files.paths import data_files, not_empty, with_packings
from seal.files.records import json_records
from seal.files.text_lines import column_lines, text_lines
from seal.registry import ConfigurationError
from seal.tasks.base.sentence_reader import LegalTags
from seal.tasks.srl.conllu import is_conllu, read_conllu
from seal.tasks.srl.frames import SrlFrame, SrlSentence
from seal.tasks.srl.role_columns import read_role_columns

_CONLL_U = (".conllu", ".conllup")
_ENDINGS = ("_conll", ".conll", ".jsonl", *_CONLL_U)
_GOLD, _AUTO = "gold_conll", "auto_conll"
_JSON_ENDINGS = with_packings((".jsonl", ".json"))
_CONLL_U_ENDINGS = with_packings(_CONLL_U)
_JSON_LINES = "JSON lines, an object with 'words' and 'frames' a line"
_COLUMNS = "columns of CoNLL-2012, 2009 or 2005 (a file of JSON lines must end in .jsonl)"


def srl_data_files(path: str) -> list[str]:
    """
    The files of a data path, sorted: the file itself, or all files below a folder whose name ends in `_conll`, `.conll`
    or `.jsonl`, or one of these and `.gz`, `.bz2` or `.xz`; or, if there is none, in `.conllu` or `.conllup`, which may
    be a treebank without roles. If there are files of `gold_conll`, files of `auto_conll` are left out: CoNLL-2012 has
    its sentences twice, annotated by hand and by tools.
    """
    files = data_files(path, _ENDINGS, "columns of CoNLL, BIO JSON lines or CoNLL-U with roles")
    if len(files) > 1:
        files = [name for name in files if not name.endswith(_CONLL_U_ENDINGS)] or files
    if len(files) > 1 and any(_GOLD in os.path.basename(name) for name in files):
        files = [name for name in files if _AUTO not in os.path.basename(name)]
    return files


def read_srl_sentences(path: str, legal: Optional[LegalTags] = None, role_spans: str = "head") -> Iterator[SrlSentence]:
    """
    Stream the sentences of a file or folder (see `srl_data_files`), in the order of the sorted files. All are UTF-8.

    A file whose name ends in `.jsonl` or `.json` (or these and `.gz`, `.bz2` or `.xz`) holds one JSON object a line:
    `{"words": [...], "frames": [{"pred": 3, "tags": [...], "lemma": "give", "sense": "01"}]}`, where `lemma` and
    `sense` may be left out and other keys are ignored. If the tags have a `B-V`, that at `pred` is `B-V` or `I-V`.

    A file whose name ends in `.conllu` or `.conllup` (or these and a packed ending), or whose first line is one of
    CoNLL-U or of CoNLL-2009, is read by `read_conllu`. Every other file is read by `read_role_columns`.

    # Parameters

    path : `str`
    legal : `Optional[LegalTags]`, optional (default = `None`)
        Checks the tags of JSON lines. `None`: they are not repaired.
    role_spans : `str`, optional (default = `"head"`)
        The spans of roles in CoNLL-U: see `read_conllu`.
    """
    legal = legal or LegalTags("BIO")
    for file_path in srl_data_files(path):
        if file_path.endswith(_JSON_ENDINGS):
            sentences = _parse_json_lines(file_path, text_lines(file_path, _JSON_LINES, json_lines=True), legal)
        else:
            lines = column_lines(file_path, _COLUMNS)
            first = next((line for line in lines if not line[1].isspace()), (1, ""))
            if file_path.endswith(_CONLL_U_ENDINGS) or is_conllu(first[1]):
                sentences = read_conllu(file_path, role_spans)
            else:
                sentences = read_role_columns(file_path, chain([first], lines))
        try:
            yield from not_empty(sentences, f"{file_path}:1: the file holds no sentence.")
        finally:
            legal.warn(file_path)


def _parse_json_lines(path: str, lines: Iterable[tuple[int, str]], legal: LegalTags) -> Iterator[SrlSentence]:
    for number, record in json_records(path, lines, "an object"):
        where = f"{path}:{number}"
        words, frames = _value(where, record, "words"), _value(where, record, "frames")
        are_words = isinstance(words, list) and bool(words) and all(isinstance(w, str) and w for w in words)
        check_that(are_words, f"{where}: 'words'", "a list of one or more non-empty strings", words)
        for index, word in enumerate(words):
            check_name(word, f"{where}: word {index}")
        check_that(isinstance(frames, list), f"{where}: 'frames'", "a list", frames)
        yield SrlSentence(words, [_frame(where, frame, len(words), legal) for frame in frames], where)


def _value(where: str, record: Any, key: str) -> Any:
    check_that(isinstance(record, dict), f"{where}: the JSON", "an object", record)
    if key not in record:
        raise ConfigurationError(f"{where}: the key {key!r} is missing; found {sorted(record)}.")
    return record[key]


def _frame(where: str, record: Any, length: int, legal: LegalTags) -> SrlFrame:
    predicate, tags = _value(where, record, "pred"), _value(where, record, "tags")
    # A JSON `true` is a Python int.
    is_index = type(predicate) is int and 0 <= predicate < length
    check_that(is_index, f"{where}: 'pred'", f"the index of a word, 0 to {length - 1} here", predicate)
    are_tags = isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)
    check_that(are_tags, f"{where}: the 'tags' of predicate {predicate}", "a list of strings", tags)
    check_that(len(tags) == length, f"{where}: the tags of predicate {predicate}", f"{length}", len(tags))
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
        found = record.get(key)
        check_that(isinstance(found, (str, type(None))), f"{where}: {key!r}", "a string or null", found)
    return SrlFrame(predicate, tags, record.get("lemma"), record.get("sense"))
