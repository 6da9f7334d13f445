import time

import pytest

from seal.tasks.base import words as words_module
from seal.tasks.base.words import SPLITTERS, EnglishSplitter, TweetSplitter

TEXTS = [
    "The boy broke the vase .",
    '  She didn\'t,  he\tsaid: "no".\n',
    "A\u00a0caf\u00e9 in Z\u00fcrich \U0001f600 (open)",
    "well-known U.S. $5.30 http://a.b/c?d=e",
    "nul \x00 and \u200b and \ufeff",
    "x" * 3000 + " and " + "(" * 3000 + ".",
]


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("text", TEXTS)
def test_offsets_recover_the_words_and_leave_only_white_space(text, name):
    sequence = SPLITTERS[name]().split(text)
    assert sequence.words
    assert [text[start:end] for start, end in sequence.offsets] == sequence.words
    position, between = 0, []
    for start, end in sequence.offsets:
        assert position <= start < end
        between.append(text[position:start])
        position = end
    rest = "".join(between) + text[position:]
    assert rest == "" or rest.isspace()
    assert not any(character.isspace() for word in sequence.words for character in word)


def test_words_are_those_of_the_treebank():
    sequence = EnglishSplitter().split("She didn't break the boy's well-known vase.")
    assert " ".join(sequence.words) == "She did n't break the boy 's well - known vase ."
    assert sequence.between(1, 3) == "didn't break"


def test_what_tweets_are_made_of_stays_whole():
    text = "RT @rose_99: #happy... :-) . . don't http://a.b/c?d=e loooool"
    assert (
        TweetSplitter().split(text).words == "RT @rose_99 : #happy ... :-) . . don't http://a.b/c?d=e loooool".split()
    )
    start = time.perf_counter()
    for run in ("a.", "1-", "@", "-", "(", "a-"):
        assert "".join(TweetSplitter().split(run * 20000).words) == run * 20000
        assert "".join(TweetSplitter().split(run * (1000 // len(run))).words) == run * (1000 // len(run))
    assert time.perf_counter() - start < 10


def test_long_runs_of_brackets_are_one_word_and_quick():
    start = time.perf_counter()
    sequence = EnglishSplitter().split("a " + "(" * 20000 + " b")
    # This takes a minute where spaCy splits the run.
    assert time.perf_counter() - start < 10
    assert [len(word) for word in sequence.words] == [1, 20000, 1]
    assert sequence.offsets == [[0, 1], [2, 20002], [20003, 20004]]


def test_the_tokenizer_is_made_anew_so_that_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(words_module, "_TEXTS_PER_TOKENIZER", 2)
    splitter = EnglishSplitter()
    tokenizers = []
    for _ in range(5):
        assert splitter.split("It didn't .").words == ["It", "did", "n't", "."]
        tokenizers.append(splitter._tokenizer)
    assert tokenizers[0] is tokenizers[1] and tokenizers[2] is tokenizers[3]
    assert len({id(tokenizer) for tokenizer in tokenizers}) == 3
