"""Convert published data of special layouts into what the readers read: JSON lines, trees in brackets, TSV."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Optional

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.measure.command import check_file, exit_status
from scripts.measure.files import atomic_write
from scripts.measure.user_error import UserError

EPILOG = """\
The inputs become one file, in their order. A folder stands for its files of the layout, sorted, and a pattern with *
for those that match. Inputs may be packed (.gz, .bz2, .xz). Equal inputs give equal bytes; the file is written whole or
not at all. A mistake in an input ends in a sentence with its file and line.

examples:
  python scripts/convert.py rcv1 data/rcv1/lyrl2004_tokens_train.dat --out data/rcv1/train.jsonl
  python scripts/convert.py nxt data/switchboard_nxt/xml/syntax --out data/switchboard_nxt/all.mrg
"""


class Layout(NamedTuple):
    #: What is converted into what, for the help.
    what: str
    #: The lines of the converted file, of an input's path and the options.
    lines_of: Callable[..., Iterable[str]]
    #: Those of the files that a folder stands for; empty where an input is a file.
    endings: tuple[str, ...] = ()
    #: Whether the modules that read it need more than plain Python.
    needs_library: bool = False


# The functions import what reads a layout when they are called: the help needs none of it.
def _labelled_texts(reader: str, path: str, **options: Any) -> Iterator[str]:
    from scripts.layouts import texts

    for text in getattr(texts, reader)(path, **options):
        yield json.dumps({"text": text.text, "labels": text.labels}, ensure_ascii=False)


def _articles(path: str) -> Iterator[str]:
    from scripts.layouts import nitf

    for text in nitf.read_nyt(path):
        yield json.dumps({"text": text.text, "labels": text.labels}, ensure_ascii=False)


def _topics(path: str) -> Iterable[str]:
    from scripts.layouts import texts

    return texts.read_rcv1_topics(path)


def _trees(path: str) -> Iterable[str]:
    from scripts.layouts import nxt

    return nxt.read_nxt(path)


def _frames(path: str, role_spans: str) -> Iterator[str]:
    from seal.tasks.srl.conllu import read_conllu

    for sentence in read_conllu(path, role_spans):
        frames = [
            {"pred": frame.predicate, "tags": frame.tags, "lemma": frame.lemma, "sense": frame.sense}
            for frame in sentence.frames
        ]
        yield json.dumps({"words": sentence.words, "frames": frames}, ensure_ascii=False)


LAYOUTS = {
    "aapd": Layout(
        "AAPD's text_train, with label_train beside it, to JSON lines", partial(_labelled_texts, "read_aapd")
    ),
    "rcv1": Layout(
        "RCV1-v2's token files (lyrl2004_tokens_train.dat) to JSON lines", partial(_labelled_texts, "read_rcv1")
    ),
    "rcv1-topics": Layout("RCV1's rcv1.topics.hier.orig to a taxonomy in TSV", _topics),
    "bgc": Layout(
        "the Blurb Genre Collection's <book>s to JSON lines with title and body as the text",
        partial(_labelled_texts, "read_bgc"),
    ),
    "nyt": Layout(
        "the New York Times' articles in NITF's XML to JSON lines with headline and full text as the text",
        _articles,
        (".xml",),
    ),
    "nxt": Layout(
        "Switchboard's syntax in NXT's XML, with its terminals, to trees in Penn's brackets",
        _trees,
        (".syntax.xml",),
        needs_library=True,
    ),
    "propbank": Layout(
        "CoNLL-U with the roles of Universal PropBank to JSON lines of words and frames",
        _frames,
        (".conllu", ".conllup"),
    ),
}


def parser() -> argparse.ArgumentParser:
    style = argparse.RawDescriptionHelpFormatter
    result = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=style)
    layouts = result.add_subparsers(dest="layout", required=True, metavar="LAYOUT")
    for name, layout in LAYOUTS.items():
        add = layouts.add_parser(name, help=layout.what, description=f"Converts {layout.what}.").add_argument
        add("inputs", nargs="+", metavar="INPUT", help="files, folders, or patterns with *")
        add("--out", type=Path, required=True, metavar="FILE", help="the converted file")
        if name == "rcv1":
            add("--topics", metavar="FILE", help="rcv1-v2.topics.qrels, where it does not lie beside the token file")
        if name == "propbank":
            help = "what a role covers: its head word, or the words below that (default: %(default)s)"
            add("--role-spans", choices=("head", "subtree"), default="head", help=help)
    return result


def convert(layout: str, inputs: Iterable[str], out: Path, **options: Any) -> int:
    """
    Writes the converted file, and returns the number of its lines. Raises `UserError` at a mistake in an input, or
    where the file would take the place of one; then nothing is written.
    """
    check_file("out", out)
    found = LAYOUTS[layout]
    with _mistakes(found.needs_library):
        from seal.files.paths import expanded

        files = [file for path in inputs for one in expanded(path) for file in _files(one, found)]
        if any(Path(file).exists() and out.exists() and out.samefile(file) for file in files):
            raise UserError(f"--out: {out} is an input; name another file.")
        with atomic_write(out) as draft, open(draft, "w", encoding="utf-8", newline="\n") as file:
            number = 0
            for path in files:
                for line in found.lines_of(path, **options):
                    file.write(line + "\n")
                    number += 1
            if not number:
                raise UserError(f"{', '.join(files)}: nothing is in it that could be converted.")
    return number


@contextmanager
def _mistakes(library: bool) -> Iterator[None]:
    """Turns what is wrong with a file into a `UserError`. Without `library`, plain Python reads it."""
    if not library:
        _without_packages()
    try:
        from seal.registry import ConfigurationError
    except ImportError as error:
        raise UserError(f"this layout needs the environment of `make env`: {error}.") from error
    try:
        yield
    except ConfigurationError as error:
        raise UserError(error.message) from error
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}.") from error


def _without_packages() -> None:
    """
    Lets modules of `seal` that need plain Python alone be imported without what their packages import, which takes
    seconds, and may not be installed.
    """
    if "seal" in sys.modules:
        return

    class ConfigurationError(Exception):
        def __init__(self, message: str) -> None:
            super().__init__(message)
            self.message = message

    registry: Any = ModuleType("seal.registry")
    registry.ConfigurationError = ConfigurationError
    sys.modules["seal.registry"] = registry
    tasks = ("base", "parsing", "srl", "text")
    for name in ("seal", "seal.common", "seal.files", "seal.tasks", *(f"seal.tasks.{task}" for task in tasks)):
        package = sys.modules[name] = ModuleType(name)
        package.__path__ = [str(ROOT.joinpath(*name.split(".")))]


def _files(path: str, layout: Layout) -> list[str]:
    from seal.files.paths import data_files

    if layout.endings and not Path(path).is_file():
        return data_files(path, layout.endings, layout.what)
    return [path]


def main(argv: Optional[list[str]] = None) -> int:
    arguments = vars(parser().parse_args(argv))
    if "topics" in arguments:
        arguments["topics_path"] = arguments.pop("topics")
    number = convert(**arguments)
    print(f"{arguments['out']}: {number:,} lines")
    return 0


if __name__ == "__main__":
    sys.exit(exit_status(main))
