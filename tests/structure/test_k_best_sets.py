import pytest
import torch

from seal.structure.k_best_sets import k_best_sets
from tests.label_sets import all_sets


@pytest.mark.parametrize("variables", [1, 2, 5, 8])
@pytest.mark.parametrize("k", [1, 2, 3, 7, 20, 300])
def test_against_enumeration(variables, k):
    torch.manual_seed(variables)
    logits = 2 * torch.randn(6, variables, dtype=torch.double)
    every = all_sets(variables).bool()
    log_prob = (every.unsqueeze(0) * logits.unsqueeze(1)).sum(dim=2)
    found = k_best_sets(logits, k)
    assert found.shape == (6, min(k, 2**variables), variables)
    for row in range(6):
        best = every[log_prob[row].argsort(descending=True)[:k]]
        assert torch.equal(found[row], best)


def test_sets_of_equal_probability_are_different_ones():
    found = k_best_sets(torch.zeros(1, 3), 8)[0]
    assert len(found.unique(dim=0)) == 8


def test_of_many_variables_only_the_uncertain_ones_change():
    torch.manual_seed(0)
    logits = torch.randn(2, 500, dtype=torch.double) * 10
    found = k_best_sets(logits, 30)
    assert found.shape == (2, 30, 500) and torch.equal(found[:, 0], logits >= 0)
    log_prob = (found * logits.unsqueeze(1)).sum(dim=2)
    assert (log_prob.diff(dim=1) <= 1e-9).all()
    changed = (found != found[:, :1]).any(dim=1)
    cheapest = logits.abs().argsort(dim=1)[:, :29]
    assert all(set(row.nonzero().squeeze(1).tolist()) <= set(some.tolist()) for row, some in zip(changed, cheapest))
