"""The reward of citations against a slow one, a rule at a time, and on references of our own."""

import itertools

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from seal.rewards import CitationReward, Reward
from seal.rewards.citation_words import WORD_RULES, closes, found_by_rules
from seal.rewards.reward import WEIGHTS
from tests.citations import REFERENCES, TAGS, reference
from tests.spine import mask_of


def found(name, text):
    """The words that a rule finds."""
    words = text.split()
    places = found_by_rules(tuple(words))[list(WORD_RULES).index(name)]
    return [word for word, is_found in zip(words, places) if is_found]


@pytest.mark.parametrize(
    "name, text, expected",
    [
        ("first_words", "A . Miller and B . Stone", "A . Miller"),
        ("initial", "A. Miller , B . Stone and Carl in A vault", "A. B"),
        ("year", "12 1991 (1987) 1987a 1991-1993 19 2101 3001 1850,", "1991 (1987) 1987a 1850,"),
        ("month", "May may Jan. Monday", "May may Jan."),
        ("pages", "pp . 12-24 , pages 7--9 5–8. 1991 p", "pp 12-24 pages 7--9 5–8."),
        ("volume", "7 (2) 14(3) (1987) Vol. No 3", "(2) 14(3) Vol. No"),
        ("booktitle", "Rooms . In Proc. of a Conference held in Workshop W", "In Proc. Conference Workshop"),
        ("journal", "IEEE Trans. of the Journal , letters", "Trans. Journal letters"),
        ("tech", "Tech. Report , Ph.D. thesis on techniques", "Tech. Report Ph.D. thesis"),
        ("institution", "Dept. of Botany , Univ. of Ely", "Dept. Univ."),
        ("publisher", "North-Holland , MIT Press , pressing", "North-Holland Press"),
        ("editor", "Stone , ed. ( editors )", "ed. editors"),
        ("location", "New York , CA , USA", "York CA USA"),
        ("note", "to appear , submitted", "appear submitted"),
        ("quoted", "A . Hill `` Old locks , '' 1991 and '' more", "`` Old locks , ''"),
        ("small_word", "of the quiet rooms And x9bcd half-way", "quiet rooms"),
    ],
)
def test_what_a_rule_of_words_finds(name, text, expected):
    assert found(name, text) == expected.split()


def test_a_title_may_have_curved_quotation_marks():
    assert found("quoted", "A . Hill “ Old locks , ” 1991") == "“ Old locks , ”".split()


def test_every_rule_of_words_is_tried():
    (mark,) = [mark for mark in test_what_a_rule_of_words_finds.pytestmark if mark.name == "parametrize"]
    assert [case[0] for case in mark.args[1]] == list(WORD_RULES)


def test_a_field_ends_behind_punctuation():
    assert [word for word in "a . , b. c, ) (d) '' -RRB- - in".split() if closes(word)] == (
        ". , b. c, ) (d) '' -RRB-".split()
    )


def slowly(words, tags, weights):
    """The definition, a rule and a word at a time."""
    total = 0.0
    for name, rule in WORD_RULES.items():
        places = [i for i in range(len(words)) if rule.finds(words, i)]
        right = [tags[i] in rule.tags for i in places]
        total += weights[name] * (sum(right) / len(right) if right else 1)
    runs = [tag for tag, _ in itertools.groupby(tags)]
    total += weights["once"] * len(set(runs)) / len(runs)
    changes = [i for i in range(1, len(words)) if tags[i] != tags[i - 1]]
    total += weights["closed"] * (sum(closes(words[i - 1]) for i in changes) / len(changes) if changes else 0)
    total += weights["complete"] * (("author" in tags or "editor" in tags) + ("title" in tags)) / 2
    return total / sum(weights.values())


def test_many_candidates_at_once_are_as_each_alone():
    sentences = [reference(row)[0] for row in range(4)]
    mask = mask_of([len(words) for words in sentences])
    torch.manual_seed(0)
    outputs = torch.randint(len(TAGS), (4, 7, mask.shape[1]))
    # With long runs as well, and one field alone.
    outputs[:, 1] = outputs[:, 1].sort(dim=1).values
    outputs[:, 2] = 0
    weights = {**WEIGHTS, "once": 2.5, "closed": 0.5, "year": 3.0, "pages": 0.0}
    rewards = CitationReward({"once": 2.5, "closed": 0.5, "year": 3.0, "pages": 0.0}).of(sentences, TAGS)(outputs, mask)
    assert rewards.shape == (4, 7) and 0 <= float(rewards.min()) < float(rewards.max()) <= 1
    for row, words in enumerate(sentences):
        for sample in range(7):
            tags = [TAGS[tag] for tag in outputs[row, sample, : len(words)].tolist()]
            assert float(rewards[row, sample]) == pytest.approx(slowly(words, tags, weights), abs=1e-6)


def test_padding_says_nothing():
    words, tags = reference(1)
    gold = torch.tensor([[[TAGS.index(tag) for tag in tags]]])
    reward = CitationReward().of([words], TAGS)
    alone = reward(gold, None)
    mask = mask_of([len(words), len(words) + 5])[:1]
    for padding in range(len(TAGS)):
        padded = torch.cat([gold, torch.full((1, 1, 5), padding)], dim=2)
        assert torch.equal(reward(padded, mask), alone)


@pytest.mark.parametrize("row", range(len(REFERENCES)))
def test_right_tags_are_worth_more_than_wrong_ones(row):
    """No single wrong word is worth more, but for one that no rule knows; many are worth less."""
    words, tags = reference(row)
    gold = torch.tensor([TAGS.index(tag) for tag in tags])
    reward = CitationReward().of([words], TAGS)
    best = float(reward(gold[None, None], None))
    assert best > 0.9
    flips = gold.repeat(len(words) * len(TAGS), 1)
    flips[torch.arange(len(flips)), torch.arange(len(flips)) // len(TAGS)] = torch.arange(len(flips)) % len(TAGS)
    values = reward(flips[None], None)[0]
    assert (values <= best + 1e-6).float().mean() > 0.95
    torch.manual_seed(row)
    assert float(reward(torch.randint(len(TAGS), (1, 50, len(words))), None).max()) < best - 0.1


def test_a_reward_in_a_config():
    reward = Reward.from_params(Params({"type": "citation", "weights": {"once": 0}}))
    assert isinstance(reward, CitationReward)
    for weights, told in (
        ({"twice": 1}, "'twice'"),
        ({"once": -1}, "weights.once.*-1"),
        (dict.fromkeys(WEIGHTS, 0), "0"),
    ):
        with pytest.raises(ConfigurationError, match=told):
            CitationReward(weights)
    with pytest.raises(ConfigurationError, match="vocabulary"):
        CitationReward().of([["a"]], ["NOUN", "VERB"])
