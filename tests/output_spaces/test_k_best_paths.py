from itertools import product

import pytest
import torch

from seal.output_spaces.best_paths import k_best_paths, k_best_paths_on_cpu, k_best_paths_on_gpu

SEARCHES = [k_best_paths_on_cpu, k_best_paths_on_gpu]


def all_paths(scores, transitions, starts, ends):
    """The score of every path of one sequence, the best first."""
    tokens, tags = scores.shape
    paths = []
    for path in product(range(tags), repeat=tokens):
        score = starts[path[0]] + ends[path[-1]]
        score = score + sum(scores[t, tag] for t, tag in enumerate(path))
        score = score + sum(transitions[a, b] for a, b in zip(path, path[1:]))
        paths.append((float(score), path))
    return sorted(paths, reverse=True)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("tokens, tags, k", [(4, 3, 7), (1, 3, 2), (1, 2, 5), (3, 4, 100), (5, 2, 9)])
def test_they_are_those_that_enumeration_finds(tokens, tags, k, search):
    torch.manual_seed(tokens * tags)
    scores = torch.randn(2, tokens, tags, dtype=torch.double)
    pairs, starts, ends = (torch.randn(*shape, dtype=torch.double) for shape in ((tags, tags), (tags,), (tags,)))
    mask = torch.ones(2, tokens, dtype=torch.bool)
    mask[1, max(tokens - 2, 1) :] = False
    paths, values = search(scores, pairs, k, starts, ends, mask)
    for row in range(2):
        length = int(mask[row].sum())
        wanted = all_paths(scores[row, :length], pairs, starts, ends)[:k]
        found = [
            (float(value), tuple(path[:length].tolist()))
            for value, path in zip(values[row], paths[row])
            if value > -torch.inf
        ]
        assert [path for _, path in found] == [path for _, path in wanted]
        assert [value for value, _ in found] == pytest.approx([value for value, _ in wanted])
        assert not paths[row, :, length:].any()


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("k", [9, 12, 40, 60])
@pytest.mark.parametrize("scale", [0.01, 1.0, 6.0])
def test_sure_sequences_beside_unsure_ones(k, scale, search):
    torch.manual_seed(k)
    scores = scale * torch.randn(4, 3, 11, dtype=torch.double)
    scores[2:] *= 10
    pairs, starts, ends = (scale * torch.randn(*shape, dtype=torch.double) for shape in ((11, 11), (11,), (11,)))
    mask = torch.ones(4, 3, dtype=torch.bool)
    mask[3, 2] = False
    paths, values = search(scores, pairs, k, starts, ends, mask)
    for row in range(4):
        length = int(mask[row].sum())
        wanted = all_paths(scores[row, :length], pairs, starts, ends)[:k]
        assert [tuple(path[:length]) for path in paths[row].tolist()] == [path for _, path in wanted]
        assert values[row].tolist() == pytest.approx([value for value, _ in wanted])


@pytest.mark.parametrize("lengths", [[1, 4, 2, 3], [4, 4, 4, 4], [3, 1, 1, 2], [2, 1, 2, 2]])
@pytest.mark.parametrize("search", SEARCHES)
def test_lengths_in_any_order(search, lengths):
    torch.manual_seed(sum(lengths))
    # In the third and the fourth case no sequence is as long as the batch is wide.
    scores = torch.randn(4, 4, 3, dtype=torch.double)
    pairs, starts, ends = (torch.randn(*shape, dtype=torch.double) for shape in ((3, 3), (3,), (3,)))
    pairs[0, 1] = starts[2] = -torch.inf
    mask = torch.arange(4) < torch.tensor(lengths).unsqueeze(1)
    before = scores.clone()
    paths, values = search(scores, pairs, 9, starts, ends, mask)
    assert torch.equal(scores, before) and paths.shape == (4, 9, 4)
    for row, length in enumerate(lengths):
        wanted = [(v, path) for v, path in all_paths(scores[row, :length], pairs, starts, ends) if v > -torch.inf][:9]
        legal = int((values[row] > -torch.inf).sum())
        assert [tuple(path[:length]) for path in paths[row, :legal].tolist()] == [path for _, path in wanted]
        assert values[row, :legal].tolist() == pytest.approx([value for value, _ in wanted])
        assert not paths[row, :legal, length:].any()


@pytest.mark.parametrize("search", SEARCHES)
def test_equal_scores_and_nan(search):
    scores = torch.zeros(3, 3, 4, dtype=torch.double)
    scores[1] += torch.arange(4)
    scores[2, 1] = torch.nan
    paths, values = search(scores, torch.zeros(4, 4, dtype=torch.double), 10, None, None, torch.ones(3, 3).bool())
    for row in (0, 1):
        assert len({tuple(path) for path in paths[row].tolist()}) == 10
        wanted = all_paths(scores[row], torch.zeros(4, 4), torch.zeros(4), torch.zeros(4))[:10]
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


@pytest.mark.parametrize("search", SEARCHES)
def test_a_batch_without_a_sequence(search):
    none = torch.zeros(2)
    paths, values = search(torch.zeros(0, 3, 2), torch.zeros(2, 2), 20, none, none, torch.zeros(0, 3, dtype=torch.bool))
    assert paths.shape == (0, 8, 3) and values.shape == (0, 8)
