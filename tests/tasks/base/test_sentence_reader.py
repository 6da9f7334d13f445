from pathlib import Path
from typing import NamedTuple

import pytest
from allennlp.common.checks import ConfigurationError

from seal.tasks.base.sentence_reader import SentenceReader, of_part, split_off_part
from seal.tasks.srl.reader import SrlReader
from seal.tasks.tagging.reader import TaggingReader
from seal.tasks.text.reader import TextMultilabelReader


class Sentence(NamedTuple):
    words: tuple[str, ...]


def of_lengths(*lengths):
    return [Sentence(("w",) * length) for length in lengths]


def test_long_sentences_are_left_out_and_counted(caplog):
    reader = SentenceReader(max_words=2)
    assert list(reader._short_enough("a.txt", iter(of_lengths(1, 3, 2, 9)))) == of_lengths(1, 2)
    assert "a.txt: skipped 2" in caplog.text


def test_one_sentence_must_be_left():
    with pytest.raises(ConfigurationError, match="a.txt: .*max_words"):
        list(SentenceReader(max_words=2)._short_enough("a.txt", of_lengths(3, 4)))


def words(instances):
    return [[token.text for token in instance["tokens"]] for instance in instances]


def test_inputs_without_gold(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the cook left\n\n  it rains\n", encoding="utf-8")
    for reader in (TaggingReader(), TextMultilabelReader(), SrlReader()):
        found = list(reader.read_inputs(str(text), plain_text=True))
        assert words(found) == [["the", "cook", "left"], ["it", "rains"]]
        assert [instance["metadata"]["source"] for instance in found] == [f"{text}:1", f"{text}:3"]
        assert all(not {"tags", "labels"} & instance.fields.keys() for instance in found)
        assert all(instance["tokens"].token_indexers for instance in found)
    with pytest.raises(ConfigurationError, match="text.txt:1:"):
        list(SentenceReader().read_inputs(str(text), plain_text=True))


def test_a_path_and_its_part():
    assert split_off_part("data/a.txt") == split_off_part(Path("data/a.txt")) == ("data/a.txt", None)
    assert split_off_part("data/a#1.txt#train") == ("data/a#1.txt", "train")
    assert split_off_part("data/a.txt#valid") == ("data/a.txt", "valid")


def test_the_parts_are_apart_and_make_the_whole():
    assert list(of_part("abcdefg", "valid", 3)) == ["a", "d", "g"]
    assert list(of_part("abcdefg", "train", 3)) == ["b", "c", "e", "f"]
    assert list(of_part("abcdefg", None, 3)) == list("abcdefg")


def test_two_in_five():
    assert list(of_part("abcdefghij", "valid", 2.5)) == ["a", "d", "f", "i"]
    assert list(of_part("abcdefghij", "train", 2.5)) == ["b", "c", "e", "g", "h", "j"]
    # RCV1's training documents; SEAL's table has as many for validation.
    assert sum(1 for _ in of_part(range(23149), "valid", 2.5)) == 9260
