"""
The record of a prediction: how it is printed as lines of text, and drawn in a notebook, on the page and in reports.
"""

import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, NamedTuple, Optional

#: What XML cannot hold.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class RecordKind(NamedTuple):
    """
    How the records of a task are shown.

    # Parameters

    text : `Callable[[dict], str]`
        The lines of a record.
    picture : `Callable[[dict, Mapping[str, str]], Optional[str]]`
        An `<svg>` element of a record and colours of labels, `#rrggbb`; `None` where there is nothing to draw.
    """

    text: Callable[[dict[str, Any]], str]
    picture: Callable[[dict[str, Any], Mapping[str, str]], Optional[str]]


#: By the key that the records of a task have, and no others: each task adds its own.
RECORD_KINDS: dict[str, RecordKind] = {}


class Record(dict[str, Any]):
    """What is predicted for an input: an object as `seal predict` writes it. A notebook shows it as a picture."""

    @property
    def sentences(self) -> list["Record"]:
        """The records of the sentences of a text: of a text of one sentence, this record alone."""
        return [Record(record) for record in self["sentences"]] if "sentences" in self else [self]

    def _repr_html_(self) -> str:
        return html_of(self)


def _kind_of(record: dict[str, Any]) -> Optional[RecordKind]:
    return next((kind for key, kind in RECORD_KINDS.items() if key in record), None)


def readable(record: dict[str, Any]) -> str:
    """
    A record of one of this package's predictors as a few lines: the sentence and a line for each frame, the words with
    their tags, the tree, the labels with their probabilities, or what the mask covers.

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
    The picture of a record; `None` for one that has none, such as that of an error.

    # Parameters

    record : `dict[str, Any]`
        As a predictor of this package gives it, of one sentence or input.
    colours : `Mapping[str, str]`, optional (default = `None`)
        Of labels, as `#rrggbb`; by default a label has the same colour in all pictures.
    """
    kind = None if "error" in record else _kind_of(record)
    return None if kind is None else kind.picture(record, colours or {})


def html_of(record: dict[str, Any]) -> str:
    """
    A record as HTML without scripts, in which all text is escaped: its picture, those of its sentences, or its text
    where there is none to draw.
    """
    if "sentences" in record:
        return "\n".join(map(html_of, record["sentences"]))
    picture = svg_of(record)
    if picture is None:
        return f"<pre>{escape(printable(readable(record)))}</pre>"
    return f'<div style="overflow-x: auto">{picture}</div>'


def numbers_of(record: dict[str, Any]) -> str:
    """The probability and the energy of a record or a frame, after some blanks; empty without either."""
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
    """Two digits, of which neither 0.00 nor 1.00 stands for anything in between."""
    if value is not None and 0 < value < 0.01:
        return "<0.01"
    return ">0.99" if value is not None and 0.99 < value < 1 else number_of(value)


def printable(text: str) -> str:
    """The text without characters that XML cannot hold."""
    return _CONTROL.sub("\ufffd", text)
