from pathlib import Path

import pytest
from allennlp.common.checks import ConfigurationError

from seal.common.file_parts import of_part, split_off_part


def test_a_path_and_its_part():
    assert split_off_part("data/a.txt") == split_off_part(Path("data/a.txt")) == ("data/a.txt", None)
    assert split_off_part("data/a#1.txt#train") == ("data/a#1.txt", "train")
    assert split_off_part("data/a.txt#valid") == ("data/a.txt", "valid")
    with pytest.raises(ConfigurationError, match="one of train, valid, not 'test'"):
        split_off_part("data/a.txt#test")


def test_the_parts_are_apart_and_make_the_whole():
    assert list(of_part("abcdefg", "valid", 3)) == ["a", "d", "g"]
    assert list(of_part("abcdefg", "train", 3)) == ["b", "c", "e", "f"]
    assert list(of_part("abcdefg", None, 3)) == list("abcdefg")
