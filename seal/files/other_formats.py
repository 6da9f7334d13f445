"""
Tells by the beginning of a file that its format is not the one expected, and which it is.
"""

import ast
import json
import re
from collections.abc import Sequence
from typing import Optional

from seal.registry import ConfigurationError

# What a file of each kind begins with.
_SIGNATURES = (
    (re.compile(rb"\x1f\x8b"), "a gzip file"),
    (re.compile(rb"BZh[1-9]1AY&SY"), "a bzip2 file"),
    (re.compile(rb"\xfd7zXZ\x00"), "an xz file"),
    (re.compile(rb"\x28\xb5\x2f\xfd"), "a zstd file"),
    (re.compile(rb"PK\x03\x04"), "a zip archive, as files of Excel, Word and NumPy (.npz) are"),
    (re.compile(rb"%PDF-\d"), "a PDF"),
    (re.compile(rb"\{\\rtf\d"), "a document of a word processor (RTF)"),
    (re.compile(rb"PAR1[\x00-\x1f]"), "a Parquet file"),
    (re.compile(rb"ARROW1\x00"), "an Arrow file"),
    (re.compile(rb"\x89HDF"), "an HDF5 file"),
    (re.compile(rb"SQLite format 3\x00"), "an SQLite database"),
    (re.compile(rb"\x93NUMPY"), "a NumPy array (.npy)"),
    (re.compile(rb"\x89PNG|\xff\xd8\xff|GIF8[79]a"), "an image"),
    (re.compile(rb"\xd0\xcf\x11\xe0"), "an old file of Excel or Word"),
    (re.compile(rb"\x80[\x02-\x05]"), "a pickle"),
    (re.compile(rb"\xff\xfe|\xfe\xff|\x00{0,3}([^\x00]\x00{1,3}){3}"), "text in UTF-16 or UTF-32"),
)
#: The kinds above that reading unpacks where the file's name ends so.
PACKED = {".gz": "a gzip file", ".bz2": "a bzip2 file", ".xz": "an xz file"}

# Names of columns in the header of a table, in lower case.
_HEADINGS = frozenset(
    "id ids index idx text texts sentence sentences document comment tweet title label labels category categories tag "
    "tags word words token tokens form pos upos ner lemma words_id sentence_id split source target class".split()
)
_MARKUP = re.compile(r"\s*<(\?xml|!doctype|html)\b", re.IGNORECASE)
# What the first line of a file has that raw text does not begin with.
_NO_TEXT = (
    (
        re.compile(r"#\s*(sent_id|text|newdoc|newpar|global\.columns)\b.*=|#\s*newdoc\s*$|#begin document|-DOCSTART-"),
        "a file of CoNLL's columns",
    ),
    (re.compile(r"1\t[^\t]+(\t[^\t]*){8,}$"), "a file of CoNLL's columns"),
    (re.compile(r"\.I \d+\s*$"), "a token file of RCV1"),
    (re.compile(r"@relation\s", re.IGNORECASE), "ARFF"),
    (re.compile(r"<[a-z][\w:-]*(\s+[\w:-]+=\"[^\"]*\")+\s*>$"), "a file with marks of XML"),
    # The label of a sentence or a phrase, with its bracket or that of a root around it, and what begins inside.
    (
        re.compile(
            r"\(\s*(\(\s*|(ROOT|TOP|S1)\s*\(\s*)?(S|SINV|SQ|SBAR|SBARQ|FRAG|NP|VP|UCP|INTJ|CODE|X)[-=A-Z\d]*\s*(\(|$)"
        ),
        "trees in brackets",
    ),
)
# How a JSON value that goes on in further lines may begin, and how its next line then does.
_GOES_ON = re.compile(r'\s*(["{\[\]}]|-?\d+(\.\d+)?\s*,?\s*$)')
#: What may be a JSON value's first line, or a line of text.
OPENINGS = ("[", "{", "[{", "[[")
_TAGGED = re.compile(r".*\S[ \t]+([BIESLU]-\S+|O)\s*$")
_QUOTED_LIST = re.compile(r"\[\s*['{\[].*\]$")
_ADVICE = {
    "[": "write each of its items as one line (jq -c '.[]' FILE does so)",
    "{": "write each object as one line (jq -c . FILE does so)",
}
_ITEMS = 'give an object a line, such as {"words": ["a", "b"]} or {"text": "a b"}'


def to_be_converted(path: str, what: str, layout: str, ending: str) -> ConfigurationError:
    """The error for a file in a layout that `scripts/convert.py` reads, and no reader."""
    return ConfigurationError(
        f"{path}: {what} is not read as it is; convert it first, by `python scripts/convert.py {layout} {path} --out "
        f"FILE{ending}`, and read that file."
    )


def binary_format(head: bytes) -> Optional[str]:
    """What a file is that begins with these bytes, such as `a gzip file`; `None` where it may be text in UTF-8."""
    return next((what for signature, what in _SIGNATURES if signature.match(head)), None)


