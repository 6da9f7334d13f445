import gzip
import tracemalloc

import pytest
from allennlp.common.checks import ConfigurationError

from seal.files.text_lines import column_lines, text_lines

TEXT = "first\n\nthird\u2028still third\r\nlast, without an end"
LINES = [(1, "first\n"), (2, "\n"), (3, "third\u2028still third\r\n"), (4, "last, without an end")]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name, write", [("a.txt", open), ("a.txt.gz", gzip.open)])
def test_lines_with_their_numbers(tmp_path, name, write, mark):
    """Only a line feed ends a line, and a byte order mark is no part of the first."""
    path = str(tmp_path / name)
    with write(path, "wb") as file:
        file.write(mark + TEXT.encode())
    assert list(text_lines(path)) == LINES


def test_mistakes_name_the_line(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.raises(ConfigurationError, match=str(tmp_path)):
        list(text_lines(str(tmp_path)))
    with pytest.raises(ConfigurationError, match="a.txt: "):
        next(text_lines(str(path)))
    path.write_bytes(b"good\nbad \xe9\nnever read\n")
    read = text_lines(str(path))
    assert next(read) == (1, "good\n")
    with pytest.raises(ConfigurationError, match="a.txt:2: byte 0xe9"):
        next(read)


def test_a_broken_archive(tmp_path):
    path = tmp_path / "a.gz"
    whole = gzip.compress(b"line\n" * 10_000)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ConfigurationError, match=r"a.gz:\d+: "):
        list(text_lines(str(path)))
    path.write_bytes(b"no archive")
    with pytest.raises(ConfigurationError, match=r"a.gz:1: "):
        list(text_lines(str(path)))


def test_a_file_that_unpacks_to_too_much(tmp_path, monkeypatch):
    """Also in a single line, of which no more is read."""
    monkeypatch.setenv("SEAL_MAX_UNPACKED", "1")
    path = tmp_path / "a.gz"
    for text in (b"line\n" * 2**18, b"a" * 2**24):
        path.write_bytes(gzip.compress(text))
        with pytest.raises(ConfigurationError, match="SEAL_MAX_UNPACKED"):
            list(text_lines(str(path)))
    monkeypatch.setenv("SEAL_MAX_UNPACKED", "17")
    assert len(next(text_lines(str(path)))[1]) == 2**24
    # What is not compressed is as large as it looks.
    monkeypatch.setenv("SEAL_MAX_UNPACKED", "1")
    (tmp_path / "a.txt").write_bytes(b"a" * 2**21)
    assert len(next(text_lines(str(tmp_path / "a.txt")))[1]) == 2**21
    for wrong in ("much", "٣", "²", "9" * 5000):
        monkeypatch.setenv("SEAL_MAX_UNPACKED", wrong)
        with pytest.raises(ConfigurationError, match="SEAL_MAX_UNPACKED"):
            list(text_lines(str(path)))


def test_line_ends_of_old_macs(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"Rose O\r\nsells O\r\n")
    assert list(column_lines(str(path))) == [(1, "Rose O\r\n"), (2, "sells O\r\n")]
    path.write_bytes(b"Rose O\nsells O\rginger O\r")
    with pytest.raises(ConfigurationError, match="a.txt:2: "):
        list(column_lines(str(path)))


def test_a_file_of_blank_lines_is_read_line_by_line(tmp_path):
    path = tmp_path / "blank.txt"
    path.write_bytes(b"\n" * 200_000 + b"x\n")
    tracemalloc.start()
    (*_, last) = (line for line in text_lines(str(path), "a text a line") if line[1] != "\n")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Kept in memory they take 20 MB; looked at again for each line, minutes.
    assert last == (200_001, "x\n") and peak < 2_000_000
