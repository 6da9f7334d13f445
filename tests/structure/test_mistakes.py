"""A wrong setting, or a wrong value, is named."""

from functools import partial

import pytest
import torch

from seal.registry import ConfigurationError
from seal.structure import LabelSetStructure, TreeStructure
from seal.structure.decisions import ExpectedScore
from tests.trees import SYMBOLS


def learned(**settings):
    return LabelSetStructure(2, **settings).fit(torch.zeros(0, 2), torch.zeros(0, 2))


def trees(*energies, **settings):
    return TreeStructure(SYMBOLS, energies=list(energies) or None, **settings)


@pytest.mark.parametrize(
    "make, named",
    [
        (partial(ExpectedScore, 1.5), "structure.least.*1.5"),
        (learned, "rows"),
        (partial(learned, most_rows=0), "structure.most_rows"),
        (partial(learned, num_likely=-1), "structure.num_likely.*-1"),
        (partial(learned, energies=[{"type": "label_pairs", "rank": -3}]), "rank .*'label_pairs'.*-3"),
        (partial(trees, num_candidates=1), "num_candidates.*1"),
        (partial(trees, {"type": "tree_rules", "depth": 2}), "'tree_rules' .*'depth'"),
        (partial(trees, "role_counts"), "'role_counts'"),
        (partial(trees, {"type": "tree_rules", "shrinkage": 0}), "shrinkage .*'tree_rules'"),
        (partial(trees, {"type": "tree_attachments", "shrinkage": 0}), "shrinkage .*'tree_attachments'"),
        (lambda: trees().fit([], []), "none"),
    ],
)
def test_it_is_named(make, named):
    with pytest.raises(ConfigurationError, match=named):
        make()
