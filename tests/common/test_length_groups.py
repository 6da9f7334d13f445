import pytest
import torch

from seal.common import length_groups as module
from seal.common.length_groups import Size, length_groups, size_of


@pytest.mark.parametrize("most_rows", [1, 3, 7, 100])
def test_each_sentence_is_in_one_group_with_some_of_like_length(most_rows):
    lengths = [int(n) for n in torch.randint(1, 40, (29,), generator=torch.Generator().manual_seed(0))]
    made = list(length_groups([Size(n, 5) for n in lengths], most_rows))
    assert sorted(place for group in made for place in group) == list(range(29))
    assert len(made) == -(-29 // most_rows)
    assert [lengths[place] for group in made for place in group] == sorted(lengths)


@pytest.mark.parametrize(
    "limit, padded",
    [
        ("MOST_WORDS", lambda words, longest: len(words) * max(words)),
        ("MOST_CHARACTERS", lambda words, longest: len(words) * max(words) * max(longest)),
        ("MOST_PAIRS", lambda words, longest: len(words) * max(words) ** 2),
    ],
)
def test_a_group_is_bounded_in_padded_size(monkeypatch, limit, padded):
    monkeypatch.setattr(module, limit, 100)
    sizes = [Size(2, 5), Size(2, 5), Size(2, 5), Size(10, 5), Size(10, 5), Size(10, 6), Size(50, 9), Size(3, 90)]
    made = list(length_groups(sizes, 64))
    assert sorted(place for group in made for place in group) == list(range(len(sizes)))
    for group in made:
        assert len(group) == 1 or padded(*zip(*(sizes[place][:2] for place in group))) <= 100
    assert len(made) < len(sizes)


def test_pieces_come_before_words_in_the_order_of_length(monkeypatch):
    sizes = [Size(9, 5, pieces=10), Size(2, 5, pieces=12), Size(3, 5, pieces=11), Size(2, 5, pieces=11)]
    assert list(length_groups(sizes, 2)) == [[0, 3], [2, 1]]
    # The first of them has the most words, and the last the most pieces.
    monkeypatch.setattr(module, "MOST_WORDS", 23)
    assert list(length_groups(sizes, 4)) == [[0, 3], [2], [1]]


def test_ordinary_sentences_are_only_bounded_in_number():
    sizes = [Size(60, 20)] * 130
    assert list(map(len, length_groups(sizes, 64))) == [64, 64, 2]


def test_nothing_makes_no_group():
    assert list(length_groups([], 64)) == []
    assert size_of(["a", "abc"]) == (2, 3, 0) and size_of([]) == (0, 0, 0)
