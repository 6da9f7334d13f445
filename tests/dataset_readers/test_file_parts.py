from pathlib import Path

import pytest
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.file_parts import check_valid_every, of_part, split_off_part


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


def test_both_parts_have_items():
    check_valid_every(2)
    with pytest.raises(ConfigurationError, match="dataset_reader.valid_every must be at least 2, found 1"):
        check_valid_every(1)


def test_two_in_five():
    assert list(of_part("abcdefghij", "valid", 2.5)) == ["a", "d", "f", "i"]
    assert list(of_part("abcdefghij", "train", 2.5)) == ["b", "c", "e", "g", "h", "j"]
    # RCV1's training documents; SEAL's table has as many for validation.
    assert sum(1 for _ in of_part(range(23149), "valid", 2.5)) == 9260
