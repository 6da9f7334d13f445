"""The lines that `predict` reads; tests/test_what_files_look_like.py has the forms of files."""

import gzip
import io
import sys

import pytest

from seal.files.input_lines import Shard, input_lines, shard_of
from seal.registry import ConfigurationError

BAD_INPUT = b'{"sentence": "first"}\n\xff\xfe bad \xe9\n{"sentence": "caf\xc3\xa9"}\n'


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_undecodable_bytes_are_those_of_their_line(tmp_path, monkeypatch, source):
    path = "-" if source == "stdin" else str(tmp_path / "input.jsonl")
    (tmp_path / "input.jsonl").write_bytes(BAD_INPUT)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD_INPUT), encoding="utf-8"))
    found = list(input_lines(path))
    assert [line.encode("utf-8", "surrogateescape") for line in found] == BAD_INPUT.splitlines(True)
    assert "\udcff" in found[1] and found[2] == '{"sentence": "café"}\n'


def test_a_file_of_lines_that_unpacks_to_too_much(tmp_path, monkeypatch):
    monkeypatch.setenv("SEAL_MAX_UNPACKED", "1")
    path = tmp_path / "input.jsonl.gz"
    for content in ((b"a" * 1023 + b"\n") * 2**11, b"a" * 2**24):
        path.write_bytes(gzip.compress(content))
        for shard in (None, Shard(1, 2)):
            with pytest.raises(ConfigurationError, match="SEAL_MAX_UNPACKED"):
                for _ in input_lines(str(path), shard):
                    pass


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    (tmp_path / "lines.txt").write_text("one\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert list(input_lines("~/lines.txt")) == ["one\n"]


@pytest.mark.parametrize("total", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_shards_have_every_line_once_and_in_order(total, count):
    shards = [Shard(number, count).lines(total) for number in range(1, count + 1)]
    assert [place for places in shards for place in places] == list(range(total))
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_a_shard_is_written_as_its_number_and_that_of_all():
    assert shard_of("2/8") == Shard(2, 8)
    for wrong in ("", "2", "0/8", "9/8", "1/0", "-1/8", "1/8/2", "a/b", "1.0/2", "²/8", "1/²", "1/" + "9" * 5000):
        with pytest.raises(ValueError, match="1/8"):
            shard_of(wrong)
