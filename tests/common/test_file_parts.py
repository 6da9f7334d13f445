from pathlib import Path

import pytest
from allennlp.common.checks import ConfigurationError

from seal.common.file_parts import not_empty, of_part, split_off_part


def test_a_path_and_its_part():
    assert split_off_part("data/a.txt") == split_off_part(Path("data/a.txt")) == ("data/a.txt", None)
    assert split_off_part("data/a#1.txt#train") == ("data/a#1.txt", "train")
    assert split_off_part("data/a.txt#valid") == ("data/a.txt", "valid")
    with pytest.raises(ConfigurationError, match="one of train, valid, not 'test'"):
        split_off_part("data/a.txt#test")
    for wrong in (7, ["a", 3], {"a": "b"}):
        with pytest.raises(ConfigurationError, match="the path of data must be one string here, found .*[73b]"):
            split_off_part(wrong)


def test_the_parts_are_apart_and_make_the_whole():
    assert list(of_part("abcdefg", "valid", 3)) == ["a", "d", "g"]
    assert list(of_part("abcdefg", "train", 3)) == ["b", "c", "e", "f"]
    assert list(of_part("abcdefg", None, 3)) == list("abcdefg")


def test_items_of_which_there_must_be_one():
    assert list(not_empty("ab", "none")) == ["a", "b"] and list(not_empty([None], "none")) == [None]
    with pytest.raises(ConfigurationError, match="^none$"):
        list(not_empty(iter(()), "none"))
