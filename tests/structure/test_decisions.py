from itertools import product

import pytest
import torch

from seal.structure.decisions import ExpectedScore, Likeliest


def f1(one, other):
    total = sum(one) + sum(other)
    return 1.0 if total == 0 else 2 * sum(a * b for a, b in zip(one, other)) / total


@pytest.mark.parametrize("least", [0.0, 0.1, 0.5, 1.0])
def test_the_expected_score_is_the_best_of_all_candidates_that_are_likely_enough(least):
    torch.manual_seed(0)
    sets = list(product((0, 1), repeat=3))
    table = torch.tensor([[f1(a, b) for b in sets] for a in sets])
    decision, hedged = ExpectedScore(least), 0
    for _ in range(40):
        q = (torch.randn(1, len(sets)) * 2).softmax(dim=1)
        expected = [sum(float(q[0, g] * table[y, g]) for g in range(len(sets))) for y in range(len(sets))]
        likely = [y for y in range(len(sets)) if q[0, y] >= least * q.max()]
        wanted = max(likely, key=expected.__getitem__)
        hedged += wanted != max(range(len(sets)), key=expected.__getitem__)

        def similarity(kept, rows):
            return table[kept[0]][:, kept[0]].unsqueeze(0)

        assert decision.choose(q, similarity).item() == wanted
        scores = decision.scores(q, similarity)[0]
        assert [y for y in range(len(sets)) if not scores[y].isnan()] == likely
        assert [scores[y].item() for y in likely] == pytest.approx([expected[y] for y in likely], abs=1e-6)
        assert Likeliest().choose(q).item() == q.argmax().item()
    assert (hedged > 0) == (least > 0)


def test_a_filler_is_never_chosen():
    q = torch.tensor([[0.0, 1.0, 0.0]])
    assert ExpectedScore().choose(q, lambda kept, rows: torch.ones(1, 3, 3)).item() == 1
