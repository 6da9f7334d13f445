"""
Reads mutated files with every dataset reader, by the layouts of `scripts/convert.py`, as word vectors and as lines of
`predict`, each in a process of its own, and tells which end in a traceback, take long or take much memory. The files
are the samples in data/ and a few lines of each other format, in which bytes, lines and tokens are changed, repeated,
moved and cut, also behind gzip.

    python scripts/upkeep/fuzz_readers.py --inputs 100 --seed 1
"""

import argparse
import gzip
import io
import math
import multiprocessing
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader
from PIL import Image

import seal.plugin  # noqa: F401  (registers the readers)
from scripts.convert import LAYOUTS
from seal.files.input_lines import input_lines

DATA = Path(__file__).resolve().parents[2] / "data"

_BLURBS = b"""<book date="2018-08-18" xml:lang="en">
<title>Honey & Salt</title>
<body>How bees &amp; cooks live.</body>
<metadata><topics><d0>Nonfiction</d0><d1>Cooking</d1></topics><author>R. Rose</author></metadata>
</book>
<book date="2018-08-18" xml:lang="en"><title>Ice</title><body>Cold.</body><topics><d0>Fiction</d0></topics></book>
"""
_UP_1 = b"""1\tAna\tAna\tPROPN\t_\t_\t2\tnsubj\t_\t_\tA0\tA0
2\tquer\tquerer\tVERB\t_\t_\t0\troot\tY\tquerer.01\t_\t_
3\tvender\tvender\tVERB\t_\t_\t2\txcomp\tY\tvender.01\tA1\t_
"""
_LINES = b'{"sentence": "Rose sells honey."}\n\n{"sentence": "Salt", "id": 7}\nplain text\n'


