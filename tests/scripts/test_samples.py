"""What all embedded samples have: a script that always writes the same, and committed files that it has written."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy
import pytest

ROOT = Path(__file__).resolve().parents[2]


class Sample(NamedTuple):
    """Its folder in data/, the ending of a split's file, how many items a content has, and the files beside them."""

    folder: str
    ending: str
    count: object
    limit: int
    beside: tuple = ()


SAMPLES = {
    "srl": Sample("srl_sample", "gold_conll", lambda text: text.count("\n\n"), 2_000_000),
    "tagging": Sample("tagging_sample", "tsv", lambda text: text.count("\n\n"), 300_000),
    "tree": Sample("trees_sample", "mrg", lambda text: text.count("\n"), 600_000),
    "text": Sample("text_sample", "jsonl", lambda text: text.count("\n"), 300_000, ("taxonomy.tsv",)),
    "multilabel": Sample("multilabel_sample", "arff", lambda text: text.count("\n{"), 600_000, ("labels.xml",)),
    "shapes": Sample("shapes_sample", "npz", None, 300_000),
}


def sizes_of(name):
    """Of a small version, by split."""
    splits = ("train", "dev", "test") if name in ("srl", "tagging", "tree") else ("train", "valid", "test")
    return dict(zip(splits, (4, 2, 3) if name == "shapes" else (60, 10, 15)))


def options(name):
    return [part for split, size in sizes_of(name).items() for part in (f"--{split}", str(size))]


def files(name):
    return [f"{split}.{SAMPLES[name].ending}" for split in sizes_of(name)]


def same(one, other):
    if one.suffix != ".npz":
        return one.read_bytes() == other.read_bytes()
    # Values, not bytes: another zlib packs them otherwise.
    with numpy.load(one) as ours, numpy.load(other) as theirs:
        return ours.files == theirs.files and all(numpy.array_equal(ours[key], theirs[key]) for key in ours.files)


def items(path, count):
    if count is not None:
        return count(path.read_text(encoding="utf-8"))
    with numpy.load(path) as arrays:
        return len(arrays["masks"])


@pytest.fixture(params=SAMPLES)
def sample(request):
    return request.param


@pytest.fixture
def script(sample):
    return importlib.import_module(f"scripts.samples.make_{sample}_sample")


def test_a_small_version_is_deterministic(sample, script, tmp_path):
    for name, seed in (("one", "7"), ("other", "8")):
        script.main(["--out", str(tmp_path / name), "--seed", seed, *options(sample)])
    # Another process with another hash seed: the order of a set must not show.
    command = [sys.executable, script.__file__, "--out", str(tmp_path / "again"), "--seed", "7", *options(sample)]
    environment = {**os.environ, "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    for file, size in zip(files(sample), sizes_of(sample).values()):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "again" / file).read_bytes()
        assert not same(tmp_path / "one" / file, tmp_path / "other" / file)
        assert items(tmp_path / "one" / file, SAMPLES[sample].count) == size
    for file in SAMPLES[sample].beside:
        content = (tmp_path / "one" / file).read_bytes()
        assert content == (tmp_path / "again" / file).read_bytes() == (tmp_path / "other" / file).read_bytes()


def test_the_committed_files_and_the_table_are_what_the_script_writes(sample, script, tmp_path, capsys):
    script.main(["--out", str(tmp_path)])
    data = ROOT / "data" / SAMPLES[sample].folder
    for file in (*files(sample), *SAMPLES[sample].beside):
        assert same(tmp_path / file, data / file), f"{file} is not what the script writes; run it again."
    rows = [line.replace(" %", "%").split() for line in capsys.readouterr().out.splitlines()[1:]]
    readme = (data / "README.md").read_text(encoding="utf-8")
    for row in rows:
        assert "| " + " | ".join(cell.replace("%", " %") for cell in row) + " |" in readme
    assert sum((data / file).stat().st_size for file in files(sample)) < SAMPLES[sample].limit


@pytest.mark.parametrize("more", [["--valid", "0"], ["--out", __file__], ["--out", f"{__file__}/below"]])
def test_mistakes_name_the_option(more, tmp_path, capsys):
    script = importlib.import_module("scripts.samples.make_text_sample")
    with pytest.raises(SystemExit):
        script.main(["--out", str(tmp_path), *more])
    assert f"{more[0]} must be" in capsys.readouterr().err


# What tells an item from the others: its words, or its image.
CONTENTS = {
    "srl": lambda path: [
        " ".join(re.findall(r"^\S+ 0 \d+ (\S+)", item, re.M)) for item in path.read_text().split("\n\n")
    ],
    "tagging": lambda path: [" ".join(re.findall(r"^\S+", item, re.M)) for item in path.read_text().split("\n\n")],
    "tree": lambda path: [" ".join(re.findall(r" ([^()\s]+)\)", line)) for line in path.read_text().splitlines()],
    "text": lambda path: [json.loads(line)["text"] for line in path.read_text().splitlines()],
    "multilabel": lambda path: [line for line in path.read_text().splitlines() if line.startswith("{")],
    "shapes": lambda path: [image.tobytes() for image in numpy.load(path)["images"]],
}


def test_no_item_is_there_twice(sample):
    folder = ROOT / "data" / SAMPLES[sample].folder
    found = [item for file in files(sample) for item in CONTENTS[sample](folder / file) if item]
    assert len(found) == len(set(found)) >= 120


@pytest.mark.parametrize(
    "name, drawing, drawn, unit",
    [("tagging", "draw_note", [("a", "LOW", "O")], "notes"), ("multilabel", "draw_words", {"salt"}, "rows")],
)
def test_more_items_than_there_are_end_in_a_sentence(name, drawing, drawn, unit, monkeypatch):
    script = importlib.import_module(f"scripts.samples.make_{name}_sample")
    monkeypatch.setattr(script, drawing, lambda *_: drawn)
    with pytest.raises(ValueError, match=f"1 different {unit}"):
        script.make(1, {**sizes_of(name), "train": 3})
