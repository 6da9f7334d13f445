import logging
from contextlib import contextmanager

import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import given
from hypothesis import strategies as st

from seal.tasks.base import UnknownGold

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


@given(st.permutations(range(1, 31)), st.integers(1, 7))
def test_the_first_is_that_of_the_file_whatever_the_order_of_the_batches(lines, size):
    items = [
        {"tags": ["O", "B-X" if line >= 9 else "O"], "source": f"test.txt:{line}", "lines": [line, line]}
        for line in lines
    ]
    gold = UnknownGold(KNOWN, "tags", "tags")
    for start in range(0, len(items), size):
        gold.note(items[start : start + size])
    with told_by_the_package() as told:
        gold.warn()
    assert told[0].endswith("the first at test.txt:9: 'B-X'")


@contextmanager
def told_by_the_package():
    """As `caplog`, which hypothesis cannot reset."""
    told = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())
    logger = logging.getLogger("seal.tasks.base.unknown_gold")
    logger.addHandler(handler)
    yield told
    logger.removeHandler(handler)


def test_the_first_of_several_files_and_of_none(caplog):
    gold = UnknownGold(KNOWN, "tags", "tags")
    for source in (None, "b.txt:2", "a.txt:10", "a.txt:9", "c.txt:1"):
        gold.note([{"tags": ["B-X"], "source": source}])
    gold.warn()
    gold.note([{"tags": [name], "source": source} for name, source in (("B-X", "b.txt:2"), ("B-Y", "a.txt:10"))])
    gold.warn()
    first, second = (record.getMessage() for record in caplog.records)
    assert first.endswith("the first at a.txt:9: 'B-X'") and second.endswith("the first at a.txt:10: 'B-Y'")


def test_known_gold_is_silent(caplog):
    gold = UnknownGold(KNOWN, "tags", "tags")
    gold.refuse(BATCH[:1])
    gold.refuse(None)
    assert gold.note(None) == []
    gold.note(BATCH[:1])
    gold.warn()
    assert not caplog.records


def test_learning_refuses_the_first_by_its_place():
    with pytest.raises(ConfigurationError, match="^test.txt:5: .*'B-X'"):
        UnknownGold(KNOWN, "tags", "tags").refuse(BATCH)
