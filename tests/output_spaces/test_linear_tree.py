import pytest
import torch

from seal.common.linear_trees import brackets_of, check_tree
from seal.energies import LinearChainEnergy, LocalEnergy
from seal.energies.tag_language_model import TagLanguageModelEnergy
from seal.output_spaces import LinearTree, TreePrefixes
from tests.spine import mask_of, one_hot
from tests.trees import SYMBOLS, all_trees


def symbols_of(text):
    return torch.tensor([SYMBOLS.index(symbol) for symbol in text.split()])


def test_what_stands_before_each_step():
    space = LinearTree(SYMBOLS)
    symbols = torch.stack([symbols_of("(S XX )"), symbols_of("(NP XX )")])
    assert space.before(symbols).tolist() == [[4, 2, 0], [4, 3, 0]]


def test_what_may_follow_by_hand():
    space = LinearTree(SYMBOLS, max_opened=2)
    prefix = TreePrefixes(space, torch.tensor([2]))
    expected = {
        "": "(S (NP",
        "(S": "XX (S (NP",
        # So many constituents may begin at a word.
        "(S (NP": "XX",
        # The root is not closed before the last word.
        "(S (NP XX": "XX ) (S (NP",
        "(S (NP XX )": "XX (S (NP",
        "(S (NP XX ) (S": "XX (S (NP",
        # After the last word there is nothing but to close.
        "(S (NP XX ) (S XX": ")",
        "(S (NP XX ) (S XX )": ")",
    }
    for before, following in expected.items():
        if before:
            prefix.advance(symbols_of(before)[-1:])
        allowed = {SYMBOLS[place] for place in prefix.allowed()[0].nonzero().flatten().tolist()}
        assert allowed == set(following.split()), before
    assert bool(prefix.ending) and prefix.unread.item() == 0


@pytest.mark.parametrize("num_words,max_opened", [(1, 1), (1, 3), (2, 2), (3, 1)])
def test_each_way_through_is_a_tree_and_each_tree_a_way(num_words, max_opened):
    space = LinearTree(SYMBOLS, max_opened=max_opened)
    found = [space.strings(tree) for tree in all_trees(space, num_words)]
    for tree in found:
        check_tree(tree, num_words)
    assert len({tuple(tree) for tree in found}) == len(found)
    # Of all sequences up to the longest, those that are trees and open so many constituents at a word.
    sequences, trees = [[]], set()
    for _ in range(max(map(len, found))):
        sequences = [before for before in sequences if could_go_on(before, num_words * max_opened)]
        sequences = [[*before, symbol] for before in sequences for symbol in SYMBOLS]
        trees |= {tuple(sequence) for sequence in sequences if is_tree(sequence, num_words, max_opened)}
    assert trees == {tuple(tree) for tree in found}


def could_go_on(symbols, most_opened):
    opened = sum(symbol[0] == "(" for symbol in symbols)
    return not symbols or (symbols.count(")") < opened <= most_opened)


def is_tree(symbols, num_words, max_opened):
    try:
        check_tree(symbols, num_words)
    except ValueError:
        return False
    runs = " ".join("(" if symbol[0] == "(" else symbol for symbol in symbols)
    return "( " * (max_opened + 1) not in runs


def test_rows_are_selected():
    space = LinearTree(SYMBOLS)
    prefixes = TreePrefixes(space, torch.tensor([1, 2]))
    prefixes.advance(torch.tensor([2, 3]))
    prefixes.advance(torch.tensor([0, 0]))
    prefixes.select(torch.tensor([1, 1, 0]))
    assert prefixes.unread.tolist() == [1, 1, 0] and prefixes.ending.tolist() == [False, False, True]


def test_energies_of_one_hot_outputs_are_the_discrete_ones():
    torch.manual_seed(0)
    space, mask = LinearTree(SYMBOLS), mask_of([7, 5])
    outputs = torch.randint(4, (2, 3, 7))
    for energy in (LocalEnergy(5, space), LinearChainEnergy(5, space), TagLanguageModelEnergy(5, space)):
        condition = energy.double().condition(torch.randn(2, 7, 5).double(), mask, {})
        discrete, relaxed = energy(condition, outputs, mask), energy(condition, one_hot(outputs, 4), mask)
        assert torch.allclose(discrete, relaxed) and discrete.std() > 0


def test_brackets_are_those_of_the_strings():
    space = LinearTree(SYMBOLS)
    tree = symbols_of("(S (NP XX ) XX )").tolist()
    assert brackets_of(space.strings(tree)) == [("S", 0, 2), ("NP", 0, 1)]
