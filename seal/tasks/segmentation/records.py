from typing import Any

from seal.tasks.base.records import RECORD_KINDS, RecordKind, numbers_of


def text(record: dict[str, Any]) -> str:
    """The area of the mask as text."""
    start = f"{record['image']}: " if "image" in record else ""
    return f"{start}{record['description']}{numbers_of(record)}"


RECORD_KINDS["foreground"] = RecordKind(text, lambda record, colours: None)
