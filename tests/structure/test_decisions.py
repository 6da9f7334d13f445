from itertools import product

import torch

from seal.structure.decisions import ExpectedScore, Likeliest


def f1(one, other):
    total = sum(one) + sum(other)
    return 1.0 if total == 0 else 2 * sum(a * b for a, b in zip(one, other)) / total


def test_the_expected_score_is_the_best_of_all_candidates():
    torch.manual_seed(0)
    sets = list(product((0, 1), repeat=3))
    table = torch.tensor([[f1(a, b) for b in sets] for a in sets])
    for _ in range(20):
        q = (torch.randn(1, len(sets)) * 2).softmax(dim=1)
        wanted = max(range(len(sets)), key=lambda y: sum(q[0, g] * table[y, g] for g in range(len(sets))))

        def similarity(kept):
            return table[kept[0]][:, kept[0]].unsqueeze(0)

        assert ExpectedScore().choose(q, similarity).item() == wanted
        assert Likeliest().choose(q).item() == q.argmax().item()


def test_a_filler_is_never_chosen():
    q = torch.tensor([[0.0, 1.0, 0.0]])
    assert ExpectedScore().choose(q, lambda kept: torch.ones(1, 3, 3)).item() == 1
