import os

import pytest

from seal.files.atomic_files import atomic_write


def test_a_file_is_what_it_was_until_the_block_has_ended(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("before")
    with atomic_write(str(path)) as draft:
        with open(draft, "w") as file:
            file.write("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after" and os.listdir(tmp_path) == ["file.txt"]
    with pytest.raises(OSError, match="no space"):
        with atomic_write(str(path)) as draft, open(draft, "w") as file:
            file.write("half")
            raise OSError("no space")
    assert path.read_text() == "after" and os.listdir(tmp_path) == ["file.txt"]
    with atomic_write(str(path)) as draft, open(draft, "w") as file:
        file.write("again")
    assert path.read_text() == "again"


def test_an_error_names_the_file_and_not_its_draft(tmp_path):
    path = str(tmp_path / "missing" / "file.txt")
    with pytest.raises(FileNotFoundError) as error:
        with atomic_write(path) as draft, open(draft, "w"):
            pass
    assert error.value.filename == path


def test_the_other_name_of_a_hard_link_keeps_its_content(tmp_path):
    path, other = tmp_path / "best.th", tmp_path / "checkpoint.th"
    other.write_text("checkpoint")
    os.link(other, path)
    with atomic_write(str(path)) as draft, open(draft, "w") as file:
        file.write("best")
    assert (path.read_text(), other.read_text()) == ("best", "checkpoint")
