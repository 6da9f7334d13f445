"""The embedded text sample: its script, and the committed files themselves."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from seal.dataset_readers.label_scheme import read_taxonomy_file
from seal.dataset_readers.text_multilabel import TextMultilabelReader

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "samples" / "make_text_sample.py"
DATA = ROOT / "data" / "text_sample"
SPLITS = ("train", "valid", "test")
FILES = [f"{split}.jsonl" for split in SPLITS] + ["taxonomy.tsv"]
SMALL = ["--train", "30", "--valid", "10", "--test", "15"]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_text_sample", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(folder, split, **options):
    """`(text, labels)` of each note, through the reader."""
    reader = TextMultilabelReader(taxonomy=str(folder / "taxonomy.tsv"), **options)
    instances = reader.read(str(folder / f"{split}.jsonl"))
    return [(" ".join(map(str, i["tokens"].tokens)), set(i["labels"].labels)) for i in instances]


def test_a_small_version_is_deterministic(script, tmp_path):
    for name, seed in (("one", "7"), ("other", "8")):
        script.main(["--out", str(tmp_path / name), "--seed", seed, *SMALL])
    # Another process with another hash seed: the order of a set must not show.
    for hash_seed in ("1", "2"):
        command = [sys.executable, str(SCRIPT), "--out", str(tmp_path / hash_seed), "--seed", "7", *SMALL]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    for file in FILES:
        one = (tmp_path / "one" / file).read_bytes()
        assert one == (tmp_path / "1" / file).read_bytes() == (tmp_path / "2" / file).read_bytes()
        assert (one == (tmp_path / "other" / file).read_bytes()) == (file == "taxonomy.tsv")
    assert len(read(tmp_path / "one", "test")) == 15


def test_the_committed_files_and_the_table_are_what_the_script_writes(script, tmp_path, capsys):
    script.main(["--out", str(tmp_path)])
    for file in FILES:
        assert (tmp_path / file).read_bytes() == (DATA / file).read_bytes(), file
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    for line in capsys.readouterr().out.splitlines()[1:]:
        assert "| " + " | ".join(line.split()) + " |" in readme


def test_notes_are_different_and_labels_are_the_lowest():
    taxonomy = read_taxonomy_file(str(DATA / "taxonomy.tsv"))
    parents = {taxonomy.labels[parent] for parent, _ in taxonomy.edges}
    texts = []
    for split in SPLITS:
        notes = read(DATA, split)
        texts += [text for text, _ in notes]
        assert all(labels and not labels & parents for _, labels in notes)
        assert all("{" not in text for text, _ in notes)
        assert not any({"thanks", "complaint"} <= labels for _, labels in notes)
        for (_, lowest), (_, closed) in zip(notes, read(DATA, split, ancestors=True)):
            assert closed == lowest | {above for label in lowest for above in taxonomy.ancestors(label)}
    assert len(set(texts)) == len(texts)
    assert any(len(taxonomy.ancestors(label)) == 2 for label in taxonomy.labels)


def test_labels_tell_of_each_other():
    """Knowing the others tells more of a label than its share alone."""
    train = [labels for _, labels in read(DATA, "train")]
    names = sorted(set().union(*train))
    assert len(names) == 18
    gold = numpy.array([[name in labels for name in names] for labels in train])
    correlation = numpy.corrcoef(gold.T)
    numpy.fill_diagonal(correlation, 0)
    assert (abs(correlation).max(axis=1) > 0.25).all()
