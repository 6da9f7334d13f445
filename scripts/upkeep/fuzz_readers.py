"""
Reads mutated files with every dataset reader, each in a process of its own, and tells which end in a traceback, take
long or take much memory. The files are the samples in data/, in which bytes, lines and tokens are changed, repeated,
moved and cut, also behind gzip.

    python scripts/upkeep/fuzz_readers.py --inputs 100 --seed 1
"""

import argparse
import gzip
import multiprocessing
import random
import re
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

import seal  # noqa: F401  (registers the readers)

DATA = Path(__file__).resolve().parents[2] / "data"

_BLURBS = b"""<book date="2018-08-18" xml:lang="en">
<title>Honey & Salt</title>
<body>How bees &amp; cooks live.</body>
<metadata><topics><d0>Nonfiction</d0><d1>Cooking</d1></topics><author>R. Rose</author></metadata>
</book>
<book date="2018-08-18" xml:lang="en"><title>Ice</title><body>Cold.</body><topics><d0>Fiction</d0></topics></book>
"""
_LABELS = str(DATA / "multilabel_sample" / "labels.xml")

#: By name: the file that is mutated or its content, the ending of its name, and the reader's settings.
READERS: dict[str, tuple[Union[str, bytes], str, dict[str, Any]]] = {
    "arff": ("multilabel_sample/valid.arff", ".arff", {"type": "seal_multilabel", "label_xml": _LABELS}),
    "masks": ("shapes_sample/valid.npz", ".npz", {"type": "seal_segmentation"}),
    "conll2012": ("srl_sample/dev.gold_conll", ".gold_conll", {"type": "seal_srl"}),
    "frames": ("../tests/fixtures/srl/kitchen.jsonl", ".jsonl", {"type": "seal_srl"}),
    "tags": ("tagging_sample/dev.tsv", ".tsv", {"type": "seal_tagging"}),
    "trees": ("trees_sample/dev.mrg", ".mrg", {"type": "seal_parsing"}),
    "json_lines": ("text_sample/valid.jsonl", ".jsonl", {"type": "seal_text_multilabel"}),
    "tsv": (b"a text\tfood,drink\nanother\t\nthe third\tfood\n", ".tsv", {"type": "seal_text_multilabel"}),
    "blurbs": (_BLURBS, ".txt", {"type": "seal_text_multilabel", "format": "blurbs"}),
    "taxonomy": (
        "text_sample/taxonomy.tsv",
        ".tsv",
        {"type": "seal_text_multilabel", "ancestors": True},
    ),
}

