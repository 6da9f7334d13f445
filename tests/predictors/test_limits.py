import logging

import pytest
from allennlp.common.checks import ConfigurationError

from seal.common.length_groups import Size
from seal.predictors import limits
from seal.predictors.limits import check_characters, check_words, noted_groups
from seal.predictors.line_predictor import check_whole_number


def test_what_is_too_long_is_told_in_a_sentence():
    check_words(["word"] * 10, 10)
    check_characters("x" * limits.MAX_CHARACTERS)
    with pytest.raises(ConfigurationError, match="the sentence has 11 words, and at most 10 are read"):
        check_words(["word"] * 11, 10)
    with pytest.raises(ConfigurationError, match="3 words, the longest of 500,000 characters"):
        check_words(["a", "b", "x" * 500_000], 10)
    with pytest.raises(ConfigurationError, match="has 1,048,577 characters, and at most 1,048,576 are read"):
        check_characters("x" * (limits.MAX_CHARACTERS + 1))
    for wrong in (0, 2.0, True, "3"):
        with pytest.raises(ConfigurationError, match="max_words must be a whole number above 0"):
            check_whole_number("max_words", wrong)


def test_what_takes_long_says_how_far_it_is(monkeypatch, caplog):
    now = [0.0]
    monkeypatch.setattr(limits.time, "monotonic", lambda: now[0])
    with caplog.at_level(logging.WARNING):
        for _ in noted_groups([Size(3, 4)] * 10, 2, "frames"):
            now[0] += 6
    # After 12 and 24 seconds; at the end there is nothing to say.
    assert [record.getMessage() for record in caplog.records] == [
        "4 of 10 frames are done after 12 s", "8 of 10 frames are done after 24 s"
    ]  # fmt: skip
    caplog.clear()
    list(noted_groups([Size(3, 4)] * 10, 2, "frames"))
    assert not caplog.records