def json_of_several_records(lines: Sequence[str]) -> Optional[str]:
    """
    What to say of a JSON file that does not have one object a line: what it is, and what to do; `None` where the lines
    are not such JSON: `[laughs] he said` is text, and so is `[1]`. `lines` are the first line of the file that is not
    blank, and the next one where there is one.
    """
    first = lines[0].lstrip("\ufeff").strip() if lines else ""
    if first[:1] not in _ADVICE:
        return None
    advice = _ADVICE[first[0]]
    try:
        value = json.loads(first)
    except json.JSONDecodeError as error:
        # Cut off, where the error is at the end: the value goes on in the next line.
        open_ended = error.pos >= len(first) and '"' in first and first[-1] in ",:[{"
        if open_ended or (first in OPENINGS and len(lines) > 1 and _GOES_ON.match(lines[1])):
            what = "a JSON array" if first[0] == "[" else "a JSON object"
            return f"{what} over several lines; {advice}"
        return f"a Python list; {_ITEMS}" if _is_python_list(first) else None
    except (RecursionError, ValueError):
        return None
    if isinstance(value, list) and value and all(isinstance(item, (dict, list, str)) for item in value):
        if isinstance(value[0], str):
            advice = _ITEMS
        return f"a JSON array of {len(value)} item{'s' * (len(value) != 1)}; {advice}"
    return None


def other_format(lines: Sequence[str], json_lines: bool = False) -> Optional[str]:
    """
    What format a file seems to have that should hold text, or rows of columns, and what to do; `lines` as for
    `json_of_several_records`. JSON lines, with an object a line, are in order with `json_lines`.
    """
    found = json_of_several_records(lines)
    first = lines[0].lstrip("\ufeff").strip() if lines else ""
    if found is None and not json_lines and first.startswith("{") and _is_object(first):
        found = "JSON lines, which are not read here"
    if found is None and _MARKUP.match(first):
        found = "XML or HTML; take the text out of it"
    return found


def data_format(line: str) -> Optional[str]:
    """What a file of data seems to be whose first line marks it as no raw text, whatever the task."""
    line = line.lstrip("\ufeff").strip()
    found = next((name for pattern, name in _NO_TEXT if pattern.match(line)), None)
    if found is not None:
        return found
    for separator, name in (("\t", "tabs"), (",", "commas"), (";", "semicolons")):
        cells = [cell.strip().strip('"').lower() for cell in line.split(separator)]
        if len(cells) > 1 and _HEADINGS.issuperset(cells):
            return f"a table with a header, and {name} between its columns"
    return None


# A number, alone or after a name: `Sentence: 1`, `#1`, `s1`, but not `B2`, a word.
_NUMBERED = re.compile(r"(?P<what>(?:\D{0,19}[^\w]|s|sent\D{0,16})?)(?P<number>\d{1,15})", re.IGNORECASE)


def numbers_sentences(cells: Sequence[str]) -> bool:
    """
    Whether the cells of a column number the sentences of its rows: numbers, perhaps with one name before all
    (`Sentence: 1`), that come again and never fall. In the place of a number that goes on may be nothing.
    """
    filled = [cell for cell in cells if cell]
    found = [match for match in map(_NUMBERED.fullmatch, filled) if match is not None]
    if len(cells) < 2 or not cells[0] or len(found) < len(filled) or len({match["what"] for match in found}) > 1:
        return False
    numbers = [int(match["number"]) for match in found]
    return numbers == sorted(numbers) and len(set(numbers)) < len(cells)


def counts_words(words: Sequence[str]) -> bool:
    """Whether the words of a sentence are 1, 2, 3 and so on: a column of numbers in the place of words."""
    return len(words) > 1 and list(words) == [str(number) for number in range(1, len(words) + 1)]


def look_of_row(line: str) -> Optional[str]:
    """What a line has that rows of columns have, if anything."""
    tabs = line.strip("\r\n").count("\t")
    if tabs and not line.startswith("{"):
        return f"has {tabs} tab{'s' * (tabs != 1)}"
    return "ends with a tag" if _TAGGED.match(line) else None


def list_format(cell: str) -> Optional[str]:
    """What list or object a cell is where names with commas between them are read; `None` where it is neither."""
    cell = cell.strip()
    if len(cell) < 2 or cell[0] + cell[-1] not in ("[]", "()", "{}"):
        return None
    inside = cell[1:-1].strip()
    if any(sign in inside for sign in "[](){}") or (inside and not re.search("[,'\"]", inside)):
        return "a list or an object of JSON or Python" if _is_nested(cell) else None
    try:
        return "a JSON list" if isinstance(json.loads(cell), list) and inside else "a list of Python or JSON"
    except ValueError:
        return "a Python list" if cell[0] == "[" else "a Python tuple or set"


def _is_python_list(line: str) -> bool:
    if not _QUOTED_LIST.match(line):
        return False
    try:
        return isinstance(ast.literal_eval(line), list)
    except (MemoryError, RecursionError, SyntaxError, ValueError):
        return False


def _is_nested(cell: str) -> bool:
    if not re.search("['\"]", cell):
        return False
    for read in (json.loads, ast.literal_eval):
        try:
            return isinstance(read(cell), (dict, list, tuple, set))
        except (MemoryError, RecursionError, SyntaxError, TypeError, ValueError):
            continue
    return False


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (RecursionError, ValueError):
        return False
