import torch
from torch.nn import functional as F

from seal.structure.energies import LabelScores, SetCount
from seal.structure.joint_score import JointScore
from seal.structure.label_sets import LabelSetCandidates, LikelySets, SetIndex, known_sets

GOLD = torch.tensor([[1, 0, 0], [1, 0, 0], [0, 1, 1], [0, 0, 0], [1, 0, 0], [0, 1, 1]])


def test_known_sets_have_their_counts_the_most_frequent_first():
    sets, counts = known_sets(GOLD)
    assert sets.tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 0]] and counts.tolist() == [3, 2, 1]
    assert known_sets(GOLD, limit=1)[0].tolist() == [[1, 0, 0]]


def test_gold_is_found_by_its_labels():
    sets, _ = known_sets(GOLD)
    assert SetIndex(sets).of(torch.tensor([[0, 1, 1], [1, 1, 1], [0, 0, 0]])).tolist() == [1, -1, 2]


def test_the_log_probability_is_that_of_independent_labels():
    torch.manual_seed(0)
    logits, (sets, counts) = torch.randn(4, 3) * 5, known_sets(GOLD)
    found = LabelSetCandidates(logits, sets, counts).log_prob
    wanted = -F.binary_cross_entropy_with_logits(
        logits.unsqueeze(1).expand(4, 3, 3), sets.expand(4, 3, 3), reduction="none"
    ).sum(dim=2)
    torch.testing.assert_close(found, wanted)


def test_an_instances_own_occurrence_is_left_out():
    sets, counts = known_sets(GOLD)
    own = LabelSetCandidates(torch.zeros(len(GOLD), 3), sets, counts, SetIndex(sets).of(GOLD), excluded=True)
    # The set that occurs once is not known to the instance that has it, as that of a new instance would not be.
    assert own.gold.tolist() == [0, 0, 1, -1, 0, 1]
    assert own.log_prob[3].isneginf().tolist() == [False, False, True]
    log_counts = own.log_counts
    for row, gold in enumerate(own.gold.tolist()):
        for place, count in enumerate(counts.tolist()):
            assert log_counts[row, place].exp().round() == max(count - (place == gold), 1)


def test_the_occurrences_of_a_group_are_left_out():
    sets, counts = known_sets(GOLD)
    index = SetIndex(sets).of(GOLD)
    # Rows 0 and 1 are one group, rows 2 and 5 another; each has the set of the other.
    own = LabelSetCandidates(
        torch.zeros(len(GOLD), 3), sets, counts, index, excluded=torch.tensor([2.0, 2, 2, 1, 1, 2])
    )
    assert counts.tolist() == [3, 2, 1] and own.gold.tolist() == [0, 0, -1, -1, 0, -1]
    assert own.log_counts[:, 0].exp().round().tolist() == [1, 1, 3, 3, 2, 3]
    some = own.with_gold()
    assert some.excluded.tolist() == [2, 2, 1] and torch.equal(some.log_counts, own.log_counts[[0, 1, 4]])


def test_instances_whose_gold_does_not_compete_add_nothing_to_the_loss():
    torch.manual_seed(0)
    joint = JointScore([SetCount(3), LabelScores(3)])
    for parameter in joint.parameters():
        parameter.data.normal_()
    sets, counts = known_sets(GOLD)
    whole = LabelSetCandidates(torch.randn(len(GOLD), 3), sets, counts, SetIndex(sets).of(GOLD), excluded=True)
    some = whole.with_gold()
    assert len(some.logits) == 5 and (some.gold >= 0).all()
    torch.testing.assert_close(joint.loss(some), joint.loss(whole))


def test_likely_sets_compete_beside_known_ones():
    torch.manual_seed(0)
    logits, (sets, counts) = torch.randn(len(GOLD), 3), known_sets(GOLD)
    plain = LabelSetCandidates(logits, sets, counts)
    both = LabelSetCandidates(logits, sets, counts, likely=LikelySets(logits, 8, SetIndex(sets)))
    index = torch.arange(len(sets) + 8).expand(len(GOLD), -1)
    outputs, scores = both.outputs(index), torch.cat([part.log_prob for part in both.parts()], dim=1)
    wanted = -F.binary_cross_entropy_with_logits(logits.unsqueeze(1).expand_as(outputs), outputs, reduction="none")
    competes = ~scores.isneginf()
    torch.testing.assert_close(scores[competes], wanted.sum(dim=2)[competes])
    assert torch.equal(scores[:, : len(sets)], plain.log_prob)
    # With all sets there are, each competes once.
    every = torch.cartesian_prod(*[torch.arange(2.0)] * 3)
    for row in range(len(GOLD)):
        assert sorted(outputs[row][competes[row]].tolist()) == sorted(every.tolist())
    q = scores.softmax(dim=1)
    torch.testing.assert_close(both.marginals(q), (q.unsqueeze(2) * outputs).sum(dim=1))


def test_gold_among_likely_sets():
    torch.manual_seed(0)
    logits, (sets, counts) = torch.randn(len(GOLD), 3), known_sets(GOLD)
    # The set of row 3 occurs there alone: to itself it is not known, and may be likely.
    likely = LikelySets(logits, 8, SetIndex(sets), GOLD)
    own = LabelSetCandidates(logits, sets, counts, SetIndex(sets).of(GOLD), excluded=True, likely=likely)
    assert torch.equal(own.outputs(own.gold.unsqueeze(1)).squeeze(1), GOLD.float())
    assert (own.gold >= len(sets)).tolist() == [False, False, False, True, False, False]
    new = torch.tensor([[1, 1, 1]] * len(GOLD))
    known = SetIndex(sets)
    others = LabelSetCandidates(logits, sets, counts, known.of(new), likely=LikelySets(logits, 8, known, new))
    assert torch.equal(others.outputs(others.gold.unsqueeze(1)).squeeze(1), new.float())
    few = LabelSetCandidates(logits, sets, counts, known.of(new), likely=LikelySets(logits, 1, known, new))
    assert torch.equal(few.gold >= 0, (logits >= 0).all(dim=1))
    joint = JointScore([SetCount(3), LabelScores(3)])
    for parameter in joint.parameters():
        parameter.data.normal_()
    torch.testing.assert_close(joint.loss(few.with_gold()), joint.loss(few))
    torch.testing.assert_close(joint.loss(own.with_gold()), joint.loss(own))
