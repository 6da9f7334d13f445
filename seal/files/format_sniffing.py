"""Detects an unexpected file format from the beginning of a file, or from a cell."""

import re
from typing import Optional

from seal.registry import ConfigurationError

# What a packed file begins with, and how its name then ends.
_PACKED = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\x00": ".xz"}
# A PDF, RTF, Parquet, zstd, an array of NumPy, zip, and text in UTF-16. Others have more zeros than a damaged text.
_NO_TEXT = re.compile(rb"%PDF-|\{\\rtf|PAR1|\x28\xb5\x2f\xfd|\x93NUMPY|PK\x03\x04|\xff\xfe|\xfe\xff")
_MOST_ZEROS = 2
# `[laughs] he said`, `[1]` and `["Yes" is] what she said` are text.
_ARRAY = re.compile(r"""\[\s*($|[{\[]|"[^"]*"\s*[],]|'[^']*'\s*[],])""")
_MARKUP = re.compile(r"<(\?xml|!doctype|html)\b", re.IGNORECASE)
# Names of columns in the header of a table.
_HEADING = (
    "(ids?|index|idx|texts?|sentences?|documents|comment|tweet|title|labels?|category|categories|tags?|words?|tokens?|"
    "form|pos|upos|ner|lemma|words_id|sentence_id|split|source|target|class)"
)
# A file of CoNLL's columns, a token file of RCV1, ARFF, marks of XML, a table with a header, and trees in brackets: the
# label of a sentence or a phrase, with its bracket or that of a root around it, and what begins inside.
_DATA = (
    r"#\s*(sent_id|text|newdoc|newpar|global\.columns)\b.*=|#\s*newdoc$|#begin document|-DOCSTART-",
    r"1\t[^\t]+(\t[^\t]*){8,}$",
    r"\.I \d+$",
    r"(?i:@relation\s)",
    r"<[a-z][\w:-]*(\s+[\w:-]+=\"[^\"]*\")+\s*>$",
    rf'(?i:"?{_HEADING}"?(\s*[\t,;]\s*"?{_HEADING}"?)+$)',
    r"\(\s*(\(\s*|(ROOT|TOP|S1)\s*\(\s*)?(S|SINV|SQ|SBAR|SBARQ|FRAG|NP|VP|UCP|INTJ|CODE|X)[-=A-Z\d]*\s*(\(|$)",
)
_LIST = re.compile(r"""\[\s*\]|\(\s*\)|\{\s*\}|[\[({][^][(){}]*['",][^][(){}]*[])}]|[\[({]\s*[\[({]*['"].*[])}]""")


def to_be_converted(path: str, what: str, layout: str, ending: str) -> ConfigurationError:
    """The error for a file in a layout that no reader reads but `scripts/convert.py` converts."""
    return ConfigurationError(
        f"{path}: {what} is not read as it is; convert it first, by `python scripts/convert.py {layout} {path} --out "
        f"FILE{ending}`, and read that file."
    )


def check_text_bytes(head: bytes, what: str, has_name: bool = True) -> None:
    """
    Checks that a file begins with text.

    # Parameters

    head : `bytes`
        The first bytes of the file.
    what : `str`
        The name of the file, for messages.
    has_name : `bool`, optional (default = `True`)
        Whether the ending of its name may say that it is compressed; standard input has none.

    # Raises

    `ConfigurationError` if the file is compressed or binary.
    """
    ending = next((ending for signature, ending in _PACKED.items() if head.startswith(signature)), None)
    if ending is not None:
        advice = f"its name must end in '{ending}'" if has_name else "unpack it first"
        raise ConfigurationError(f"{what}: this is a packed file; {advice}.")
    if _NO_TEXT.match(head) or head.count(0) > _MOST_ZEROS:
        raise ConfigurationError(f"{what}: this is no text in UTF-8; save its content as that.")


def other_format(first: str, json_lines: bool = False) -> Optional[str]:
    """
    Describes the format of a file that should hold text or columns, with advice, if its first non-blank line `first`
    looks like another format; `None` otherwise. With `json_lines`, JSON objects, one per line, are accepted.
    """
    first = first.lstrip("\ufeff").strip()
    if _ARRAY.match(first):
        return "a JSON array; write each of its items as one line (jq -c '.[]' FILE does so)"
    if first == "{":
        return "a JSON object over several lines; write each object as one line (jq -c . FILE does so)"
    if not json_lines and re.match(r'\{\s*"', first):
        return "JSON lines, which are not read here"
    return "XML or HTML; take the text out of it" if _MARKUP.match(first) else None


def is_data(line: str) -> bool:
    """Whether the first line of a file shows that it is a data file of some task instead of raw text."""
    return any(re.match(pattern, line.lstrip("\ufeff").strip()) for pattern in _DATA)


def is_list(cell: str) -> bool:
    """Whether a cell that should hold comma-separated names is a list or an object of JSON or Python."""
    return _LIST.fullmatch(cell.strip()) is not None
