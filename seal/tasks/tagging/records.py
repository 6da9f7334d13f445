from collections.abc import Mapping
from typing import Any

from seal.tasks.base.records import RECORD_KINDS, RecordKind, numbers_of
from seal.tasks.base.span_pictures import SpanRow, spans_picture


def text(record: dict[str, Any]) -> str:
    """The words with their tags, or with brackets around entities."""
    return f"{record['description']}{numbers_of(record)}"


def picture(record: dict[str, Any], colours: Mapping[str, str]) -> str:
    """The words, with a box for each entity or tag."""
    spans = [(tag, place, place) for place, tag in enumerate(record["tags"])]
    if "spans" in record:
        spans = [(span["label"], span["start"], span["end"]) for span in record["spans"]]
    return spans_picture(record["words"], [SpanRow.of("", record, spans)], colours)


RECORD_KINDS["tags"] = RecordKind(text, picture)
