"""
Pictures of records: frames, entities and tags as coloured boxes under the words, trees, and labels as bars, as SVG.
"""

import re
import zlib
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple, Optional

from seal.structure.pictures import COLOURS, GREY, INK, Drawing
from seal.tasks.base.readable import numbers_of, printer, probability_text, readable

#: Of labels that `COLOURS` lacks; the label says which one, everywhere the same.
_MORE = ("#d3eedf", "#f6d6d6", "#dfe0a8", "#c9ece8", "#f3d3ea", "#d9d4f5", "#e8dcc4", "#cbe3b4")
#: Widths in pixels: of a letter of the words and of a label, of the blank between words, and of a line of words.
_LETTER, _LABEL_LETTER, _BLANK, _LINE = 9.0, 6.6, 9.0, 860.0
#: Heights: of a line of words, of a row of boxes below it, and of what separates lines.
_WORDS, _ROW, _GAP = 24, 22, 14
_MARGIN = 12.0
#: The most letters before a row of boxes, and of the name of a label beside its bar.
_LONGEST_HEAD, _LONGEST_NAME = 22, 30
_BAR = 300.0
#: What XML cannot hold.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class _Row(NamedTuple):
    """Spans that do not overlap, `(label, first word, last word)`, and what stands before them."""

    head: str
    spans: list[tuple[str, int, int]]


def html_of(record: dict[str, Any]) -> str:
    """
    A record as HTML without scripts, in which all text is escaped: its picture, those of its sentences, or its text
    where there is none to draw.
    """
    if "sentences" in record:
        return "\n".join(map(html_of, record["sentences"]))
    picture = svg_of(record)
    if picture is None:
        return f"<pre>{escape(_printable(readable(record)))}</pre>"
    return f'<div style="overflow-x: auto">{picture}</div>'


def svg_of(record: dict[str, Any], colours: Optional[Mapping[str, str]] = None) -> Optional[str]:
    """
    The picture of a record; `None` for one that has none, such as that of an error.

    # Parameters

    record : `dict[str, Any]`
        As a predictor of this package gives it, of one sentence or input.
    colours : `Mapping[str, str]`, optional (default = `None`)
        Of labels, as `#rrggbb`; by default a label has the same colour in all pictures.
    """
    if "frames" in record:
        rows = [
            _Row(_head(frame["predicate"], frame), [_span(span, "role") for span in frame["spans"]])
            for frame in record["frames"]
        ]
        return _of_spans(record["words"], rows, colours or {})
    if "tree" in record:
        try:
            return printer(_printable(record["tree"])).svg()
        except (ValueError, RecursionError):  # Hundreds of constituents are inside each other.
            return None
    if "tags" in record:
        spans = [(tag, place, place) for place, tag in enumerate(record["tags"])]
        if "spans" in record:
            spans = [_span(span, "label") for span in record["spans"]]
        return _of_spans(record["words"], [_Row(_head("", record), spans)], colours or {})
    if "labels" in record:
        return _of_labels(record)
    return None


def _span(span: dict[str, Any], name: str) -> tuple[str, int, int]:
    return span[name], span["start"], span["end"]


def _head(word: str, numbers: dict[str, Any]) -> str:
    return f"{_cut(word, 12)} {numbers_of(numbers).strip()}".strip()


def _of_spans(words: Sequence[str], rows: Sequence[_Row], colours: Mapping[str, str]) -> str:
    words = list(map(_printable, words))
    widths = [len(word) * _LETTER for word in words]
    for row in rows:
        for label, first, last in row.spans:
            room = sum(widths[first : last + 1]) + _BLANK * (last - first)
            # A label must not be wider than its box.
            widths[last] += max(0.0, _LABEL_LETTER * len(_shown(label)) - room)
    left = _MARGIN + max((_LABEL_LETTER * min(len(row.head), _LONGEST_HEAD) for row in rows), default=0) + 12
    lines = _lines(widths)
    longest = max((sum(widths[first:end]) + _BLANK * (end - first) for first, end in lines), default=0)
    height = len(lines) * (_WORDS + _ROW * len(rows) + _GAP) + _GAP
    drawing = Drawing(round(left + longest + _MARGIN), height, " ".join(words))
    y = float(_GAP)
    for first, end in lines:
        starts = [left]
        for width in widths[first:end]:
            starts.append(starts[-1] + width + _BLANK)
        for word, x in zip(words[first:end], starts):
            # The width is told, since fonts differ.
            more = {"textLength": f"{len(word) * _LETTER:g}"} if word else {}
            drawing.text(x, y + 16, word, 15, font_family="monospace", **more)
        for place, row in enumerate(rows):
            top = y + _WORDS + _ROW * place
            drawing.text(_MARGIN, top + 14, _cut(_printable(row.head), _LONGEST_HEAD), 11, GREY)
            for label, begin, last in row.spans:
                if last < first or begin >= end:
                    continue
                x, right = starts[max(begin, first) - first], starts[min(last, end - 1) - first + 1] - _BLANK
                drawing.box(x - 3, top, right - x + 6, _ROW - 4, colours.get(label) or colour_of(label))
                if begin >= first:
                    drawing.text(
                        (x + right) / 2, top + 13, _shown(label), 11, INK, text_anchor="middle", font_weight="bold"
                    )
        y += _WORDS + _ROW * len(rows) + _GAP
    return drawing.end()


def colour_of(label: str) -> str:
    """The colour of a label, on which black text can be read."""
    return COLOURS.get(label) or _MORE[zlib.crc32(label.encode("utf-8", "replace")) % len(_MORE)]


def _lines(widths: Sequence[float]) -> list[tuple[int, int]]:
    """The words of each line, `[first, end)`."""
    lines, first, used = [], 0, 0.0
    for place, width in enumerate(widths):
        if place > first and used + width > _LINE:
            lines.append((first, place))
            first, used = place, 0.0
        used += width + _BLANK
    return [*lines, (first, len(widths))] if widths else []


def _of_labels(record: dict[str, Any]) -> str:
    found = {_cut(_printable(name), _LONGEST_NAME): value for name, value in record["labels"].items()}
    given = record.get("input")
    title = _printable(given) if isinstance(given, str) else "labels"
    left = 2 * _MARGIN + _LABEL_LETTER * max(map(len, found), default=8) * 1.1
    drawing = Drawing(round(left + _BAR + 70), 2 * _GAP + _ROW * max(1, len(found)), title)
    if not found:
        drawing.text(_MARGIN, _GAP + 15, "no label", 13, GREY)
    for place, (name, value) in enumerate(found.items()):
        y = _GAP + _ROW * place
        drawing.text(_MARGIN, y + 13, name, 13)
        drawing.box(left, y + 2, _BAR, 13, "#eeeeee")
        drawing.box(left, y + 2, _BAR * min(max(value or 0.0, 0.0), 1.0), 13, "#9db8d2")
        drawing.text(left + _BAR + 10, y + 13, probability_text(value), 12, GREY)
    return drawing.end()


def _shown(label: str) -> str:
    return _printable(label.removeprefix("ARGM-"))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _printable(text: str) -> str:
    return _CONTROL.sub("\ufffd", text)
