"""The lines that `predict` reads; tests/test_what_files_look_like.py has the forms of files."""

import gzip
import io
import sys

import pytest

from seal.files.input_lines import input_lines
from seal.files.shards import Shard
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
            with pytest.raises(ConfigurationError, match="input.jsonl.gz: it unpacks to more than 1 MiB; if it is"):
                for _ in input_lines(str(path), shard):
                    pass


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    (tmp_path / "lines.txt").write_text("one\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert list(input_lines("~/lines.txt")) == ["one\n"]
