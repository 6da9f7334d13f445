import math
from collections import Counter

import pytest
import torch
from allennlp.common import Params

from seal.common.tag_encodings import tags_to_spans
from seal.losses import TaskLoss
from seal.output_spaces import CrfTagSequence, TagSequence
from tests.label_sets import all_sets, label_set
from tests.spine import all_sequences, mask_of, one_hot, vocabulary

TAGS = ["O", "B-A", "I-A", "B-B"]
TWICE = {"type": "at_most_one", "labels": ["A", "B"], "each": True}


def constrained(weight=2.0, *rules, **settings):
    rules = [dict(rule) for rule in rules or [TWICE]]
    return TaskLoss.from_params(Params({"type": "constrained", "constraints": rules, "weight": weight, **settings}))


def test_it_is_cross_entropy_and_expected_counts_above_the_limit():
    torch.manual_seed(0)
    space, mask = TagSequence(vocabulary(TAGS)), mask_of([4, 2])
    logits, gold = 2 * torch.randn(2, 4, 4, dtype=torch.double), torch.randint(4, (2, 4))
    found = constrained().supervised(space, logits, gold, mask)
    probabilities = logits.softmax(dim=-1)
    for row, length in enumerate([4, 2]):
        p = probabilities[row, :length]
        # An `I-A` that continues nothing begins a span, too.
        begun = (p[:, 2] - torch.nn.functional.pad(p[:-1, 1] + p[:-1, 2], (1, 0))).clamp(min=0).sum()
        broken = max(float(p[:, 1].sum() + begun) - 1, 0.0) + max(float(p[:, 3].sum()) - 1, 0.0)
        expected = space.cross_entropy(logits, gold, mask)[row] + 2.0 * broken
        assert found[row] == pytest.approx(float(expected))
    assert not torch.allclose(found, space.cross_entropy(logits, gold, mask))


@pytest.mark.parametrize("chain", [False, True])
def test_a_certain_output_pays_for_each_that_is_too_many(chain):
    """Every sequence of four tags, as logits that are sure of it; a chain without scores of pairs."""
    sequences = all_sequences(4, 4)
    space = CrfTagSequence(vocabulary(TAGS), constrained=False) if chain else TagSequence(vocabulary(TAGS))
    logits = 200 * one_hot(sequences, 4)
    if chain:
        space = space.double()
        for parameter in space.parameters():
            torch.nn.init.zeros_(parameter)
    extra = constrained().supervised(space, logits, sequences) - space.cross_entropy(logits, sequences)
    spans = [Counter(label for label, _, _ in tags_to_spans([TAGS[t] for t in row])) for row in sequences.tolist()]
    counts = [sum(count - 1 for count in of.values()) for of in spans]
    assert torch.allclose(extra, 2.0 * torch.tensor(counts, dtype=torch.double))


def test_rules_of_label_sets():
    rule = {"type": "implication", "implies": {"l0": "l2"}}
    sets = all_sets(3)
    extra = constrained(3.0, rule).supervised(label_set(3), 200 * (2 * sets - 1), sets)
    assert torch.allclose(extra, torch.tensor([3.0 if a and not c else 0.0 for a, _, c in sets.tolist()]).double())


def test_its_gradient():
    torch.manual_seed(0)
    space, mask = TagSequence(vocabulary(TAGS)), mask_of([4, 2])
    logits = torch.randn(2, 4, 4, dtype=torch.double, requires_grad=True)
    gold, loss = torch.randint(4, (2, 4)), constrained()
    assert torch.autograd.gradcheck(lambda logits: loss.supervised(space, logits, gold, mask), logits)


def test_with_weight_0_it_is_cross_entropy():
    space, logits, gold = TagSequence(vocabulary(TAGS)), torch.randn(2, 5, 4), torch.randint(4, (2, 5))
    assert torch.equal(constrained(0.0).supervised(space, logits, gold), space.cross_entropy(logits, gold))


def test_log_space():
    """Against loops over roles and pairs of tokens; padding counts for nothing."""
    torch.manual_seed(0)
    space, mask = TagSequence(vocabulary(TAGS)), mask_of([4, 2])
    logits, gold = 3 * torch.randn(2, 4, 4, dtype=torch.double), torch.randint(4, (2, 4))
    found = constrained(log_space=True).supervised(space, logits, gold, mask)
    broken = 0
    for row, length in enumerate([4, 2]):
        p = logits[row, :length].softmax(dim=-1)
        expected = 0.0
        for tag in (1, 3):
            for t in range(length):
                least = min(math.log(1 - float(p[u, tag])) for u in range(length) if u != t)
                expected += max(math.log(float(p[t, tag])) - least, 0.0)
        broken += expected > 0
        assert float(found[row] - space.cross_entropy(logits, gold, mask)[row]) == pytest.approx(2.0 * expected)
    assert broken
    logits.requires_grad_()
    loss = constrained(log_space=True)
    assert torch.autograd.gradcheck(lambda logits: loss.supervised(space, logits, gold, mask), logits)


def test_log_space_of_certain_outputs_and_of_one_word():
    space, loss = TagSequence(vocabulary(TAGS)), constrained(1.0, log_space=True)
    for tags, times in (([1, 2, 3, 0], 0), ([1, 1, 0, 0], 2), ([1, 3, 1, 3], 4), ([1], 0)):
        tags = torch.tensor([tags])
        logits = 200 * one_hot(tags, 4)
        extra = loss.supervised(space, logits, tags) - space.cross_entropy(logits, tags)
        assert float(extra) == pytest.approx(-times * math.log(1e-6), abs=1e-4)
