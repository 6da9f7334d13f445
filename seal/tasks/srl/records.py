from collections.abc import Mapping
from typing import Any

from seal.tasks.base.records import RECORD_KINDS, RecordKind, numbers_of
from seal.tasks.base.span_pictures import SpanRow, spans_picture

#: The way out for a person who knows better.
_NO_PREDICATE = (
    '  no predicate was found; name some, {"words": ["It", "rains"], "predicates": [1]}, or add the verbs of a tagger, '
    "--predicates-from TAGGER"
)


def text(record: dict[str, Any]) -> str:
    """The sentence, and a line for each frame."""
    lines = [" ".join(record["words"])]
    lines += [f"  {frame['description']}{numbers_of(frame)}" for frame in record["frames"]]
    return "\n".join(lines if record["frames"] else [*lines, _NO_PREDICATE])


def picture(record: dict[str, Any], colours: Mapping[str, str]) -> str:
    """The words, and a row of roles for each frame."""
    rows = [
        SpanRow.of(frame["predicate"], frame, [(span["role"], span["start"], span["end"]) for span in frame["spans"]])
        for frame in record["frames"]
    ]
    return spans_picture(record["words"], rows, colours)


RECORD_KINDS["frames"] = RecordKind(text, picture)
