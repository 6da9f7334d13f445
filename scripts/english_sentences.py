"""
Ask a model of roles for the frames of thirty sentences of ordinary English, and count the right ones by kind of text.

The sentences and their gold frames are in data/english_sentences/frames.txt: blocks that begin with `# KIND`, with a
line for each verb. Gold leaves out auxiliaries and nouns, so frames of these are not counted.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.measure.command import exit_status, mistakes_of_the_library
from scripts.measure.suite import ROOT, UserError

SENTENCES = ROOT / "data" / "english_sentences" / "frames.txt"
#: `[ROLE words]`, or words without a role up to the next bracket.
PHRASE = re.compile(r"\[(?P<role>\S+) (?P<words>[^\]]+)\]|(?P<others>[^\[]+)")


class Sentence(NamedTuple):
    kind: str
    words: list[str]
    #: By the place of its verb, each frame as lines of the file have it.
    frames: dict[int, str]


def read(path: Path = SENTENCES) -> Iterator[Sentence]:
    """The sentences of a file. Raises `UserError` if the lines of a block have other words, or a line has no verb."""
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        kind, *lines = block.splitlines()
        frames: dict[int, str] = {}
        words: list[str] = []
        for line in lines:
            found, verb = words_and_verb(line)
            if verb is None or words not in ([], found):
                raise UserError(f"{path}: {line!r} has no [V ...], or other words than the line above it.")
            words, frames[verb] = found, line
        yield Sentence(kind.removeprefix("# "), words, frames)


def words_and_verb(line: str) -> tuple[list[str], Optional[int]]:
    words: list[str] = []
    verb = None
    for phrase in PHRASE.finditer(line):
        if phrase["role"] == "V":
            verb = len(words)
        words += (phrase["words"] or phrase["others"]).split()
    return words, verb


def answers(model: str, sentences: list[Sentence]) -> Iterator[tuple[Sentence, dict[int, str]]]:
    """The model's frames of each sentence, by the places of their verbs."""
    from nltk.tokenize.treebank import TreebankWordDetokenizer

    import seal

    join = TreebankWordDetokenizer().detokenize
    for sentence, record in zip(sentences, seal.load(model)([join(each.words) for each in sentences])):
        yield sentence, {frame["index"]: frame["description"] for frame in record["frames"]}


def page(model: str) -> str:
    """The table by kind, and the frames that are wrong, in Markdown."""
    counts: dict[str, list[int]] = {}
    wrong: list[str] = []
    for sentence, found in answers(model, list(read())):
        right = {place for place, gold in sentence.frames.items() if found.get(place) == gold}
        row = counts.setdefault(sentence.kind, [0, 0, 0, 0, 0])
        whole = len(right) == len(sentence.frames)
        missed = sum(place not in found for place in sentence.frames)
        for place, number in enumerate((1, whole, len(sentence.frames), len(right), missed)):
            row[place] += number
        for place, gold in sentence.frames.items():
            if place not in right:
                wrong.append(f"* gold: `{gold}`; model: `{found.get(place, 'no frame')}`\n")
    counts["all"] = [sum(column) for column in zip(*counts.values())]
    rows = [
        f"| {kind} | {whole} of {sentences} | {right} of {frames} | {missed} |\n"
        for kind, (sentences, whole, frames, right, missed) in counts.items()
    ]
    head = "| kind | sentences with all frames right | frames right | verbs not found |\n|---|---|---|---|\n"
    return f"{head}{''.join(rows)}\nWrong:\n\n{''.join(wrong)}"


def run(arguments: argparse.Namespace) -> None:
    with mistakes_of_the_library():
        print(page(arguments.model), end="")


def main(argv: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "model", nargs="?", default="english-srl", help="a name, an archive or a run's folder (default: english-srl)"
    )
    arguments: Any = parser.parse_args(argv)
    return exit_status(lambda: run(arguments))


if __name__ == "__main__":
    sys.exit(main())
