"""Shows the record of a label set as text and as a bar chart."""

from collections.abc import Mapping
from typing import Any

from seal.structure.pictures import GREY, Drawing
from seal.tasks.base.records import RECORD_KINDS, RecordKind, numbers_of, printable, probability_text
from seal.tasks.base.span_pictures import cut

#: Sizes in pixels: a letter, a row, the vertical and horizontal margins, and the bar of probability 1.
_LETTER, _ROW, _GAP, _MARGIN, _BAR = 6.6, 22, 14, 12.0, 300.0
#: The most letters of a label's name.
_LONGEST_NAME = 30


def text(record: dict[str, Any]) -> str:
    """The input, if it is a text, and the labels with their probabilities."""
    labels = [f"{name} {probability_text(value)}" for name, value in record["labels"].items()]
    shown = (", ".join(labels) or "no label") + numbers_of(record)
    # Feature vectors are not shown.
    return f"{record['input']}\n  {shown}" if isinstance(record.get("input"), str) else shown


def picture(record: dict[str, Any], colours: Mapping[str, str]) -> str:
    """A bar for the probability of each label."""
    labels = {cut(printable(name), _LONGEST_NAME): value for name, value in record["labels"].items()}
    given = record.get("input")
    title = printable(given) if isinstance(given, str) else "labels"
    left = 2 * _MARGIN + _LETTER * max(map(len, labels), default=8) * 1.1
    drawing = Drawing(round(left + _BAR + 70), 2 * _GAP + _ROW * max(1, len(labels)), title)
    if not labels:
        drawing.text(_MARGIN, _GAP + 15, "no label", 13, GREY)
    for place, (name, value) in enumerate(labels.items()):
        y = _GAP + _ROW * place
        drawing.text(_MARGIN, y + 13, name, 13)
        drawing.box(left, y + 2, _BAR, 13, "#eeeeee")
        drawing.box(left, y + 2, _BAR * min(max(value or 0.0, 0.0), 1.0), 13, "#9db8d2")
        drawing.text(left + _BAR + 10, y + 13, probability_text(value), 12, GREY)
    return drawing.end()


RECORD_KINDS["labels"] = RecordKind(text, picture)
