import itertools
import math
from collections import Counter

import pytest
import torch

from seal.structure import KBestTrees, TreeCandidates, TreeStructure
from seal.structure.energies import TreeAttachments, TreeRules
from seal.structure.trees import constituents_of
from tests.trees import SYMBOLS

LABELS = ["S", "NP", "VP", "PP"]
# `eats soup with a spoon`: the spoon is what one eats with, or is in the soup.
ON_VERB = "(VP XX (NP XX ) (PP XX (NP XX XX ) ) )".split()
ON_NOUN = "(VP XX (NP (NP XX ) (PP XX (NP XX XX ) ) ) )".split()
SPOON, MEAT = "eats soup with a spoon".split(), "eats soup with a bone".split()


def trees_of(gold, words, excluded=None):
    """Both ways of attaching compete, in one order."""
    best_trees = [[ON_NOUN, ON_VERB] for _ in gold]
    places = torch.tensor([tree == ON_VERB for tree in gold]).long()
    return TreeCandidates(best_trees, words, torch.zeros(len(gold), 2), places, excluded)


def alone(gold, words):
    return TreeCandidates([[tree] for tree in gold], words, torch.zeros(len(gold), 1), torch.zeros(len(gold)).long())


def test_constituents_by_hand():
    found = constituents_of(ON_VERB)
    assert [(one.label, one.start, one.end) for one in found] == [
        ("NP", 1, 2),
        ("NP", 3, 5),
        ("PP", 2, 5),
        ("VP", 0, 5),
    ]
    assert found[-1].rule == ("VP", "XX", "NP", "PP") and found[2].children == (("XX", 2, 3), ("NP", 3, 5))


@pytest.mark.parametrize("left_out", [[[], [], []], [[0], [1], [2]], [[0, 1], [0, 1], [2]]])
def test_rules_by_hand(left_out):
    """Of nothing, of each tree itself, and of two trees of a sentence that occurs twice."""
    gold = [ON_VERB, ON_VERB, ON_NOUN]
    energy = TreeRules(LABELS, shrinkage=2.0)
    energy.prepare(alone(gold, [SPOON] * 3))
    # Rules in training: VP -> XX NP PP twice, VP -> XX NP once, NP -> XX three times, NP -> XX XX three times ...
    rules = Counter(one.rule for tree in gold for one in constituents_of(tree))
    labels = Counter(one.label for tree in gold for one in constituents_of(tree))
    candidates = trees_of(gold, [SPOON] * 3, [[gold[place] for place in places] for places in left_out])
    for row, best_trees in enumerate(candidates.trees):
        mine = [one for place in left_out[row] for one in constituents_of(gold[place])]
        for tree, counts in zip(best_trees, energy.features(candidates, row)):
            expected, unseen = 0.0, 0
            for one in constituents_of(tree):
                seen = rules[one.rule] - sum(other.rule == one.rule for other in mine)
                of_label = labels[one.label] - sum(other.label == one.label for other in mine)
                expected -= math.log((seen + 0.02) / (of_label + 2))
                unseen += seen == 0
            number = Counter(one.label for one in constituents_of(tree))
            assert counts == pytest.approx([expected, unseen, *(number[label] for label in LABELS)])
    # Of its own gold alone, ON_NOUN has a rule.
    assert (energy.features(candidates, 2)[0][1] > 0) == (left_out[2] == [2])


def test_attachments_by_hand():
    energy = TreeAttachments(LABELS, shrinkage=1.0)
    energy.prepare(alone([ON_VERB, ON_VERB, ON_NOUN], [SPOON, SPOON, MEAT]))
    candidates = trees_of([ON_VERB], [SPOON])
    on_noun, on_verb = energy.features(candidates, 0)
    pairs = 3 * 10  # Two words of five, in order.
    place = 2 * LABELS.index("PP")
    # A phrase begins with `with` three times, and ends at `spoon` twice and at `bone` once.
    share = 3 / pairs
    # `eats .. with` hang on each other in 2 of 3, `eats .. spoon` in 2 of 2.
    assert on_verb[place] == pytest.approx(-math.log((2 + share) / (3 + 1) / share))
    assert on_verb[place + 1] == pytest.approx(-math.log((2 + share) / (2 + 1) / share))
    # `soup .. with` in 1 of 3, `soup .. spoon` in none of 2.
    assert on_noun[place] == pytest.approx(-math.log((1 + share) / (3 + 1) / share))
    assert on_noun[place + 1] == pytest.approx(-math.log((0 + share) / (2 + 1) / share))
    # Without the tree itself: two phrases among 20 pairs.
    on_noun, on_verb = energy.features(trees_of([ON_VERB], [SPOON], excluded=[[ON_VERB]]), 0)
    share = 2 / 20
    assert on_verb[place] == pytest.approx(-math.log((1 + share) / (2 + 1) / share))
    assert on_noun[place] == pytest.approx(-math.log((1 + share) / (2 + 1) / share))
    # And without the other sentence of these words: one phrase among 10 pairs.
    on_noun, on_verb = energy.features(trees_of([ON_VERB], [SPOON], excluded=[[ON_VERB, ON_VERB]]), 0)
    share = 1 / 10
    assert on_verb[place] == pytest.approx(-math.log((0 + share) / (1 + 1) / share))
    assert on_noun[place] == pytest.approx(-math.log((1 + share) / (1 + 1) / share))


