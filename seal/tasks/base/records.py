"""The record of a prediction, and its display as text, SVG and HTML."""

import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, NamedTuple, Optional

#: The characters that XML cannot hold.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class RecordKind(NamedTuple):
    """
    The functions that display the records of a task.

    # Parameters

    text : `Callable[[dict], str]`
        Returns the record as lines of text.
    picture : `Callable[[dict, Mapping[str, str]], Optional[str]]`
        Returns an `<svg>` element for a record and the colours of labels, `#rrggbb`; `None` if there is nothing to
        draw.
    """

    text: Callable[[dict[str, Any]], str]
    picture: Callable[[dict[str, Any], Mapping[str, str]], Optional[str]]


#: Each task adds its `RecordKind`, under a key that only its records have.
RECORD_KINDS: dict[str, RecordKind] = {}


class Record(dict[str, Any]):
    """A predicted record, with the keys that `seal predict` writes. A notebook shows it as a picture."""

    @property
    def sentences(self) -> list["Record"]:
        """The records of the sentences of a text; for a single sentence, a list of this record."""
        return [Record(record) for record in self["sentences"]] if "sentences" in self else [self]

    def _repr_html_(self) -> str:
        return html_of(self)


def _kind_of(record: dict[str, Any]) -> Optional[RecordKind]:
    return next((kind for key, kind in RECORD_KINDS.items() if key in record), None)


def readable(record: dict[str, Any]) -> str:
    """
    A record as a few lines of text: the sentence and a line for each frame, the words with their tags, the tree, the
    labels with their probabilities, or the area of the mask.

    ```python
    print(readable(predictor.predict("The boy broke the vase .")))
    # The boy broke the vase .
    #   [ARG0 The boy] [V broke] [ARG1 the vase] .    0.94
    ```
    """
    if "error" in record:
        return f"error: {record['error']}"
    if "sentences" in record:
        return "\n".join(map(readable, record["sentences"]))
    kind = _kind_of(record)
    return str(record) if kind is None else kind.text(record)


def svg_of(record: dict[str, Any], colours: Optional[Mapping[str, str]] = None) -> Optional[str]:
    """
    The picture of a record as an `<svg>` element; `None` if it has none, such as the record of an error.

    # Parameters

    record : `dict[str, Any]`
        A predictor's record of one sentence or input.
    colours : `Mapping[str, str]`, optional (default = `None`)
        The colours of labels, as `#rrggbb`; by default a label has the same colour in all pictures.
    """
    kind = None if "error" in record else _kind_of(record)
    return None if kind is None else kind.picture(record, colours or {})


def html_of(record: dict[str, Any]) -> str:
    """
    A record as HTML without scripts, with all text escaped: its picture, the pictures of its sentences, or its text if
    there is no picture.
    """
    if "sentences" in record:
        return "\n".join(map(html_of, record["sentences"]))
    picture = svg_of(record)
    if picture is None:
        return f"<pre>{escape(printable(readable(record)))}</pre>"
    return f'<div style="overflow-x: auto">{picture}</div>'


def numbers_of(record: dict[str, Any]) -> str:
    """The probability and the energy of a record or a frame as text, after some blanks; empty without either."""
    parts: list[str] = []
    if record.get("probability") is not None:
        parts.append(probability_text(record["probability"]))
    if record.get("energy") is not None:
        parts.append(f"energy {number_of(record['energy'])}")
    return "    " + ", ".join(parts) if parts else ""


def number_of(value: Any) -> str:
    """A number with two digits after the point."""
    return "not finite" if value is None else f"{value:.2f}"


def probability_text(value: Any) -> str:
    """A probability with two digits; `<0.01` and `>0.99` for values that would round to 0.00 and 1.00 but differ."""
    if value is not None and 0 < value < 0.01:
        return "<0.01"
    return ">0.99" if value is not None and 0.99 < value < 1 else number_of(value)


def printable(text: str) -> str:
    """The text with the characters that XML cannot hold replaced by U+FFFD."""
    return _CONTROL.sub("\ufffd", text)
