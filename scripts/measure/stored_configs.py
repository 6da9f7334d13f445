"""
What the text of a run's config says of its settings, as `configs` and the suites write it: the run keeps no other
record of their values.
"""

import json
import re
from typing import Dict, Iterator, List, Tuple

from scripts.measure.suite import Method, Settings

# The arguments of a call that are a name with settings in brackets, such as `srl.training.ewt { epochs: 2 }`.
BRACKETS = {"settings": "{}", "training": "{}", "method": "()", "encoder": "()"}
# Of a config that is no call.
WRITTEN_OUT = {
    "encoder": r"^local encoder = (.+);$",
    "epochs": r"\bnum_epochs: (\d+)",
    "fraction": r"\bfraction: ([\d.e-]+)",
}
# A run's own, and what follows from `fraction`.
LEFT_OUT = ("seed", "vocabulary.tokens_to_add")
PIECE = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|.""", re.DOTALL)
FIELD = re.compile(r'\s*(\w+|"(?:[^"\\]|\\.)*")(\+?): (.*?),?')


def given(method: Method, config: str) -> Dict[str, str]:
    """
    The settings and overrides that a run was given, and always its epochs: names, those of overrides dotted, and
    jsonnet values. The seed is left out.
    """
    # No run has 0 epochs.
    usual = _stated(method.write(Settings(library="", seed=0, epochs=0, fraction=1.0)))
    return {name: value for name, value in _stated(config).items() if usual.get(name) != value}


def _stated(config: str) -> Dict[str, str]:
    """Whatever the config names, be it the default or not."""
    experiment, *overrides = config.split(" + {\n")
    found = _of_experiment(experiment)
    for block in overrides:
        found.update(_of_overrides(block))
    return {name: value for name, value in found.items() if name not in LEFT_OUT}


def _of_experiment(source: str) -> Dict[str, str]:
    call = re.search(r"^\w+\.\w+\((.*)\)", source, re.DOTALL | re.MULTILINE)
    if call is None:
        matches = {name: re.search(pattern, source, re.MULTILINE) for name, pattern in WRITTEN_OUT.items()}
        return {name: match[1] for name, match in matches.items() if match}
    found: Dict[str, str] = {}
    for name, expression in _parts(call[1]):
        if name in BRACKETS:
            opening, closing = BRACKETS[name]
            inside = expression.partition(opening)[2].rpartition(closing)[0]
            # Without a name: the transformer of the encoder.
            found.update({inner or name: value for inner, value in _parts(inside)})
        elif name:
            found[name] = expression
    return found


def _parts(source: str) -> Iterator[Tuple[str, str]]:
    """Of a list with commas, some of them in brackets or strings: each name, empty where there is none, and value."""
    parts, depth = [""], 0
    for piece in PIECE.findall(source):
        depth += (piece in "([{") - (piece in ")]}")
        if piece == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    for part in filter(None, map(str.strip, parts)):
        named = re.fullmatch(r"(\w+)\s*[=:]\s*(.*)", part, re.DOTALL)
        yield (named[1], named[2]) if named else ("", part)


def _of_overrides(block: str) -> Dict[str, str]:
    """A line a field, as `configs.with_overrides` writes them."""
    above: List[str] = []
    found: Dict[str, str] = {}
    for line in block.splitlines():
        field = FIELD.fullmatch(line)
        if field is None:
            del above[-1:]
            continue
        name = json.loads(field[1]) if field[1].startswith('"') else field[1]
        if field[2]:
            above.append(name)
        else:
            found[".".join([*above, name])] = field[3]
    return found
