import pytest
import torch

from seal.common.linear_trees import check_tree
from seal.nets import tree_beam
from tests.trees import all_trees, sentences, small_parser


def log_prob(space, net, inputs, tree):
    symbols = torch.tensor([tree])
    logits = net({**inputs, "earlier": space.before(symbols)}).logits
    return space.log_prob(logits, symbols.unsqueeze(1)).item()


@pytest.mark.parametrize("next_word", [True, False])
def test_a_wide_beam_finds_the_most_probable_trees(next_word):
    space, net = small_parser(next_word=next_word)
    beam = tree_beam(net, space, sentences([1, 2, 3], [4, 5]), beam=400)
    for row, words in enumerate(([1, 2, 3], [4, 5])):
        trees = all_trees(space, len(words))
        values = [log_prob(space, net, sentences(words), tree) for tree in trees]
        best = sorted(range(len(trees)), key=lambda i: -values[i])[: min(20, len(trees))]
        for place, i in enumerate(best):
            symbols = beam.symbols[row, place][beam.mask[row, place]].tolist()
            assert symbols == trees[i]
            assert beam.log_prob[row, place].item() == pytest.approx(values[i])
    # The second sentence has fewer trees than there are places.
    assert len(all_trees(space, 2)) == 70
    assert beam.log_prob[1, 69].isfinite() and beam.log_prob[1, 70:].isneginf().all()


@pytest.mark.parametrize("width", [1, 2, 7])
@pytest.mark.parametrize("max_opened", [1, 12])
def test_what_is_found_is_a_tree_with_its_probability(width, max_opened):
    space, net = small_parser(max_opened)
    words = [[1, 2, 3, 4, 5], [6], [7, 8]]
    beam = tree_beam(net, space, sentences(*words), width)
    assert (beam.log_prob[:, :-1] >= beam.log_prob[:, 1:]).all()
    for row, sentence in enumerate(words):
        seen = set()
        for place in range(width):
            if beam.log_prob[row, place].isneginf():
                continue
            symbols = beam.symbols[row, place][beam.mask[row, place]].tolist()
            check_tree(space.strings(symbols), len(sentence))
            seen.add(tuple(symbols))
            value = log_prob(space, net, sentences(sentence), symbols)
            assert beam.log_prob[row, place].item() == pytest.approx(value)
        assert len(seen) == int(beam.log_prob[row].isfinite().sum()) > 0


def test_a_sentence_alone_or_among_others():
    space, net = small_parser()
    among = tree_beam(net, space, sentences([1, 2, 3, 4], [5, 6]), 3)
    alone = tree_beam(net, space, sentences([5, 6]), 3)
    assert torch.allclose(among.log_prob[1], alone.log_prob[0])
    steps = alone.symbols.shape[2]
    assert torch.equal(among.symbols[1, :, :steps], alone.symbols[0])


def test_no_sentence():
    space, net = small_parser()
    inputs = {name: tensor[:0] for name, tensor in sentences([1, 2]).items()}
    assert tree_beam(net, space, inputs, 3).log_prob.shape == (0, 3)
