import pytest
import torch

from seal.constraints import AtMostOne, Implication
from seal.output_spaces import TagSequence
from seal.structure import LabelSetStructure, TagPaths, TagStructure
from tests.label_sets import all_sets
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


def test_own_sequences_keep_the_rule_and_change_only_where_they_break_it():
    structure = TagStructure(LABELS, "BIO", keyed=False, constraints=[RULE])
    structure.is_shut = True
    report = structure.fit([paths(150, 1)], [paths(150, 2)])
    assert structure.chosen == {"f1": "own", "exact_match": "own"} and structure.uses_candidates()
    new = paths(150, 3)
    chosen, log_prob = structure.decide(new)
    best = []
    for sequences in new.tags:
        broken = [max((row == LABELS.index("B-A")).sum().item() - 1, 0) for row in sequences]
        best.append(broken.index(min(broken)))
    rows = torch.arange(150)
    assert torch.equal(chosen, new.tags[rows, best]) and torch.equal(log_prob, new.log_prob[rows, best])
    assert sum(map(bool, best)) > 20 and best.count(0) > 20
    assert report["violations"]["own"]["at_most_1_A"] > report["violations"]["chosen"]["at_most_1_A"]
    # What the gate was shown of the task-net's own output is what `decide` gives.
    valid = paths(150, 2)
    right = (structure.decide(valid)[0] == valid.gold).all(dim=1).double().mean().item()
    assert report["decisions"]["exact_match"]["values"]["own"] == pytest.approx(right)


def test_own_frames_keep_what_the_training_data_keep():
    tags = ["O", "B-V", "B-ARG0", "B-ARG1"]

    def frames(count, twice):
        candidates = torch.tensor([[2, 1, 2, 0], [2, 1, 3, 0], [2, 1, 0, 0]]).expand(count, -1, -1)
        log_prob = torch.tensor([[0.0, -1.0, -2.0], [-2.0, 0.0, -1.0]])[0 if twice else 1].expand(count, -1)
        order = log_prob.argsort(dim=1, descending=True)
        candidates = candidates.gather(1, order.unsqueeze(2).expand_as(candidates))
        # No two sentences are equal: the same frame again would say nothing of a rule.
        words = [[f"w{row}", "go", "and", "so"] for row in range(count)]
        return TagPaths(
            candidates, log_prob.gather(1, order), mask_of([4] * count), candidates[:, 1], ["go"] * count, words=words
        )

    structure = TagStructure(tags, "BIO", keyed=True, energies=["role_counts"])
    structure.is_shut = True
    structure.fit([frames(300, False)], [frames(20, False)])
    assert structure.learned_rules is not None and set(structure.chosen.values()) == {"own"}
    assert structure.decide(frames(3, True))[0].tolist() == [[2, 1, 3, 0]] * 3
    assert structure.decide(frames(3, False))[0].tolist() == [[2, 1, 3, 0]] * 3


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


@pytest.mark.parametrize("option", ["own", "blend 0.5"])
@pytest.mark.parametrize("num_likely", [0, 3])
def test_labels_by_a_threshold_keep_the_rule_and_change_only_where_they_break_it(option, num_likely):
    torch.manual_seed(0)
    sets = all_sets(4).bool()
    sets = sets[~(sets[:, 0] & ~sets[:, 1])]
    gold = sets[torch.randint(len(sets), (300,))]
    logits = 2.0 * gold - 1 + 1.5 * torch.randn(300, 4)
    rule = Implication({"a": "b"})
    structure = LabelSetStructure(4, constraints=[rule], names=list("abcd"), num_likely=num_likely)
    report = structure.fit(logits[:150], gold[:150], logits[150:], gold[150:])
    settings = {"blend": 0.0 if option == "own" else 0.5, "threshold": 0.45, "never_nothing": False}
    structure.chosen["f1"] = {"option": option, "own_threshold": 0.45, "own_never_nothing": False, **settings}
    outputs = structure._outputs(logits)
    mixed = torch.lerp(logits.sigmoid(), outputs[:, 0], settings["blend"])
    wanted = mixed >= 0.45
    breaks = wanted[:, 0] & ~wanted[:, 1]
    # Of the sets that keep the rule, the likeliest under the task-net, or under the structure.
    log_prob = logits @ sets.float().T
    best = sets[log_prob.argmax(dim=1)] if option == "own" else outputs[:, 1].bool()
    assert 5 < breaks.sum() < 100
    assert torch.equal(structure.decide(logits), torch.where(breaks.unsqueeze(1), best, wanted))
    assert structure.broken(structure.decide(logits))["implication_a_b"] == 0
    # The labels without the structure stay as they are.
    if option == "own":
        assert torch.equal(structure.task_net_labels(logits), wanted)
    assert report["violations"]["gold"]["implication_a_b"] == 0