def candidates_of(rows, log_odds=0.0):
    """Records of sentences whose gold is named; `log_odds` is how sure the net is of the first, ON_NOUN."""
    symbols = sorted({*ON_NOUN, *ON_VERB})
    trees = [ON_NOUN, ON_VERB]
    # No two are equal.
    words = [["eats", "soup", "with", f"a{place}", "spoon" if verb else "bone"] for place, verb in enumerate(rows)]
    log_prob = torch.tensor([log_odds, 0.0]).log_softmax(dim=0).expand(len(rows), 2)
    return symbols, KBestTrees([trees] * len(rows), words, log_prob, [trees[verb] for verb in rows])


def test_what_words_say_is_learned_and_followed():
    symbols, training = candidates_of([0, 1] * 20, log_odds=1.0)
    _, validation = candidates_of([0, 1, 1, 0, 1] * 4, log_odds=1.0)
    structure = TreeStructure(symbols)
    report = structure.fit([training], [validation])
    assert report["gold_competes"] == 1 and report["gold_first_where_it_competes"] == 1
    assert set(structure.chosen) == {"f1", "exact_match"} and "own" not in structure.chosen.values()
    assert report["decisions"]["exact_match"]["values"]["own"] == pytest.approx(0.4)
    assert structure.decide(validation).tolist() == [0, 1, 1, 0, 1] * 4
    # What was learned is kept with the weights.
    other = TreeStructure(symbols)
    other.load_state_dict(structure.state_dict())
    assert torch.equal(other.decide(validation), structure.decide(validation)) and other.is_followed("f1")


def test_what_says_nothing_is_not_followed():
    torch.manual_seed(0)
    gold = torch.randint(2, (40,)).tolist()
    symbols, training = candidates_of(gold, log_odds=0.5)
    # Each sentence's words say nothing of its tree.
    for words in training.words:
        words[-1] = "spoon"
    words = [["they", "eat", "soup", "with", f"spoon {number}"] for number in range(40)]
    validation = KBestTrees(training.trees, words, training.log_prob, [training.trees[0][0]] * 40)
    structure = TreeStructure(symbols)
    structure.fit([training], [validation])
    assert not any(map(structure.is_followed, structure.chosen))
    assert structure.decide(validation).tolist() == [0] * 40


def test_sentences_that_occur_twice_are_known_no_better():
    """What is learned does not depend on how often the training data are repeated, the weight of a penalty apart."""
    symbols, training = candidates_of([0, 1, 1, 0] * 5, log_odds=0.5)
    training.gold[:4] = [ON_VERB] * 4
    twice = KBestTrees(
        *(2 * part for part in (training.trees, training.words)), training.log_prob.repeat(2, 1), 2 * training.gold
    )
    twice.words = [[word.upper() for word in words] if place > 19 else words for place, words in enumerate(twice.words)]
    losses = []
    for part, l2 in ((training, 1.0), (twice, 2.0)):
        # Counts are twice as large, as is what they are shrunk by.
        energies = [{"type": name, "shrinkage": l2} for name in ("tree_rules", "tree_attachments")]
        structure = TreeStructure(symbols, energies, penalties=[l2])
        report = structure.fit([part], [part])
        losses.append(report["penalties"][0]["loss"])
    assert losses[0] == pytest.approx(losses[1], abs=1e-3)


def test_the_expected_f1_by_enumeration():
    _, validation = candidates_of([0])
    candidates = validation.candidates()
    brackets = [Counter(bracket) for bracket in candidates.brackets[0]]
    found = TreeStructure(SYMBOLS).similarity(candidates, torch.tensor([[0, 1]]))[0]
    for one, other in itertools.product(range(2), repeat=2):
        shared = sum((brackets[one] & brackets[other]).values())
        both = sum(brackets[one].values()) + sum(brackets[other].values())
        assert found[one, other].item() == pytest.approx(2 * shared / both)
    assert found[0, 1] == pytest.approx(2 * 4 / 9)


def test_gold_with_a_label_that_no_tree_of_training_has():
    symbols, training = candidates_of([0, 1] * 5)
    _, validation = candidates_of([0, 1])
    validation.gold[0] = ["(UCP", *ON_VERB[1:]]
    report = TreeStructure(symbols).fit([training], [validation])
    assert report["gold_competes"] == 0.5


def test_own_trees_are_those_of_a_narrower_beam():
    best_trees = [[ON_NOUN, ON_VERB]] * 4
    validation = KBestTrees(best_trees, [SPOON] * 4, torch.zeros(4, 2), [ON_VERB] * 4, own=[ON_VERB] * 4)
    report = TreeStructure(SYMBOLS).fit([validation], [validation])
    assert report["decisions"]["exact_match"]["values"]["own"] == 1
    validation.own = None
    report = TreeStructure(SYMBOLS).fit([validation], [validation])
    assert report["decisions"]["exact_match"]["values"]["own"] == 0


def test_scores_leave_punctuation_out():
    tree, other = "(S (NP XX ) XX )".split(), "(S (NP XX XX ) )".split()
    tags = [["NN", "."]]
    best_trees = KBestTrees([[tree, other]], [["tea", "."]], torch.zeros(1, 2), [tree], tags)
    assert TreeStructure(SYMBOLS).similarity(best_trees.candidates(), torch.tensor([[0, 1]]))[0, 0, 1] == 1
    best_trees.tags = None
    assert TreeStructure(SYMBOLS).similarity(best_trees.candidates(), torch.tensor([[0, 1]]))[0, 0, 1] == 0.5


def test_a_sentence_without_a_candidate():
    symbols, training = candidates_of([0, 1] * 5)
    structure = TreeStructure(symbols)
    structure.fit([training], [training])
    nothing = KBestTrees([[], training.trees[0]], [SPOON, MEAT], torch.tensor([[-math.inf] * 2, [0.0, -1.0]]))
    assert structure.joint(nothing.candidates())[1].isfinite().all()
