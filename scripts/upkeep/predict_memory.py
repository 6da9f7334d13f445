"""
Measures the memory and the time of `seal predict` on many lines of mixed length, for each task: a model is trained on
the sample in data/ (two epochs), and predicts lines that are made of the sample's words. One in 500 has 600 to 900
words, four have the most that are read, and one is too long, a line of a megabyte. Of images, one in 200 is large.
A tenth of the lines is predicted first, so that the table tells whether memory grows with their number.

    python scripts/upkeep/predict_memory.py --lines 50000 --seed 1
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "data"

#: The sides of images; the sample's are 32 x 32.
SIDES = (16, 24, 32, 64)
LARGE_SIDE = 1024


def words_of(sample: str, column: int) -> list[str]:
    """The words of a sample in columns."""
    lines = (DATA / sample).read_text(encoding="utf-8").splitlines()
    return [line.split()[column] for line in lines if line and not line.startswith("#")]


def texts(words: list[str], most: int, few_verbs: bool = False) -> Callable[[int, random.Random, Path], Iterator[str]]:
    """Makes lines of plain text; `most` is the number of words that is read at most."""

    def lines(number: int, generator: random.Random, folder: Path) -> Iterator[str]:
        longest = set(range(number // 8, number, max(1, number // 4)))
        for place in range(number):
            if place in longest and few_verbs:
                request = {"words": generator.choices(words, k=most), "predicates": [1, most // 2, most - 1]}
                yield json.dumps(request)
                continue
            if place == number // 2:
                yield " ".join(generator.choices(words, k=2**20 // 4))
                continue
            length = most if place in longest else min(2 + int(generator.expovariate(1 / 15)), 100)
            if place % 500 == 499:
                length = generator.randint(600, 900)
            yield " ".join(generator.choices(words, k=length))

    return lines


def feature_rows(number: int, generator: random.Random, folder: Path) -> Iterator[str]:
    """Rows by the names of a few attributes, by some numbers, or by all."""
    text = (DATA / "multilabel_sample" / "valid.arff").read_text(encoding="utf-8")
    labels = (DATA / "multilabel_sample" / "labels.xml").read_text(encoding="utf-8")
    names = [line.split()[1] for line in text.splitlines() if line.startswith("@attribute")]
    names = [name for name in names if f'"{name}"' not in labels]
    for place in range(number):
        some = generator.sample(names, 1 + min(int(generator.expovariate(1 / 8)), len(names) - 1))
        features: Any = some if place % 3 else dict.fromkeys(some, 0.5)
        if place % 500 == 499:
            features = [generator.random() for _ in names]
        yield json.dumps({"features": features})


def images(number: int, generator: random.Random, folder: Path) -> Iterator[str]:
    """Files of images, each a line; a file is repeated, and read again."""
    folder.mkdir(exist_ok=True)
    made = []
    for side in (*SIDES, LARGE_SIDE):
        pixels = numpy.random.default_rng(side).integers(0, 256, (side, side, 3), dtype=numpy.uint8)
        made.append(str(folder / f"{side}.png"))
        Image.fromarray(pixels).save(made[-1])
    for place in range(number):
        yield json.dumps({"image": made[-1] if place % 200 == 199 else generator.choice(made[:-1])})


class Task(NamedTuple):
    """A task that is measured."""

    #: Of training_configs.
    config: str
    #: Makes so many lines by a generator, with files in a folder.
    lines: Callable[[int, random.Random, Path], Iterator[str]]
    #: Of the lines that are asked for.
    share: float = 1.0


_ROLES = words_of("srl_sample/dev.gold_conll", 3)
_TEXT = (DATA / "text_sample" / "valid.jsonl").read_text(encoding="utf-8")
_TEXT_WORDS = [word for line in _TEXT.splitlines() for word in json.loads(line)["text"].split()]

TASKS = {
    "roles": Task("srl_structured", texts(_ROLES, 9999, few_verbs=True)),
    "tags": Task("tagging_crf", texts(words_of("tagging_sample/dev.tsv", 0), 9999)),
    "trees": Task("parsing_seq2seq", texts(_ROLES, 1000), share=0.1),
    "label sets of texts": Task("text_structured", texts(_TEXT_WORDS, 9999)),
    "label sets of features": Task("multilabel_structured", feature_rows),
    "masks": Task("shapes_cross_entropy", images, share=0.04),
}


class Taken(NamedTuple):
    """What a command has taken: the most memory that it held, in MB, and CPU seconds."""

    megabytes: float
    seconds: float


def seal(*arguments: str) -> Taken:
    """Runs `seal` with the arguments, on one thread."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "seal", *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        # Of this child alone; the maximum over all children would be that of the largest so far.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        # 3: a line has an error in place of a prediction, as the one that is too long.
        if process.returncode not in (0, 3):
            errors.seek(0)
            raise SystemExit(f"seal {' '.join(arguments)} failed:\n{errors.read().decode(errors='replace')[-2000:]}")
    return Taken(usage.ru_maxrss * 1024 / 1e6, usage.ru_utime + usage.ru_stime)


def measured(name: str, number: int, seed: int, folder: Path) -> tuple[int, Taken, Taken]:
    """The number of lines, and what a tenth of them and all of them have taken."""
    task = TASKS[name]
    run, lines, few = folder / task.config, folder / f"{task.config}.txt", folder / f"{task.config}-few.txt"
    if not (run / "model.tar.gz").exists():
        config = f"training_configs/{task.config}.jsonnet"
        seal("train", config, "-s", str(run), "--force", "-o", '{"trainer.num_epochs": 2}')
    count = max(10, int(number * task.share))
    taken = []
    for path, size in ((few, count // 10), (lines, count)):
        made = task.lines(size, random.Random(seed), folder / "images")
        path.write_text("".join(f"{line}\n" for line in made), encoding="utf-8")
        output = path.with_suffix(".jsonl")
        taken.append(seal("predict", str(run / "model.tar.gz"), str(path), "--silent", "--output-file", str(output)))
        with open(output, encoding="utf-8") as records:
            found = sum(1 for _ in records)
        if found != size:
            raise SystemExit(f"{name}: {size} lines have {found} records.")
        output.unlink()
    return count, *taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=50000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--megabytes", type=float, default=1200.0, help="the most memory that is no failure")
    parser.add_argument("--out", help="keep models and lines here; otherwise they are removed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.out or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        print("| task | lines | MB with a tenth of them | MB | CPU seconds |\n|---|---|---|---|---|", flush=True)
        most = 0.0
        for name in arguments.tasks:
            count, few, many = measured(name, arguments.lines, arguments.seed, folder)
            most = max(most, many.megabytes)
            figures = f"{few.megabytes:,.0f} | {many.megabytes:,.0f} | {many.seconds:,.0f}"
            print(f"| {name} | {count:,} | {figures} |", flush=True)
    sys.exit(1 if most > arguments.megabytes else 0)


if __name__ == "__main__":
    main()
