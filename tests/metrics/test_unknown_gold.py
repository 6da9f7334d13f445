import logging

import pytest
from allennlp.common.checks import ConfigurationError

from seal.metrics import UnknownGold

KNOWN = ["O", "B-A", "I-A"]
BATCH = [
    {"tags": ["O", "B-A"], "source": "test.txt:1"},
    {"tags": ["O", "B-X", "I-X"], "source": "test.txt:4", "lines": [4, 5, 7]},
    {"tags": None, "source": "test.txt:9"},
    {"tags": ["B-X"], "source": "test.txt:11"},
]


def test_evaluation_counts_and_warns_once(caplog):
    gold = UnknownGold(KNOWN, "tags", "tags")
    with caplog.at_level(logging.WARNING):
        assert gold.note(BATCH) == [[], ["B-X", "I-X"], [], ["B-X"]]
        assert gold.note(BATCH[:1]) == [[]]
        assert not caplog.records
        gold.warn()
        gold.warn()
    (record,) = caplog.records
    assert "3 of 8 gold tags, in 2 instances, are not in the model's vocabulary ('tags')" in record.getMessage()
    assert record.getMessage().endswith("2 different ones, the first at test.txt:5: 'B-X'")


def test_known_gold_is_silent(caplog):
    gold = UnknownGold(KNOWN, "tags", "tags")
    gold.refuse(BATCH[:1])
    gold.refuse(None)
    assert gold.note(None) == []
    gold.note(BATCH[:1])
    gold.warn()
    assert not caplog.records


def test_learning_refuses_the_first_by_its_place():
    with pytest.raises(ConfigurationError, match=r"^test.txt:5: the label 'B-X' is not in .* \('tags'\)"):
        UnknownGold(KNOWN, "tags", "tags").refuse(BATCH)
    with pytest.raises(ConfigurationError, match="^test.txt:11: the label 'B-X'"):
        UnknownGold(KNOWN, "tags", "tags").refuse(BATCH[3:])
    with pytest.raises(ConfigurationError, match="^the label 'b'"):
        UnknownGold(["a"], "labels", "labels").refuse([{"labels": ["a", "b"]}])
