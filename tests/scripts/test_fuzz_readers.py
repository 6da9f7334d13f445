"""The harness that reads mutated files: `scripts/upkeep/fuzz_readers.py`."""

import random
import time

import pytest
from allennlp.data import DatasetReader

from scripts.upkeep import fuzz_readers
from scripts.upkeep.fuzz_readers import DATA, READERS, fuzz, mutated, read_apart


@DatasetReader.register("unsafe")
class Unsafe(DatasetReader):
    """Fails, or never ends, as its file says."""

    def _read(self, file_path):
        with open(file_path) as file:
            what = file.read()
        if what == "slow":
            time.sleep(60)
        while what == "busy":
            pass
        if what == "large":
            bytearray(2 * 10**8)
        if what == "bad":
            raise KeyError("lost")
        yield from ()


@pytest.mark.parametrize(
    "what, kind", [("slow", "stopped"), ("busy", "stopped"), ("bad", "traceback"), ("fine", "read"), ("large", "read")]
)
def test_how_the_reading_of_a_file_ends(tmp_path, what, kind):
    path = tmp_path / "file"
    path.write_text(what)
    ending = read_apart({"type": "unsafe"}, str(path), 0.2 if kind == "stopped" else 20.0)
    assert ending.kind == kind
    if what == "bad":
        assert ending.what.startswith("KeyError: 'lost' (test_fuzz_readers.py:")
    if what == "large":
        assert ending.megabytes > 100


def test_a_seed_makes_the_same_files():
    content = b"some words and\nmore of them\n" * 10
    first, again = ([mutated(content, random.Random(seed)) for seed in range(20)] for _ in range(2))
    assert first == again and len(set(first)) == 20 and content not in first
    assert len(mutated(content, random.Random(1), size=100000)) > 90000


def test_half_of_the_large_files_have_no_other_change():
    content = b"some words and\nmore of them\n" * 10
    made = [mutated(content, random.Random(seed), size=10000) for seed in range(40)]
    assert 10 < sum(len(large) == len(content) + 10000 for large in made) < 30


@pytest.mark.parametrize("name", sorted(READERS))
def test_what_is_not_mutated_is_read(tmp_path, monkeypatch, name):
    monkeypatch.setattr(fuzz_readers, "mutated", lambda content, *_: content)
    assert [ending for _, ending in fuzz(name, 3, random.Random(7), tmp_path, 20.0) if ending.kind != "read"] == []


@pytest.mark.parametrize("name", sorted(READERS))
def test_readers_tell_of_mutated_files_in_a_sentence(tmp_path, name):
    source, _, _ = READERS[name]
    assert isinstance(source, bytes) or (DATA / source).exists()
    endings = fuzz(name, 4, random.Random(7), tmp_path, seconds=20.0)
    assert [ending for _, ending in endings if ending.kind not in ("read", "told")] == []
