from itertools import product

import pytest
import torch

from seal.output_spaces.best_paths import k_best_paths, k_best_paths_on_cpu, k_best_paths_on_gpu, viterbi
from tests.spine import mask_of

every_search = pytest.mark.parametrize("search", [k_best_paths_on_cpu, k_best_paths_on_gpu], ids=["cpu", "gpu"])


def all_paths(scores, transitions, starts=None, ends=None):
    """The possible paths of one sequence with their scores, the best first; summed in Python floats."""
    tokens, tags = scores.shape
    scores, transitions = scores.tolist(), transitions.tolist()
    starts, ends = ([0.0] * tags if each is None else each.tolist() for each in (starts, ends))
    paths = []
    for path in product(range(tags), repeat=tokens):
        score = starts[path[0]] + ends[path[-1]] + sum(scores[t][tag] for t, tag in enumerate(path))
        score += sum(transitions[a][b] for a, b in zip(path, path[1:]))
        if score > -torch.inf:
            paths.append((score, path))
    return sorted(paths, reverse=True)


def random_chain(batch, tokens, tags, scale=1.0):
    """Scores of tags, of pairs, of starts and of ends."""
    shapes = (batch, tokens, tags), (tags, tags), (tags,), (tags,)
    return [scale * torch.randn(shape, dtype=torch.double) for shape in shapes]


def check_k_best(search, chain, k, lengths):
    """What the search finds is what enumeration finds, with fillers behind it; nothing at padding."""
    scores, *of_pairs = chain
    mask = torch.arange(scores.shape[1]) < torch.tensor(lengths).unsqueeze(1)
    before = scores.clone()
    paths, values = search(scores, of_pairs[0], k, *of_pairs[1:], mask)
    assert torch.equal(scores, before)
    for row, length in enumerate(lengths):
        wanted = all_paths(scores[row, :length], *of_pairs)[:k]
        found = paths[row, values[row] > -torch.inf]
        assert [tuple(path) for path in found[:, :length].tolist()] == [path for _, path in wanted]
        assert values[row, : len(wanted)].tolist() == pytest.approx([value for value, _ in wanted])
        assert not found[:, length:].any() and values[row, len(wanted) :].isneginf().all()
    return paths


@pytest.mark.parametrize("with_starts", [False, True])
@pytest.mark.parametrize("with_ends", [False, True])
def test_viterbi_equals_enumeration(with_starts, with_ends):
    torch.manual_seed(0)
    lengths = [5, 1, 3, 4, 2, 5]
    for scale in (0.3, 3.0):
        # Asymmetric, and now more, now less important than the scores.
        scores, transitions, starts, ends = random_chain(len(lengths), 5, 3)
        transitions *= scale
        of_ends = starts if with_starts else None, ends if with_ends else None
        for mask, used in ((mask_of(lengths), lengths), (None, [5] * len(lengths))):
            paths = viterbi(scores, transitions, *of_ends, mask)
            for row, length in enumerate(used):
                (_, best), *_ = all_paths(scores[row, :length], transitions, *of_ends)
                assert paths[row].tolist() == [*best, *[0] * (5 - length)]


def test_viterbi_of_one_token():
    scores = torch.tensor([[[1.0, 2.0, 0.0]]])
    assert viterbi(scores, torch.zeros(3, 3)).tolist() == [[1]]
    assert viterbi(scores, torch.zeros(3, 3), starts=torch.tensor([0.0, -5.0, 0.0])).tolist() == [[0]]
    assert viterbi(scores, torch.zeros(3, 3), ends=torch.tensor([0.0, 0.0, 5.0])).tolist() == [[2]]


def test_viterbi_gives_no_gradient():
    scores = torch.randn(1, 3, 2, requires_grad=True)
    assert not viterbi(scores, torch.zeros(2, 2)).requires_grad


