"""
Files of JSON lines: in each line an object with a text.
"""

from collections.abc import Iterator
from typing import Any, Optional

from allennlp.common.checks import ConfigurationError

from seal.common.setting_checks import short
from seal.dataset_readers.text_formats.labelled_text import LabelledText, TextOptions, once_each, telling_of_labels
from seal.files.strict_json import read_json
from seal.files.text_lines import text_lines

# The keys of our own files and of the published versions of NYT, RCV1 and WOS for hierarchical classification.
_TEXT_KEYS = ("text", "token", "tokens", "doc_token")
LABEL_KEYS = ("labels", "label", "doc_label")


@telling_of_labels
def read_json_lines(path: str, options: TextOptions = TextOptions()) -> Iterator[LabelledText]:
    """
    Reads JSON lines: an object a line, `{"text": "...", "labels": ["...", ...]}`. The text may be a string or a list of
    words, under `text`, `token`, `tokens` or `doc_token`; the labels are a list of names under `labels`, `label` or
    `doc_label`. The versions of NYT, RCV1 and WOS that hierarchical classification uses are such files
    (`{"token": [...], "label": [...]}`). Other keys are ignored; blank lines are skipped.

    # Parameters

    path : `str`
    options : `TextOptions`
        `text_keys`: the keys whose texts are joined by a space, in place of the first of the above that is there.

    # Raises

    `ConfigurationError` at a line that is not such an object.
    """
    for number, line in text_lines(path, "JSON lines, an object with a text and labels a line", json_lines=True):
        if line.isspace():
            continue
        where = f"{path}:{number}"
        record = _record(line, where)
        yield LabelledText(text_of(record, options.text_keys, where), _labels(record, where), where)


def text_of(record: dict[str, Any], text_keys: Optional[tuple[str, ...]] = None, source: Optional[str] = None) -> str:
    """
    The text of an object, with or without labels.

    # Parameters

    record : `dict[str, Any]`
    text_keys : `tuple[str, ...]`, optional
        As in `TextOptions`.
    source : `str`, optional
        `file:line`, for messages.

    # Raises

    `ConfigurationError` if a key is missing, or holds no text.
    """
    where = f"{source}: " if source else ""
    return " ".join(_text(record, key, where) for key in _keys(record, text_keys, where))


def _record(line: str, where: str) -> dict[str, Any]:
    record = read_json(line, "each line must be one JSON object", where)
    if not isinstance(record, dict):
        found = short(line.strip())
        raise ConfigurationError(f"{where}: expected a JSON object with a text and labels, found {found}.")
    return record


def _keys(record: dict[str, Any], asked: Optional[tuple[str, ...]], where: str) -> tuple[str, ...]:
    if asked is not None:
        for key in asked:
            if key not in record:
                raise ConfigurationError(f"{where}the object has no {key!r}, which the reader's text_keys name.")
        return asked
    for key in _TEXT_KEYS:
        if key in record:
            return (key,)
    raise ConfigurationError(
        f"{where}the object has none of {', '.join(_TEXT_KEYS)}; name the keys of its text in the reader's text_keys."
    )


def _text(record: dict[str, Any], key: str, where: str) -> str:
    text = record[key]
    if isinstance(text, list) and all(isinstance(word, str) for word in text):
        return " ".join(text)
    if not isinstance(text, str):
        raise ConfigurationError(f"{where}{key!r} must be a string or a list of words, found {short(text)}.")
    return text


def _labels(record: dict[str, Any], where: str) -> list[str]:
    key = next((key for key in LABEL_KEYS if key in record), None)
    if key is None:
        raise ConfigurationError(f"{where}: the object has no 'labels'; a text without any has an empty list.")
    labels = record[key]
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise ConfigurationError(f"{where}: {key!r} must be a list of names, found {short(labels)}.")
    return once_each(labels, where)
