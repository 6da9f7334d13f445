"""
Jsonnet in a quarter of the time. It reads its own standard library anew for each evaluation, and for each file that is
imported, of which a config has eight: in the process of the tests, a file and all that it imports become one text, a
text is evaluated once, and JSON is not evaluated. What a process that a test starts evaluates stays as it is.
"""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Optional

import _jsonnet

# Comments may show an import.
_IMPORT = re.compile(r"//[^\n]*|\bimport (['\"])(.+?)\1")
_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
# What another evaluation may have another value of.
_CAN_CHANGE = re.compile(r"\bimport(str|bin)?\b|\bstd[.]extVar\b")


def one_text(source: str, folder: Path, *others: str, find: Optional[Callable] = None) -> str:
    """
    The text of a file in the folder, in which a variable stands for each file that it or another one imports, from
    beside it, from other folders, or as an `import_callback` finds it.
    """
    names: dict[Path, str] = {}
    files = []

    def joined(text: str, folder: Path) -> str:
        def variable(found: re.Match) -> str:
            if found[2] is None:
                return found[0]
            paths = [(base / found[2]).resolve() for base in (folder, *map(Path, others))]
            path = next((path for path in paths if path.is_file()), None)
            if path is None and find is not None:
                with suppress(RuntimeError):
                    path = Path(find(f"{folder}/", found[2])[0]).resolve()
            if path is None:
                return found[0]
            if path not in names:
                text = joined(path.read_text(encoding="utf-8"), path.parent)
                names[path] = f"file_{len(names)}"
                files.append(f"local {names[path]} = (\n{text}\n);\n")
            return names[path]

        return _IMPORT.sub(variable, text)

    last = joined(source, folder)
    return "".join(files) + last


def of_json(source: str) -> Optional[str]:
    """What jsonnet makes of a text that is JSON; `None` where it is not, or where jsonnet may say otherwise."""

    def number(text: str) -> Any:
        return int(value) if (value := float(text)).is_integer() else value

    def different(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            raise ValueError("a field is there twice")
        return found

    def refused(name: str) -> None:
        raise ValueError(f"jsonnet has no {name}")

    with suppress(ValueError, OverflowError, RecursionError):
        value = json.loads(
            source, parse_float=number, parse_int=number, parse_constant=refused, object_pairs_hook=different
        )
        if isinstance(value, (dict, list)):
            return json.dumps(value, indent=3, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    return None


def install() -> None:
    """Before AllenNLP takes jsonnet's functions by their names."""
    file, snippet = _jsonnet.evaluate_file, _jsonnet.evaluate_snippet
    known: dict[str, str] = {}

    def evaluate_snippet(name, source, jpathdir=(), **more):
        text = of_json(source)
        if text is not None:
            return text
        text = one_text(source, Path(name).parent, *jpathdir, find=more.get("import_callback"))
        if _CAN_CHANGE.search(_COMMENT.sub("", text)):
            return snippet(name, text, **more)
        if text not in known:
            known[text] = snippet(name, text, **more)
        return known[text]

    def evaluate_file(path, **more):
        try:
            return evaluate_snippet(str(path), Path(path).read_text(encoding="utf-8"), **more)
        except (OSError, RuntimeError, UnicodeDecodeError):
            return file(path, **more)  # An error names its place.

    _jsonnet.evaluate_snippet, _jsonnet.evaluate_file = evaluate_snippet, evaluate_file
