"""The functions of the library of configs, by their texts: what a call with an argument that is not there is told."""

import difflib
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Optional

from allennlp.common import params

from seal.allennlp.config_imports import find_import
from seal.common.setting_checks import suggest

#: Jsonnet's place of a call, as `4:11-38`, `(4:11)-(6:2)` or `4:11`.
_PLACE = re.compile(r"(?P<path>.+):\(?(?P<line>\d+):(?P<column>\d+)\)?(-.*)?")
_IMPORT = re.compile(r"\bimport (['\"])(.+?)\1")


def functions(source: str) -> dict[str, list[tuple[str, str]]]:
    """
    The functions of a jsonnet file: the names of their parameters and the texts of their defaults. A field may be what
    a local function of the file returns, `local compound(net) = function(tau=1.0)` and `separated: compound(3)`.
    """
    found = {}
    source = _without_comments(source)
    for match in re.finditer(r"^ {2,4}(?:local )?(\w+)(\(\w+\) = function)?\(", source, flags=re.MULTILINE):
        parameters, end = _parameters_from(source, match.end())
        if match[2] or re.match(r"\s*:", source[end:]):
            found[match[1]] = parameters
    made = re.findall(r"^ {2,4}(\w+): (\w+)\(", source, flags=re.MULTILINE)
    return {**found, **{name: found[maker] for name, maker in made if maker in found}}


def _nameless_functions(source: str) -> Iterator[list[tuple[str, str]]]:
    source = _without_comments(source)
    for match in re.finditer(r"\bfunction\(", source):
        yield _parameters_from(source, match.end())[0]


def _without_comments(source: str) -> str:
    return re.sub(r"//.*", "", source)


def _parameters_from(source: str, start: int) -> tuple[list[tuple[str, str]], int]:
    """The parameters behind an opening bracket, each with its default, and where the closing bracket ends."""
    depth, end = 1, start
    while depth:
        depth += (source[end] in "([{") - (source[end] in ")]}")
        end += 1
    parts = (part.strip().partition("=") for part in _split_arguments(source[start : end - 1]))
    parameters = [
        (name, re.sub(r"(\$[.]method|\$|self)[.]", "method.", " ".join(default.split())))
        for name, _, default in parts
        if name
    ]
    return parameters, end


def _split_arguments(text: str) -> Iterator[str]:
    """The parts between the commas that lie in no bracket."""
    depth, part = 0, ""
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            yield part
            part = ""
        else:
            part += sign
    yield part


def explained(message: str, place: str) -> str:
    """
    What jsonnet says of a call with an argument that the function does not have, or with too many, with the function's
    name and its arguments; and what it says of a field that an object does not have, with the name that was meant.

    # Parameters

    message : `str`
        Jsonnet's, such as `"function has no parameter hiden"`.
    place : `str`
        Where the call is, such as `"config.jsonnet:4:11-38"`.

    # Returns

    `"srl.encoder.bilstm has no argument 'hiden'; did you mean "hidden"? Its arguments: word_dim, hidden, ..."`, or
    `message` unchanged if it is about something else, or the function is in none of the files that are imported.
    """
    wrong = re.fullmatch(r"function has no parameter (\w+)", message)
    no_field = re.fullmatch(r"field does not exist: (\w+)", message)
    found = _PLACE.fullmatch(place)
    if found is None or not (wrong or no_field or message.startswith("too many args")):
        return message
    path = Path(found["path"])
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return message
    rest = "\n".join(text.split("\n")[int(found["line"]) - 1 :])[int(found["column"]) - 1 :]
    if no_field is not None:
        owner = re.match(rf"([\w.]+)\.{no_field[1]}\b", rest)
        fields = None if owner is None else _evaluated(f"std.objectFields({owner[1]})", text, path)
        return message if fields is None else message + suggest(no_field[1], json.loads(fields))
    called = re.match(r"([\w.]+)\s*\(", rest)
    names = None if called is None else _arguments(called[1], text, path)
    if called is None or names is None or (wrong is not None and wrong[1] in names):
        return message
    its = f"Its arguments: {', '.join(names)}" if names else "It has none"
    if wrong is None:
        return f"{called[1]} is given too many arguments. {its}"
    close = difflib.get_close_matches(wrong[1], names, n=1)
    meant = f'; did you mean "{close[0]}"?' if close else "."
    return f"{called[1]} has no argument '{wrong[1]}'{meant} {its}"


def _arguments(called: str, text: str, path: Path) -> Optional[list[str]]:
    """
    The names of the arguments of a function that a file calls: of a function of this name in it or in the nearest file
    that it imports, or of the only nameless one with as many.
    """
    known = list(_files(text, path))
    length = _evaluated(f"std.length({called})", text, path)
    if length is None:
        return None
    number = int(length)
    name = called.rpartition(".")[2]
    named = [of_file[name] for of_file in map(functions, known) if name in of_file]
    nameless = [parameters for file in known for parameters in _nameless_functions(file)]
    for candidates in (named[:1], [parameters for parameters in nameless if len(parameters) == number]):
        if len(candidates) == 1 and len(candidates[0]) == number:
            return [parameter for parameter, _ in candidates[0]]
    return None


def _evaluated(expression: str, text: str, path: Path) -> Optional[str]:
    """The value of an expression, as JSON, where a file's imports are; `None` if there is none."""
    imports = "".join(re.findall(r"^local \w+ = import [^;\n]+;", _without_comments(text), flags=re.MULTILINE))
    try:
        return params.evaluate_snippet(f"{path.parent}/of_a_call", f"{imports} {expression}")
    except RuntimeError:
        return None


def _files(text: str, path: Path) -> Iterator[str]:
    """The texts of a file and of all that it imports, directly or not, the nearest first."""
    waiting, seen = [(path, text)], {path.resolve()}
    while waiting:
        path, text = waiting.pop(0)
        yield text
        for _, imported in _IMPORT.findall(_without_comments(text)):
            with suppress(RuntimeError, UnicodeDecodeError):
                other, content = find_import(f"{path.parent}/", imported)
                if Path(other).resolve() not in seen:
                    seen.add(Path(other).resolve())
                    waiting.append((Path(other), content.decode()))