def _png(mode: str) -> bytes:
    pixels = numpy.arange(16 * 12 * 3, dtype=numpy.uint8).reshape(16, 12, 3)
    file = io.BytesIO()
    Image.fromarray(pixels if mode == "RGB" else pixels[..., 0] // 128 * 255).save(file, "png")
    return file.getvalue()


_LABELS = str(DATA / "multilabel_sample" / "labels.xml")

#: By name: the file that is mutated or its content, the ending of its name, and the reader's settings. In these,
#: `{folder}` is the folder with the files of `BESIDE`.
READERS: dict[str, tuple[Union[str, bytes], str, dict[str, Any]]] = {
    "arff": ("multilabel_sample/valid.arff", ".arff", {"type": "seal_multilabel", "label_xml": _LABELS}),
    "features_csv": (
        b"id,w,wet,red,big\na,0.5,1,1,0\nb,-3,0,0,1\nc,,1,0,0\n",
        ".csv",
        {"type": "seal_multilabel", "labels": ["red", "big"], "drop_attributes": ["id"], "missing": "zero"},
    ),
    "masks": ("shapes_sample/valid.npz", ".npz", {"type": "seal_segmentation"}),
    "conll2012": ("srl_sample/dev.gold_conll", ".gold_conll", {"type": "seal_srl"}),
    "propbank": (
        "../tests/fixtures/srl/kitchen.conllu",
        ".conllu",
        {"type": "seal_srl", "role_spans": "subtree"},
    ),
    "propbank_1": (_UP_1, ".conllu", {"type": "seal_srl", "role_spans": "subtree"}),
    "conll2005": (
        b"The DT (S* - (A0*\nboy NN * - *)\nsells VBZ * sell (V*)\n\nHi UH * -\n",
        ".conll",
        {"type": "seal_srl"},
    ),
    "conll2009": (
        b"1\tShe\tshe\tshe\tX\tX\t_\t_\t2\t2\tSBJ\tSBJ\t_\t_\tA0\n"
        b"2\tleft\tleave\tleave\tX\tX\t_\t_\t0\t0\tROOT\tROOT\tY\tleave.01\t_\n",
        ".conll",
        {"type": "seal_srl", "role_spans": "subtree"},
    ),
    "cats": (
        b'{"text": "wind and rain", "cats": {"storm": 1, "heat": 0}}\n{"text": "sun", "label": "heat"}\n',
        ".jsonl",
        {"type": "seal_text_multilabel"},
    ),
    "frames": ("../tests/fixtures/srl/kitchen.jsonl", ".jsonl", {"type": "seal_srl"}),
    "tags": ("tagging_sample/dev.tsv", ".tsv", {"type": "seal_tagging"}),
    "bare_tags": (b"Anna\tB\nMeyer\tM\nHill\tE\nsails\t\n\nParis\tS\n", ".tsv", {"type": "seal_tagging"}),
    "tag_records": (
        b'{"tokens": ["Anna", "sails"], "ner_tags": [1, 0]}\n{"tokens": ["So"], "ner_tags": [0]}\n',
        ".jsonl",
        {"type": "seal_tagging", "label_names": ["O", "B-PER"]},
    ),
    "entities": (
        b'{"text": "Anna Meyer sails.", "label": [[0, 10, "PER"]]}\n{"text": "In Bergen", "label": [[3, 9, "LOC"]]}\n',
        ".jsonl",
        {"type": "seal_tagging"},
    ),
    "trees": ("trees_sample/dev.mrg", ".mrg", {"type": "seal_parsing"}),
    "nxt_syntax": ("../tests/fixtures/nxt/syntax/sw0001.A.syntax.xml", ".syntax.xml", {"layout": "nxt"}),
    "nxt_terminals": (
        "../tests/fixtures/nxt/terminals/sw0001.A.terminals.xml",
        ".terminals.xml",
        {"layout": "nxt"},
    ),
    "json_lines": ("text_sample/valid.jsonl", ".jsonl", {"type": "seal_text_multilabel"}),
    "tsv": (b"a text\tfood,drink\nanother\t\nthe third\tfood\n", ".tsv", {"type": "seal_text_multilabel"}),
    "bgc": (_BLURBS, ".txt", {"layout": "bgc"}),
    "taxonomy": (
        "text_sample/taxonomy.tsv",
        ".tsv",
        {"type": "seal_text_multilabel", "ancestors": True},
    ),
    "csv": (b'text,labels\nwind and rain,storm\nsun,"heat,drought"\n', ".csv", {"type": "seal_text_multilabel"}),
    "indexed_tsv": (
        b"wind and rain\t1\tx7\nsun\t0,2\tx8\n",
        ".tsv",
        {"type": "seal_text_multilabel", "labels": "{folder}/names.txt"},
    ),
    "aapd": (b"we study graphs\nwe prove it\nnone\n", ".txt", {"layout": "aapd"}),
    "aapd_labels": (b"cs.it math.it\n\ncs.it\n", ".txt", {"layout": "aapd"}),
    "rcv1": (
        b".I 2286\n.W\nrecov recov excit\nbring market\n\n.I 2287\n.W\nmexic\n",
        ".dat",
        {"layout": "rcv1", "topics_path": "{folder}/topics"},
    ),
    "rcv1_qrels": (b"E11 2286 1\nECAT 2286 1\nM13 2287 1\n", ".qrels", {"layout": "rcv1"}),
    "rcv1_topics": (b"parent: C15 child: C151 x\nparent: C15 child: C152 y\n", ".orig", {"layout": "rcv1-topics"}),
    "image": (_png("RGB"), ".png", {"type": "seal_segmentation"}),
    "mask_image": (_png("L"), ".png", {"type": "seal_segmentation"}),
    "predict_lines": (_LINES, ".jsonl", {}),
    "predict_csv": (b'id,sentence\n1,"Rose sells honey."\n2,"Salt, and\nice"\n', ".csv", {}),
}

#: Files that are not mutated.
BESIDE = {"names.txt": b"heat\nstorm\ndrought\n", "topics": b"E11 2286 1\nECAT 2286 1\nM13 2287 1\n"}

# What is put into files: what formats, numbers and decoders may stumble over.
_PIECES = [
    *(character.encode() for character in "\n\r\t\0 '\"\\,{}[]()%?-*"),
    *(b"\r\n", b"nan", b"inf", b"1e999", b"-1", b"99999999999999999999", b"null", b"true", b"@data", b"@attribute"),
    *(b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xed\xa0\x80"),
]


class Ending(NamedTuple):
    """How the reading of a file ended."""

    #: `"read"`, `"told"` (in a sentence), `"traceback"`, `"stopped"` (at the limit of time) or `"killed"`.
    kind: str
    #: The error.
    what: str = ""
    #: The time, and the memory above that of the process before.
    seconds: float = 0.0
    megabytes: float = 0.0


def mutated(content: bytes, generator: random.Random, size: Optional[int] = None) -> bytes:
    """
    Changes the content in a few places, and repeats a part of it up to the given size. Half of the files with a size
    have no other change, as most changes are refused before the part is read.
    """
    data = bytearray(content)
    alone = size is not None and generator.random() < 0.5
    for _ in range(0 if alone else generator.randint(1, 8)):
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
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    try:
        if "layout" in settings:
            layout, *options = settings.items()
            for _ in LAYOUTS[layout[1]].lines_of(path, **dict(options)):
                pass
        elif "type" in settings:
            for _ in DatasetReader.from_params(Params(dict(settings))).read(path):
                pass
        else:
            for _ in input_lines(path):
                pass
        kind, what = "read", ""
    except (ConfigurationError, FileNotFoundError) as error:
        kind, what = ("told", str(error)) if "\n" not in str(error) else ("traceback", f"several lines: {error}")
    except BaseException as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        kind, what = "traceback", f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    pipe.send(Ending(kind, what, time.process_time() - start, memory))


def read_apart(settings: dict[str, Any], path: str, seconds: float) -> Ending:
    """
    Reads a file in a process of its own, which is ended after so many seconds of its CPU time, as other processes may
    take the machine's, or ten times as many of the clock.
    """
    # Forked: the imports are done.
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def read() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), resource.RLIM_INFINITY))
        _read(settings, path, there)

    process = context.Process(target=read)
    process.start()
    there.close()
    stopped = Ending("stopped", f"more than {seconds:g} s", seconds)
    try:
        return here.recv() if here.poll(10 * seconds) else stopped
    except EOFError:
        process.join()
        timed_out = process.exitcode == -signal.SIGXCPU
        return stopped if timed_out else Ending("killed", "the process ended without a word")
    finally:
        process.kill()
        process.join()


