from pathlib import Path

import pytest
from allennlp.common.checks import ConfigurationError

from seal.files.paths import expanded, one_path
from tests.one_sentence import message_of


def test_one_path():
    assert one_path("a/b") == one_path(Path("a/b")) == "a/b"
    for wrong in (7, ["a", 3], {"a": "b"}):
        assert str(wrong) in message_of(one_path, wrong)


def test_a_pattern_and_its_files(tmp_path):
    for name in ("b.txt", "a.txt", "c.tsv"):
        (tmp_path / name).touch()
    assert expanded(str(tmp_path / "*.txt")) == [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    assert expanded("there/is/none.txt") == ["there/is/none.txt"]
    with pytest.raises(ConfigurationError, match=r"\*.json"):
        expanded(str(tmp_path / "*.json"))
