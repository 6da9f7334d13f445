import pytest
from allennlp.common.checks import ConfigurationError

from seal.common.file_parts import split_off_part


def test_a_path_and_its_part():
    assert split_off_part("data/a.txt") == ("data/a.txt", None)
    assert split_off_part("data/a#1.txt#train") == ("data/a#1.txt", "train")
    assert split_off_part("data/a.txt#valid") == ("data/a.txt", "valid")
    with pytest.raises(ConfigurationError, match="one of train, valid, not 'test'"):
        split_off_part("data/a.txt#test")