@every_search
@pytest.mark.parametrize("tokens, tags, k", [(4, 3, 7), (1, 3, 2), (1, 2, 5), (3, 4, 100), (5, 2, 9)])
def test_the_k_best_are_those_that_enumeration_finds(tokens, tags, k, search):
    torch.manual_seed(tokens * tags)
    check_k_best(search, random_chain(2, tokens, tags), k, [tokens, max(tokens - 2, 1)])


@every_search
@pytest.mark.parametrize("k", [9, 12, 40, 60])
@pytest.mark.parametrize("scale", [0.01, 1.0, 6.0])
def test_sure_sequences_beside_unsure_ones(k, scale, search):
    torch.manual_seed(k)
    chain = random_chain(4, 3, 11, scale)
    chain[0][2:] *= 10
    check_k_best(search, chain, k, [3, 3, 3, 2])


@every_search
@pytest.mark.parametrize("lengths", [[1, 4, 2, 3], [4, 4, 4, 4], [3, 1, 1, 2], [2, 1, 2, 2]])
def test_lengths_in_any_order(search, lengths):
    """In the third and the fourth case no sequence is as long as the batch is wide."""
    torch.manual_seed(sum(lengths))
    chain = _, pairs, starts, _ = random_chain(4, 4, 3)
    pairs[0, 1] = starts[2] = -torch.inf
    assert check_k_best(search, chain, 9, lengths).shape == (4, 9, 4)


def test_among_many_tags_both_searches_find_the_same():
    torch.manual_seed(0)
    scores, pairs, starts, ends = random_chain(3, 8, 40, 3.0)
    mask = mask_of([8, 5, 7])
    one, other = (
        search(scores, pairs, 20, starts, ends, mask) for search in (k_best_paths_on_cpu, k_best_paths_on_gpu)
    )
    assert torch.equal(one[0], other[0]) and torch.allclose(one[1], other[1])


@every_search
def test_equal_scores_and_nan(search):
    scores = torch.zeros(3, 3, 4, dtype=torch.double)
    scores[1] += torch.arange(4)
    scores[2, 1] = torch.nan
    paths, values = search(scores, torch.zeros(4, 4, dtype=torch.double), 10, None, None, torch.ones(3, 3).bool())
    for row in (0, 1):
        assert len({tuple(path) for path in paths[row].tolist()}) == 10
        wanted = all_paths(scores[row], torch.zeros(4, 4))[:10]
        assert values[row].tolist() == [value for value, _ in wanted]
    assert values[2].isnan().all()


@pytest.mark.parametrize("forbidden", [[(0, 1)], [(2, 0), (2, 1), (2, 2)]])
def test_forbidden_pairs_are_in_no_path(forbidden):
    torch.manual_seed(0)
    scores = torch.randn(1, 4, 3, dtype=torch.double)
    pairs = torch.zeros(3, 3, dtype=torch.double)
    for pair in forbidden:
        pairs[pair] = -torch.inf
    paths, values = k_best_paths(scores, pairs, 81)
    legal = paths[0][values[0] > -torch.inf].tolist()
    wanted = [list(path) for path in product(range(3), repeat=4) if not {*forbidden} & {*zip(path, path[1:])}]
    assert sorted(legal) == sorted(wanted)


def test_at_extreme_scores_the_order_is_right():
    scores = torch.tensor([[[50.0, -50.0], [-50.0, 50.0]]], dtype=torch.double)
    paths, values = k_best_paths(scores, torch.zeros(2, 2, dtype=torch.double), 4)
    assert paths[0, 0].tolist() == [0, 1] and values[0].tolist() == [100, 0, 0, -100]


@every_search
def test_a_batch_without_a_sequence(search):
    none = torch.zeros(2)
    paths, values = search(torch.zeros(0, 3, 2), torch.zeros(2, 2), 20, none, none, torch.zeros(0, 3, dtype=torch.bool))
    assert paths.shape == (0, 8, 3) and values.shape == (0, 8)