def _in_its_place(name: str, path: Path) -> Path:
    """The path of a file that must have another name or folder, with the other file that belongs to it."""
    if name.startswith("aapd"):
        mine, other = ("label_", "text_") if name.endswith("labels") else ("text_", "label_")
        source = READERS["aapd" if mine == "label_" else "aapd_labels"][0]
        content = gzip.compress(source) if path.suffix == ".gz" else source
        path.with_name(other + path.name).write_bytes(content)
        return path.with_name(mine + path.name)
    if name == "rcv1_qrels":
        path.with_name("whole.dat").write_bytes(READERS["rcv1"][0])
    if name.startswith("nxt_"):
        other = "terminals" if name == "nxt_syntax" else "syntax"
        place = path.with_name(path.name.split(".")[0])
        place.mkdir(exist_ok=True)
        (place / f"sw0001.A.{other}.xml").write_bytes((DATA / READERS[f"nxt_{other}"][0]).read_bytes())
        return place / path.name.replace(place.name, "sw0001.A")
    if path.suffix == ".png":
        mine, other, mode = ("images", "masks", "L") if name == "image" else ("masks", "images", "RGB")
        for folder in (mine, other):
            (path.with_suffix("") / folder).mkdir(parents=True, exist_ok=True)
        (path.with_suffix("") / other / "0.png").write_bytes(_png(mode))
        return path.with_suffix("") / mine / "0.png"
    return path


def fuzz(
    name: str, inputs: int, generator: random.Random, folder: Path, seconds: float, size: Optional[int] = None
) -> list[tuple[Path, Ending]]:
    """The endings of the given number of mutated files of a reader, which stay in the folder."""
    source, ending_of_name, settings = READERS[name]
    content = source if isinstance(source, bytes) else (DATA / source).read_bytes()
    for beside, text in BESIDE.items():
        (folder / beside).write_bytes(text)
    settings = {
        key: value.format(folder=folder) if isinstance(value, str) else value for key, value in settings.items()
    }
    endings = []
    for number in range(inputs):
        changed = mutated(content, generator, size)
        suffix = ending_of_name
        if suffix not in (".npz", ".png") and generator.random() < 0.2:
            suffix += ".gz"
            packed = gzip.compress(changed, compresslevel=1)
            changed = mutated(packed, generator) if generator.random() < 0.5 else packed
        path = folder / f"{name}-{number}{suffix}"
        path = _in_its_place(name, path)
        path.write_bytes(changed)
        used, read = settings, str(path)
        if name == "taxonomy":
            used, read = {**settings, "taxonomy": read}, str(DATA / "text_sample" / "valid.jsonl")
        elif name == "rcv1_qrels":
            used, read = {**settings, "topics_path": read}, str(folder / "whole.dat")
        elif name == "aapd_labels":
            read = str(path.with_name(path.name.replace("label_", "text_", 1)))
        elif name == "nxt_terminals":
            read = str(path.parent / "sw0001.A.syntax.xml")
        elif path.suffix == ".png":
            read = str(path.parents[1])
        endings.append((path, read_apart(used, read, seconds)))
    return endings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100, help="the number of files for each reader")
    parser.add_argument("--size", type=int, help="repeat a part of each file up to so many bytes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--readers", nargs="+", choices=sorted(READERS), default=sorted(READERS))
    parser.add_argument("--seconds", type=float, default=10.0, help="the limit of CPU time for a file")
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