# What is put into files: what formats, numbers and decoders may stumble over.
_PIECES = [
    *(character.encode() for character in "\n\r\t\0 '\"\\,{}[]()%?-*"),
    *(b"\r\n", b"nan", b"inf", b"1e999", b"-1", b"99999999999999999999", b"null", b"true", b"@data", b"@attribute"),
    *(b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xed\xa0\x80"),
]


class Ending(NamedTuple):
    """
    How the reading of a file ended.

    # Parameters

    kind : `str`
        `"read"`, `"told"` (in a sentence), `"traceback"`, `"stopped"` (at the limit of time) or `"killed"`.
    what : `str`
        The error.
    seconds, megabytes : `float`
        The time, and the memory above that of the process before.
    """

    kind: str
    what: str = ""
    seconds: float = 0.0
    megabytes: float = 0.0


def mutated(content: bytes, generator: random.Random, size: Optional[int] = None) -> bytes:
    """Changes the content in a few places, and repeats a part of it up to the given size."""
    data = bytearray(content)
    for _ in range(generator.randint(1, 8)):
        kind = generator.randrange(8)
        place = generator.randrange(len(data)) if data else 0
        length = min(int(generator.expovariate(1 / 40)) + 1, 1000)
        if kind == 0 and data:
            data[place] = generator.randrange(256)
        elif kind == 1:
            del data[place : place + length]
        elif kind == 2:
            data[place:place] = generator.choice(_PIECES) * generator.choice([1, 1, 1, 2, 1000])
        elif kind == 3:
            data[place:place] = data[place : place + length] * generator.choice([1, 2, 100])
        elif kind == 4:
            lines = bytes(data).splitlines(keepends=True)
            generator.shuffle(lines)
            data = bytearray(b"".join(lines))
        elif kind == 5 and generator.random() < 0.3:
            del data[place:]
        elif kind == 6:
            words = re.findall(rb"[<\[{@]?\w+[^\w\s]?", bytes(data[place : place + 2000])) or [b"a"]
            data[place:place] = generator.choice(words) * generator.choice([10, 1000, 10000])
        else:
            data = bytearray(bytes(data).replace(generator.choice(_PIECES), generator.choice(_PIECES), 20))
    if size is not None and data:
        start = generator.randrange(len(data))
        part = bytes(data[start : start + generator.choice([1, 10, 1000])]) or b"a"
        data[start:start] = (part * (size // len(part) + 1))[:size]
    return bytes(data)


def _read(settings: dict[str, Any], path: str, pipe: Any) -> None:
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    try:
        for _ in DatasetReader.from_params(Params(dict(settings))).read(path):
            pass
        kind, what = "read", ""
    except (ConfigurationError, FileNotFoundError) as error:
        kind, what = ("told", str(error)) if "\n" not in str(error) else ("traceback", f"several lines: {error}")
    except BaseException as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        kind, what = "traceback", f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    pipe.send(Ending(kind, what, time.perf_counter() - start, memory))


def read_apart(settings: dict[str, Any], path: str, seconds: float) -> Ending:
    """Reads a file in a process of its own, which is ended after so many seconds."""
    # Forked: the imports are done.
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_read, args=(settings, path, there))
    process.start()
    there.close()
    try:
        ending = here.recv() if here.poll(seconds) else Ending("stopped", f"more than {seconds:g} s", seconds)
    except EOFError:
        ending = Ending("killed", "the process ended without a word")
    process.kill()
    process.join()
    return ending


def fuzz(
    name: str, inputs: int, generator: random.Random, folder: Path, seconds: float, size: Optional[int] = None
) -> list[tuple[Path, Ending]]:
    """The endings of the given number of mutated files of a reader, which stay in the folder."""
    source, ending_of_name, settings = READERS[name]
    content = source if isinstance(source, bytes) else (DATA / source).read_bytes()
    endings = []
    for number in range(inputs):
        changed = mutated(content, generator, size)
        suffix = ending_of_name
        if suffix != ".npz" and generator.random() < 0.2:
            suffix += ".gz"
            packed = gzip.compress(changed, compresslevel=1)
            changed = mutated(packed, generator) if generator.random() < 0.5 else packed
        path = folder / f"{name}-{number}{suffix}"
        path.write_bytes(changed)
        used, read = settings, str(path)
        if name == "taxonomy":
            used, read = {**settings, "taxonomy": read}, str(DATA / "text_sample" / "valid.jsonl")
        endings.append((path, read_apart(used, read, seconds)))
    return endings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100, help="the number of files for each reader")
    parser.add_argument("--size", type=int, help="repeat a part of each file up to so many bytes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--readers", nargs="+", choices=sorted(READERS), default=sorted(READERS))
    parser.add_argument("--seconds", type=float, default=10.0, help="the limit of time for a file")
    parser.add_argument("--megabytes", type=float, default=1000.0, help="the limit of memory that is reported")
    parser.add_argument("--out", help="keep the files here; otherwise they are removed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.out or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        bad = 0
        for name in arguments.readers:
            generator = random.Random(f"{arguments.seed} {name}")
            endings = fuzz(name, arguments.inputs, generator, folder, arguments.seconds, arguments.size)
            kinds = Counter(ending.kind for _, ending in endings)
            slowest = max(ending.seconds for _, ending in endings)
            largest = max(ending.megabytes for _, ending in endings)
            counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
            print(f"{name}: {counts}; at most {slowest:.1f} s and {largest:.0f} MB")
            for path, ending in endings:
                if ending.kind not in ("read", "told") or ending.megabytes > arguments.megabytes:
                    bad += 1
                    print(f"  {path.name}: {ending.kind}, {ending.megabytes:.0f} MB, {ending.what[:300]}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
