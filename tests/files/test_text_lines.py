import gzip
import tracemalloc

import pytest
from allennlp.common.checks import ConfigurationError

from seal.files.text_lines import column_lines, text_lines

TEXT = "first\n\nthird\u2028still third\r\nlast, without an end"
PACKED = gzip.compress(b"line\n" * 10_000, mtime=0)
LINES = [(1, "first\n"), (2, "\n"), (3, "third\u2028still third\r\n"), (4, "last, without an end")]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name, write", [("a.txt", open), ("a.txt.gz", gzip.open)])
def test_lines_with_their_numbers(tmp_path, name, write, mark):
    """Only a line feed ends a line, and a byte order mark is no part of the first."""
    path = str(tmp_path / name)
    with write(path, "wb") as file:
        file.write(mark + TEXT.encode())
    assert list(text_lines(path)) == LINES


@pytest.mark.parametrize(
    "name, content, where, good",
    [
        ("", None, ": ", 0),
        ("a.txt", None, ": ", 0),
        ("a.txt", b"good\nbad \xe9\nnever read\n", ":2: byte 0xe9", 1),
        ("a.gz", PACKED[: len(PACKED) // 2], ":", None),
        ("a.gz", b"no archive", ":1: ", 0),
        ("columns", b"Rose O\r\nsells O\rginger O\r", ":2: ", 1),
    ],
)
def test_mistakes_name_the_line(tmp_path, name, content, where, good):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    read = []
    with pytest.raises(ConfigurationError) as error:
        read.extend(column_lines(str(path)) if name == "columns" else text_lines(str(path)))
    assert str(error.value).startswith(f"{path}{where}") and (good is None or len(read) == good)


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


def test_a_file_of_blank_lines_is_read_line_by_line(tmp_path):
    path = tmp_path / "blank.txt"
    path.write_bytes(b"\n" * 200_000 + b"x\n")
    tracemalloc.start()
    (*_, last) = (line for line in text_lines(str(path), "a text a line") if line[1] != "\n")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Kept in memory they take 20 MB; looked at again for each line, minutes.
    assert last == (200_001, "x\n") and peak < 2_000_000
