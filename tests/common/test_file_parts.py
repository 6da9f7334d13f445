from pathlib import Path

import pytest
from allennlp.common.checks import ConfigurationError

from seal.common.file_parts import expanded, not_empty, of_part, split_off_part


def test_a_path_and_its_part():
    assert split_off_part("data/a.txt") == split_off_part(Path("data/a.txt")) == ("data/a.txt", None)
    assert split_off_part("data/a#1.txt#train") == ("data/a#1.txt", "train")
    assert split_off_part("data/a.txt#valid") == ("data/a.txt", "valid")
    with pytest.raises(ConfigurationError, match="one of train, valid, not 'test'"):
        split_off_part("data/a.txt#test")
    for wrong in (7, ["a", 3], {"a": "b"}):
        with pytest.raises(ConfigurationError, match="the path of data must be one string here, found .*[73b]"):
            split_off_part(wrong)


def test_a_pattern_and_its_files(tmp_path):
    for name in ("b.txt", "a.txt", "c.tsv"):
        (tmp_path / name).touch()
    assert expanded(str(tmp_path / "*.txt")) == [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    assert expanded("there/is/none.txt") == ["there/is/none.txt"]
    with pytest.raises(ConfigurationError, match=r"\*.json: no file matches the pattern\."):
        expanded(str(tmp_path / "*.json"))


def test_the_parts_are_apart_and_make_the_whole():
    assert list(of_part("abcdefg", "valid", 3)) == ["a", "d", "g"]
    assert list(of_part("abcdefg", "train", 3)) == ["b", "c", "e", "f"]
    assert list(of_part("abcdefg", None, 3)) == list("abcdefg")


def test_items_of_which_there_must_be_one():
    assert list(not_empty("ab", "none")) == ["a", "b"] and list(not_empty([None], "none")) == [None]
    with pytest.raises(ConfigurationError, match="^none$"):
        list(not_empty(iter(()), "none"))
