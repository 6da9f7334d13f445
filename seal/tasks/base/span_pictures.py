"""Pictures of sentences: rows of coloured boxes under the words, as SVG."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from seal.structure.pictures import COLOURS, GREY, INK, Drawing
from seal.tasks.base.records import numbers_of, printable

#: The colours of labels that `COLOURS` lacks; a label has the same one in every picture.
_MORE = ("#d3eedf", "#f6d6d6", "#dfe0a8", "#c9ece8", "#f3d3ea", "#d9d4f5", "#e8dcc4", "#cbe3b4")
#: Widths in pixels: of a letter of the words and of a label, of the blank between words, and of a line of words.
_LETTER, _LABEL_LETTER, _BLANK, _LINE = 9.0, 6.6, 9.0, 860.0
#: Heights: of a line of words, of a row of boxes below it, and of what separates lines.
_WORDS, _ROW, _GAP = 24, 22, 14
_MARGIN = 12.0
#: The most letters before a row of boxes.
_LONGEST_HEAD = 22


class SpanRow(NamedTuple):
    """Spans that do not overlap, `(label, first word, last word)`, and what stands before them."""

    head: str
    spans: list[tuple[str, int, int]]

    @classmethod
    def of(cls, word: str, numbers: dict[str, Any], spans: list[tuple[str, int, int]]) -> "SpanRow":
        """A row headed by a word and by the probability and energy in a record or a frame."""
        return cls(f"{cut(word, 12)} {numbers_of(numbers).strip()}".strip(), spans)


def spans_picture(words: Sequence[str], rows: Sequence[SpanRow], colours: Mapping[str, str]) -> str:
    """The words, wrapped into lines, and below each line the rows of boxes."""
    words = list(map(printable, words))
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
            drawing.text(_MARGIN, top + 14, cut(printable(row.head), _LONGEST_HEAD), 11, GREY)
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


def _shown(label: str) -> str:
    return printable(label.removeprefix("ARGM-"))


def cut(text: str, most: int) -> str:
    """The text, or its first letters and an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
