import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy
import pytest

from seal.files import array_cache
from seal.files.array_cache import (
    Arrays,
    MappedArrays,
    is_mapped,
    kept_or_read,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SEAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(array_cache, "LEAST_BYTES", 0)
    array_cache._warn.cache_clear()
    return tmp_path / "cache"


class Numbers:
    """Reads the numbers of files, and counts how often it does."""

    def __init__(self, *files):
        self.files, self.times = list(map(str, files)), 0

    def read(self, arrays):
        self.times += 1
        for file in self.files:
            for number in Path(file).read_text().split():
                arrays.append("numbers", numpy.array([float(number)]))
        return self.again(arrays)

    def again(self, arrays):
        return arrays.array("numbers")

    def kept(self, settings=None, others=()):
        return kept_or_read([self.files, list(map(str, others))], settings, self.read, self.again)


def numbers(folder, text="1 2.5 3", name="a.txt"):
    path = folder / name
    path.write_text(text)
    return Numbers(path)


KINDS = {"memory": lambda folder: Arrays(), "files": lambda folder: MappedArrays(str(folder))}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_added_changed_and_removed(kind, tmp_path):
    arrays = KINDS[kind](tmp_path)
    parts = [numpy.arange(6, dtype=numpy.float32).reshape(2, 3), numpy.full((1, 3), 7, numpy.float32)]
    for part in parts:
        arrays.append("a", part)
    assert "a" in arrays and "b" not in arrays
    found = arrays.array("a")
    assert found.dtype == numpy.float32 and found.tolist() == [[0, 1, 2], [3, 4, 5], [7, 7, 7]]
    assert is_mapped(found) == is_mapped(found[1:]) == (kind == "files")
    arrays.write("a", 1, numpy.array([[8, 8, 8]], numpy.float32))
    arrays.append("a", parts[1])
    assert arrays.array("a").tolist() == [[0, 1, 2], [8, 8, 8], [7, 7, 7], [7, 7, 7]]
    arrays.append("none", numpy.empty(0, bool))
    assert arrays.array("none").tolist() == [] and arrays.array("none").dtype == bool
    arrays.remove("a")
    assert "a" not in arrays and os.listdir(tmp_path) == (["none.npy"] if kind == "files" else [])


def test_what_was_read_is_mapped_at_the_next_start(cache, tmp_path):
    one = numbers(tmp_path)
    first, second = one.kept(), one.kept()
    assert one.times == 1 and is_mapped(second)
    assert first.tolist() == second.tolist() == [1, 2.5, 3]
    # NumPy alone reads them.
    (entry,) = cache.iterdir()
    assert numpy.load(entry / "numbers.npy").tolist() == [1, 2.5, 3]
    assert str(tmp_path / "a.txt") in (entry / "entry.json").read_text()
    # Nothing that is done to an array reaches the file.
    second[:] = 0
    assert one.kept().tolist() == [1, 2.5, 3]


def test_content_and_settings_decide_and_not_the_path(cache, tmp_path):
    one, same = numbers(tmp_path), numbers(tmp_path, name="b.txt")
    one.kept({"a": 1})
    assert same.kept({"a": 1}).tolist() == [1, 2.5, 3] and same.times == 0
    assert same.kept({"a": 2}) is not None and same.times == 1
    assert same.kept({"a": 1}, others=[tmp_path / "a.txt"]) is not None and same.times == 2
    twice = Numbers(tmp_path / "a.txt", tmp_path / "b.txt")
    assert twice.kept({"a": 1}).tolist() == [1, 2.5, 3] * 2 and twice.times == 1
    # Of the same size, with the same time of change.
    state = os.stat(tmp_path / "a.txt")
    (tmp_path / "a.txt").write_text("1 2.5 4")
    os.utime(tmp_path / "a.txt", ns=(state.st_atime_ns, state.st_mtime_ns))
    assert one.kept({"a": 1}).tolist() == [1, 2.5, 4] and one.times == 2


def damages(entry):
    """Ways to spoil an entry."""
    array, told = entry / "numbers.npy", entry / "entry.json"
    content = array.read_bytes()
    yield lambda: array.write_bytes(content[:-1])
    yield lambda: array.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
    yield lambda: array.write_bytes(bytes(len(content)))
    yield lambda: array.write_bytes(b"")
    yield array.unlink
    yield told.unlink
    for text in ("", "{", "[]", '{"sums": 3}', '{"sums": {"../a": 1}}', "\0" * 80):
        yield lambda text=text: told.write_text(text)


def test_a_damaged_entry_is_made_anew(cache, tmp_path, caplog):
    one = numbers(tmp_path)
    one.kept()
    (entry,) = cache.iterdir()
    for times, damage in enumerate(damages(entry), start=1):
        damage()
        assert one.kept().tolist() == [1, 2.5, 3] and one.times == 1 + times
        assert one.kept().tolist() == [1, 2.5, 3] and one.times == 1 + times
    assert times == 12 and not caplog.records and [item.name for item in cache.iterdir()] == [entry.name]


def test_small_files_and_off(cache, tmp_path, monkeypatch):
    one = numbers(tmp_path)
    monkeypatch.setenv("SEAL_CACHE", "off")
    assert not is_mapped(one.kept())
    monkeypatch.setenv("SEAL_CACHE", str(cache))
    monkeypatch.setattr(array_cache, "LEAST_BYTES", 8)
    # Of seven bytes; the others do not count.
    assert not is_mapped(one.kept(others=[ROOT / "README.md"])) and not cache.exists()
    (tmp_path / "a.txt").write_text("1 2.5 33")
    assert is_mapped(one.kept()) and cache.exists()


def test_a_folder_that_cannot_be_written_is_told_once(cache, tmp_path, caplog):
    cache.write_text("a file in the place of the folder")
    one, other = numbers(tmp_path), numbers(tmp_path, "7", "b.txt")
    for _ in range(2):
        assert one.kept().tolist() == [1, 2.5, 3] and other.kept().tolist() == [7]
    (told,) = caplog.messages
    assert str(cache) in told
    assert one.times == other.times == 2


def test_a_full_disk(cache, tmp_path, monkeypatch, caplog):
    one = numbers(tmp_path)
    append = MappedArrays.append

    def full(self, name, values):
        if self._rows.get(name) == 2:
            raise OSError(28, "No space left on device")
        append(self, name, values)

    monkeypatch.setattr(MappedArrays, "append", full)
    assert one.kept().tolist() == [1, 2.5, 3]
    (told,) = caplog.messages
    assert list(cache.iterdir()) == [] and str(cache) in told


def test_a_disk_that_is_full_when_the_files_are_closed(cache, tmp_path, caplog):
    one = numbers(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        assert one.kept().tolist() == [1, 2.5, 3]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(caplog.messages) == 1 and list(cache.iterdir()) == []


def test_without_a_home_folder_nothing_is_kept(cache, tmp_path, monkeypatch, caplog):
    for name in ("SEAL_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert numbers(tmp_path).kept().tolist() == [1, 2.5, 3]
    assert os.listdir() == []


def test_a_file_that_changes_while_it_is_read_is_not_kept(cache, tmp_path):
    one = numbers(tmp_path)
    read = one.read

    def slowly(arrays):
        found = read(arrays)
        (tmp_path / "a.txt").write_text("9 9")
        return found

    one.read = slowly
    assert one.kept().tolist() == [1, 2.5, 3] and list(cache.iterdir()) == []


READER = """
import sys
sys.path.insert(0, {root!r})
from seal.files import array_cache
from tests.files.test_array_cache import Numbers
array_cache.LEAST_BYTES = 0
one = Numbers({path!r})
read = one.read
def slowly(arrays):
    print("reading", flush=True)
    found = read(arrays)
    sys.stdin.readline()
    return found
one.read = slowly
print(one.kept().tolist(), flush=True)
"""


def start(path):
    """A process that tells when it has begun to read, and goes on when it is sent a line."""
    code = READER.format(root=str(ROOT), path=str(path))
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_processes_that_read_at_once_and_one_that_is_killed(cache, tmp_path):
    one = numbers(tmp_path)
    killed, *others = [start(tmp_path / "a.txt") for _ in range(3)]
    assert all(process.stdout.readline() == "reading\n" for process in (killed, *others))
    killed.kill()
    killed.communicate()
    assert [process.communicate("\n")[0] for process in others] == ["[1.0, 2.5, 3.0]\n"] * 2
    assert [process.returncode for process in others] == [0, 0]
    drafts = [item for item in cache.iterdir() if item.name.startswith("draft-")]
    assert one.kept().tolist() == [1, 2.5, 3] and one.times == 0
    assert len(drafts) == 1 and len(list(cache.iterdir())) == 2


def test_what_was_not_used_for_long_is_removed(cache, tmp_path):
    old, used, new = (numbers(tmp_path, text, f"{text}.txt") for text in "123")
    old.kept(), used.kept()
    (cache / "draft-of-the-user").mkdir()
    names = {item.name for item in cache.iterdir()}
    left = cache / f"draft-{'0' * 40}-abc"
    left.mkdir()
    (left / "numbers.npy").write_bytes(b"1")
    past = time.time() - 31 * 86400
    for item in cache.iterdir():
        for path in (item, *item.iterdir()):
            os.utime(path, (past, past))
    used.kept()
    new.kept()
    found = {item.name for item in cache.iterdir()}
    assert used.times == 1 and left.name not in found and "draft-of-the-user" in found
    assert len(names & found) == 2 and len(found) == 3
    old.kept()
    assert old.times == 2
