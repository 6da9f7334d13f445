"""
Measures the memory and the time of `seal train` on many texts and on many feature vectors: of the vocabulary pass, and
of one epoch of cross-entropy of a small net. Texts have 20 words and are streamed (`max_instances_in_memory`); feature
vectors have bibtex's shape, and are parsed in the first pass and mapped in the second (`SEAL_CACHE`). Memory is the
most anonymous memory that the process has held: pages of mapped files are the system's, which drops them at need.

    python scripts/upkeep/train_memory.py --texts 50000 1000000 --rows 50000 500000
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy

ROOT = Path(__file__).resolve().parents[2]
#: Kept in memory at once of the texts.
IN_MEMORY = 10000
#: Of bibtex: features and labels, and how many a row has.
FEATURES, LABELS, FEATURES_A_ROW, LABELS_A_ROW = 1836, 159, 68, 2
WORDS_A_TEXT, WORDS = 20, 20000
#: Rows that are made at once.
PIECE = 10000


def write_texts(path: Path, number: int, seed: int) -> None:
    """JSON lines; frequent words are frequent as in language, and two words decide the labels."""
    generator = numpy.random.default_rng(seed)
    chances = 1 / numpy.arange(1, WORDS + 1)
    with open(path, "w", encoding="utf-8") as file:
        for start in range(0, number, PIECE):
            size = (min(PIECE, number - start), WORDS_A_TEXT)
            for words in generator.choice(WORDS, size, p=chances / chances.sum()).tolist():
                labels = sorted({f"l{word % 30}" for word in words[:2]})
                file.write(json.dumps({"text": " ".join(f"w{word}" for word in words), "labels": labels}) + "\n")


def write_rows(path: Path, number: int, seed: int) -> None:
    """Sparse ARFF; the labels are the first attributes."""
    generator = numpy.random.default_rng(seed)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"@relation 'rows: -C {LABELS}'\n")
        file.writelines(f"@attribute l{label} {{0,1}}\n" for label in range(LABELS))
        file.writelines(f"@attribute a{feature} {{0,1}}\n" for feature in range(FEATURES))
        file.write("@data\n")
        for start in range(0, number, PIECE):
            rows = min(PIECE, number - start)
            labels = generator.integers(0, LABELS, (rows, LABELS_A_ROW))
            features = LABELS + generator.integers(0, FEATURES, (rows, FEATURES_A_ROW))
            for row in numpy.concatenate([labels, features], axis=1):
                file.write("{" + ",".join(f"{column} 1" for column in numpy.unique(row).tolist()) + "}\n")


class Kind(NamedTuple):
    """What is trained on."""

    #: Makes a file of so many rows by a seed.
    write: Callable[[Path, int, int], None]
    #: Of the file's name.
    ending: str
    #: What else a run needs.
    config: dict[str, Any]


def _config(reader: dict[str, Any], encoder: dict[str, Any], loader: dict[str, Any]) -> dict[str, Any]:
    task = reader["type"]
    return {
        "dataset_reader": reader,
        "datasets_for_vocab_creation": ["train"],
        "model": {"type": task, "output_space": {"type": "label_set"}, "task_net": {"encoder": encoder}},
        "data_loader": {"batch_size": 64, "shuffle": True, **loader},
        "trainer": {
            "type": "alternating",
            "num_epochs": 1,
            "cuda_device": -1,
            "task_net": {"optimizer": {"type": "fused_adamw", "lr": 0.003}},
        },
    }


KINDS = {
    "texts": Kind(
        write_texts,
        ".jsonl",
        _config(
            {"type": "seal_text_multilabel"},
            {
                "type": "seq2vec",
                "embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 32}}},
                "encoder": {"type": "bag_of_embeddings", "embedding_dim": 32, "averaged": True},
            },
            {"max_instances_in_memory": IN_MEMORY},
        ),
    ),
    "feature vectors": Kind(
        write_rows,
        ".arff",
        _config(
            {"type": "seal_multilabel"},
            {"type": "feature_mlp", "hidden_dim": 64, "num_layers": 1},
            {"type": "tensors"},
        ),
    ),
}


class Taken(NamedTuple):
    """What a command has taken: the most anonymous memory, in MB, and CPU seconds."""

    megabytes: float
    seconds: float


def seal(environment: dict[str, str], *arguments: str) -> Taken:
    """Runs `seal` with the arguments, on one thread."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "seal", *arguments],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **environment},
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        most, done = 0, 0
        while not done:
            time.sleep(0.05)
            most = max(most, anonymous_memory(process.pid))
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise SystemExit(f"seal {' '.join(arguments)} failed:\n{errors.read().decode(errors='replace')[-2000:]}")
    return Taken(most * 1024 / 1e6, usage.ru_utime + usage.ru_stime)


def anonymous_memory(pid: int) -> int:
    """In KiB, of a process; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("RssAnon:")), 0)


def measured(name: str, number: int, seed: int, folder: Path) -> tuple[Taken, Taken]:
    """What the vocabulary pass has taken, and an epoch."""
    kind, place = KINDS[name], folder / f"{name}-{number}".replace(" ", "-")
    place.mkdir()
    data, config = place / f"train{kind.ending}", place / "config.json"
    kind.write(data, number, seed)
    environment = {"SEAL_CACHE": str(place / "cache")}
    config.write_text(json.dumps({**kind.config, "train_data_path": str(data)}), encoding="utf-8")
    vocabulary = seal(environment, "train", str(config), "-s", str(place / "dry"), "--dry-run")
    known = {"type": "from_files", "directory": str(place / "dry" / "vocabulary")}
    overrides = json.dumps({"vocabulary": known})
    epoch = seal(environment, "train", str(config), "-s", str(place / "run"), "-o", overrides)
    return vocabulary, epoch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, nargs="*", default=[50000, 1000000], help="numbers of texts")
    parser.add_argument("--rows", type=int, nargs="*", default=[50000, 500000], help="numbers of feature vectors")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--growth", type=float, default=100.0, help="the most MB of growth that is no failure")
    parser.add_argument("--out", help="make files and runs here; without it, they are made elsewhere and removed")
    arguments = parser.parse_args()
    print(
        "| | number | vocabulary pass, MB | CPU seconds | epoch, MB | CPU seconds |\n|---|---|---|---|---|---|",
        flush=True,
    )
    grown = False
    for name, numbers in (("texts", arguments.texts), ("feature vectors", arguments.rows)):
        found = []
        for number in numbers:
            with tempfile.TemporaryDirectory(dir=arguments.out) as folder:
                found.append(measured(name, number, arguments.seed, Path(folder).resolve()))
            figures = " | ".join(f"{taken.megabytes:,.0f} | {taken.seconds:,.0f}" for taken in found[-1])
            print(f"| {name} | {number:,} | {figures} |", flush=True)
        for passes in zip(*found):
            megabytes = [taken.megabytes for taken in passes]
            grown = grown or max(megabytes) - megabytes[0] > arguments.growth
    sys.exit(1 if grown else 0)


if __name__ == "__main__":
    main()
