"""The embedded tagging sample: its script, and the committed files themselves."""

import importlib.util
import math
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from seal.dataset_readers.tagging import TaggingReader

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "samples" / "make_tagging_sample.py"
DATA = ROOT / "data" / "tagging_sample"
SPLITS = ("train", "dev", "test")
SMALL = ["--train", "60", "--dev", "10", "--test", "15"]
ENTITIES = {"SEL", "ITM", "LOC", "DAY", "PRC"}


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_tagging_sample", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(folder, split):
    """Notes as lists of `(word, tag)`, through the reader, which checks the encoding."""
    reader = TaggingReader(encoding="BIO", feature_columns={"kind": 1})
    instances = reader.read(str(folder / f"{split}.tsv"))
    return [list(zip(i["metadata"]["words"], i["metadata"]["tags"])) for i in instances]


@pytest.fixture(scope="module")
def sample():
    return {split: read(DATA, split) for split in SPLITS}


def test_a_small_version_is_deterministic(script, tmp_path):
    for name, seed in (("one", "7"), ("other", "8")):
        script.main(["--out", str(tmp_path / name), "--seed", seed, *SMALL])
    # Another process with another hash seed: the order of a set must not show.
    for hash_seed in ("1", "2"):
        command = [sys.executable, str(SCRIPT), "--out", str(tmp_path / hash_seed), "--seed", "7", *SMALL]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    for split in SPLITS:
        file = f"{split}.tsv"
        one = (tmp_path / "one" / file).read_bytes()
        assert one == (tmp_path / "1" / file).read_bytes() == (tmp_path / "2" / file).read_bytes()
        assert one != (tmp_path / "other" / file).read_bytes()
    assert len(read(tmp_path / "one", "test")) == 15


def test_the_committed_files_are_what_the_script_writes(script, tmp_path, capsys):
    script.main(["--out", str(tmp_path)])
    for split in SPLITS:
        file = f"{split}.tsv"
        same = (tmp_path / file).read_bytes() == (DATA / file).read_bytes()
        assert same, f"{file} is not what the script writes; run it again."
    rows = [line.replace(" %", "%").split() for line in capsys.readouterr().out.splitlines()[1:]]
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    for row in rows:
        assert "| " + " | ".join(cell.replace("%", " %") for cell in row) + " |" in readme


def test_a_size_below_one_is_refused(script, tmp_path, capsys):
    with pytest.raises(SystemExit):
        script.main(["--out", str(tmp_path), "--dev", "0"])
    assert "--dev must be at least 1." in capsys.readouterr().err


@pytest.mark.parametrize("below", ["", "further/down"])
def test_a_file_in_the_place_of_the_folder(script, tmp_path, capsys, below):
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(SystemExit):
        script.main(["--out", str(file / below), *SMALL])
    assert f"--out must be a folder, and {file} is a file." in capsys.readouterr().err
    assert file.read_text(encoding="utf-8") == "mine"


def test_more_notes_than_there_are_end_in_a_sentence(script, monkeypatch):
    monkeypatch.setattr(script, "draw_note", lambda rng: [("a", "LOW", "O")])
    with pytest.raises(ValueError, match="Only 1 different notes were found for train, not 3"):
        script.make(1, {"train": 3, "dev": 1, "test": 1})


def test_size(sample):
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 300_000
    assert {split: len(notes) for split, notes in sample.items()} == {"train": 600, "dev": 200, "test": 200}


def test_layout(sample):
    tags = {"O"} | {f"{prefix}-{entity}" for prefix in "BI" for entity in ENTITIES}
    for split in SPLITS:
        assert {tag for note in sample[split] for _, tag in note} == tags
        for line in (DATA / f"{split}.tsv").read_text(encoding="utf-8").splitlines():
            assert not line or re.fullmatch(r"[^\t ]+\t(NUM|CAP|LOW|PUN)\t[A-Z-]+", line)


def test_no_note_in_two_places(sample):
    texts = [" ".join(word for word, _ in note) for split in SPLITS for note in sample[split]]
    assert len(texts) == len(set(texts))


def test_entities_keep_a_clerk_s_order(script, sample):
    orders = [order.split() for order in script.CLERKS]
    used = Counter()
    for split in SPLITS:
        for note in sample[split]:
            entities = [tag[2:] for _, tag in note if tag[0] == "B"]
            assert 2 <= len(entities) == len(set(entities))
            fitting = [n for n, order in enumerate(orders) if [e for e in order if e in entities] == entities]
            assert fitting
            used.update(fitting)
    assert all(used[n] > 150 for n in range(len(orders)))


def test_words_shared_between_entities(sample):
    entities = defaultdict(set)
    for word, tag in (row for note in sample["train"] for row in note):
        entities[word].add(tag[2:])
    assert entities["Rose"] == {"SEL", "ITM", "LOC"} and entities["June"] == {"SEL", "DAY"}
    assert entities["Hill"] == {"SEL", "LOC"} and entities["20"] >= {"ITM", "DAY", "PRC"}


def test_the_order_of_tags_says_what_words_do_not(sample):
    # A hidden Markov model with counts from train, and the same without its transitions.
    emitted, followed = defaultdict(Counter), defaultdict(Counter)
    for note in sample["train"]:
        for word, tag in note:
            emitted[tag][word] += 1
        tags = [tag for _, tag in note]
        for before, after in zip(["start", *tags], [*tags, "end"]):
            followed[before][after] += 1
    tags = sorted(emitted)

    def log_share(counter, key):
        return math.log((counter[key] + 0.1) / (sum(counter.values()) + 0.1 * len(tags)))

    def best_path(words):
        paths = {tag: (log_share(followed["start"], tag) + log_share(emitted[tag], words[0]), [tag]) for tag in tags}
        for word in words[1:]:
            paths = {
                tag: max((score + log_share(followed[path[-1]], tag) + log_share(emitted[tag], word), [*path, tag])
                         for score, path in paths.values())
                for tag in tags
            }  # fmt: skip
        return max((score + log_share(followed[path[-1]], "end"), path) for score, path in paths.values())[1]

    right, alone, total = 0, 0, 0
    for note in sample["test"]:
        words, gold = zip(*note)
        right += sum(one == other for one, other in zip(best_path(words), gold))
        for word, tag in note:
            alone += max(tags, key=lambda candidate: emitted[candidate][word]) == tag
        total += len(note)
    assert 0.55 < alone / total < 0.70 and 0.82 < right / total < 0.92
