"""
The records of predictions as text to read.
"""

from typing import Any

from seal.predictors.tree_drawings import as_text


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
    if "frames" in record:
        lines = [" ".join(record["words"])]
        lines += [f"  {frame['description']}{_numbers(frame)}" for frame in record["frames"]]
        return "\n".join(lines if record["frames"] else [*lines, _NO_PREDICATE])
    if "tree" in record:
        # An empty line, so that the next sentence does not look like a part of the tree.
        return f"{' '.join(record['words'])}{_numbers(record)}\n{as_text(record['tree'])}\n"
    if "labels" in record:
        labels = [f"{name} {_number(value)}" for name, value in record["labels"].items()]
        told = ", ".join(labels) + _numbers({"energy": record.get("energy")}) if labels else "no label"
        # A vector of features is not for reading.
        return f"{record['input']}\n  {told}" if isinstance(record.get("input"), str) else told
    if "description" in record:
        start = f"{record['image']}: " if "image" in record else ""
        return f"{start}{record['description']}{_numbers(record)}"
    return str(record)


#: The way out for a person who knows better.
_NO_PREDICATE = (
    '  no predicate was found; name some, {"words": ["It", "rains"], "predicates": [1]}, or add the verbs of a tagger, '
    "--predicates-from TAGGER"
)


def _numbers(record: dict[str, Any]) -> str:
    parts: list[str] = []
    if record.get("probability") is not None:
        parts.append(_number(record["probability"]))
    if record.get("energy") is not None:
        parts.append(f"energy {_number(record['energy'])}")
    return "    " + ", ".join(parts) if parts else ""


def _number(value: Any) -> str:
    return "not finite" if value is None else f"{value:.2f}"
