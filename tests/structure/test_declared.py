import torch
from allennlp.common import Params

from seal.constraints import AtMostOne, Implication
from seal.output_spaces import TagSequence
from seal.structure import LabelSetStructure, Structure, TagPaths, TagStructure
from tests.spine import LABELS, mask_of, vocabulary

RULE = AtMostOne(["A"])


def paths(count, seed):
    """Sequences of which gold has at most one A, and scores that would often have two."""
    torch.manual_seed(seed)
    space, mask = TagSequence(vocabulary(LABELS)), mask_of([5] * count)
    gold = torch.zeros(count, 5, dtype=torch.long)
    gold[torch.arange(count), torch.randint(5, (count,))] = LABELS.index("B-A")
    logits = 2.0 * torch.nn.functional.one_hot(gold, 5) + 1.5 * torch.randn(count, 5, 5)
    logits[..., LABELS.index("B-A")] += 1
    return TagPaths(*space.k_best(logits, 10, mask), mask, gold, [""] * count)


def breaks(tags):
    return int(((tags == LABELS.index("B-A")).sum(dim=1) > 1).sum())


def test_chosen_sequences_keep_the_rule():
    structure = TagStructure(LABELS, "BIO", keyed=False, constraints=[RULE])
    report = structure.fit([paths(150, 1)], [paths(150, 2)])
    new = paths(150, 3)
    assert structure.uses_candidates()
    chosen, log_prob = structure.decide(new)
    kept = [row for row in range(150) if breaks(new.tags[row]) < 10]
    assert breaks(new.tags[kept, 0]) > 20 and breaks(chosen[kept]) == 0
    assert report["violations"]["gold"] == {"at_most_1_A": 0}
    assert report["violations"]["own"]["at_most_1_A"] > 2 * report["violations"]["chosen"]["at_most_1_A"]
    # The log-probability is that of the chosen sequence.
    place = (new.tags == chosen.unsqueeze(1)).all(dim=2).float().argmax(dim=1)
    assert torch.equal(log_prob, new.log_prob[torch.arange(150), place])


def test_violations_are_counted_until_they_are_read():
    structure = TagStructure(LABELS, "BIO", keyed=False, constraints=[RULE])
    two, one = torch.tensor([[1, 1, 1, 0]]), torch.tensor([[1, 0, 0, 1]])
    structure.count_broken(one, two, mask_of([4]))
    structure.count_broken(one, two, mask_of([4])[:, :4] & (torch.arange(4) < 3))
    assert structure.violations(reset=True) == {"violations_at_most_1_A": 1, "violations_at_most_1_A_own": 4}
    assert structure.violations() == {}


def test_rules_among_label_sets():
    """Of the sets that training has, one breaks the rule; it is never the likeliest."""
    sets = torch.tensor([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=torch.bool)
    torch.manual_seed(0)
    gold = sets[torch.randint(3, (200,))]
    logits = 2.0 * gold - 1 + torch.randn(200, 3)
    structure = LabelSetStructure(3, constraints=[Implication({"a": "b"})], names=["a", "b", "c"])
    report = structure.fit(logits, gold)
    assert report["violations"]["gold"]["implication_a_b"] > 50
    assert report["violations"]["likeliest"]["implication_a_b"] == 0
    assert not (structure._outputs(logits)[:, 1] == sets[2]).all(dim=1).any()


def test_from_a_config():
    params = Params({"type": "tags", "constraints": [{"type": "at_most_one", "labels": ["A"], "each": True}]})
    structure = Structure.from_params(params, tags=LABELS, encoding="BIO", keyed=False)
    assert structure.broken(torch.tensor([[1, 1, 0]])) == {"at_most_1_of_each_A": 1}
