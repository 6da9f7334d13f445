"""The lemma of a word: by a table of training data, by endings, and by the first letters."""

import torch

from seal.structure.lemmas import Lemmas


def learned():
    lemmas = Lemmas()
    words = ["walking", "walked", "talks", "talking", "talk", "saw", "saw", "saw", "going", "jumped", "conclusions"]
    known = ["walk", "walk", "talk", "talk", "talk", "See", "see", "saw", "go", "jump", "conclude"]
    lemmas.learn(words, known)
    return lemmas


def test_words_of_training_data_have_their_most_frequent_lemma():
    assert learned().of(["walking", "saw", "conclusions"]) == ["walk", "see", "conclude"]


def test_other_words_become_known_lemmas_by_their_endings_or_share_their_first_letters():
    # `walks` as `talks`, `jumping` as `walking`; `concluding` shares six letters with `conclusions`.
    assert learned().of(["walks", "jumping", "walk", "conclusive", "sang"]) == [
        "walk",
        "jump",
        "walk",
        "conclude",
        "sang",
    ]


def test_without_lemmas_it_is_the_first_six_letters():
    lemmas = Lemmas()
    lemmas.learn(["announce", "go", "house"], [None, None, None])
    assert lemmas.of(["announce", "announced", "go", "houses"]) == ["announ", "announ", "go", "houses"]


def test_it_is_saved_and_words_are_their_own_lemmas_where_nothing_was_learned():
    fresh = Lemmas()
    assert fresh.of(["walking"]) == ["walking"]
    fresh.load_state_dict(learned().state_dict())
    assert fresh.of(["walks", "saw"]) == ["walk", "see"]
    # A state of before there were lemmas.
    old = Lemmas()
    old.load_state_dict({})
    assert old.of(["walking"]) == ["walking"]
    assert isinstance(old.state_dict()["_extra_state"], torch.Tensor)
