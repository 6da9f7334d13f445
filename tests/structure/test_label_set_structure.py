import logging

import pytest
import torch

from seal.constraints import AtMostOne
from seal.registry import ConfigurationError
from seal.structure import LABEL_SET_SCORES, CandidateEnergy, LabelSetStructure
from seal.structure.gain_priors import PRIORS
from seal.structure.label_sets import ClassifierScores, LabelSetCandidates, LikelySets, SetIndex
from seal.structure.row_parts import cross_fitting_parts
from tests.label_sets import all_sets

SETS = torch.tensor([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [1, 0, 0, 0, 1], [0, 1, 0, 1, 1]], dtype=torch.bool)


def rows(count=300, seed=0, sets=SETS):
    """Log-odds that tell each label with noise, of rows of which all have one of four sets."""
    generator = torch.Generator().manual_seed(seed)
    gold = sets[torch.randint(len(sets), (count,), generator=generator)]
    return 2.0 * gold - 1 + 1.2 * torch.randn(gold.shape, generator=generator), gold


@CandidateEnergy.register("noise_of_the_tests")
class Noise(CandidateEnergy):
    """Random numbers that no parameter can take back."""

    def __init__(self, num_labels):
        super().__init__()

    def forward(self, candidates):
        generator = torch.Generator().manual_seed(1)
        return 50 * torch.randn(candidates.log_prob.shape, generator=generator)


@pytest.mark.parametrize("with_validation", [True, False])
def test_where_few_sets_occur_all_scores_gain_on_new_rows(with_validation):
    structure = LabelSetStructure(5)
    report = structure.fit(*rows(), *(rows(seed=1) if with_validation else ()))
    assert report["sets"] == 4 and report["gold_competes"] == 1
    logits, gold = rows(seed=2)
    for name, score in LABEL_SET_SCORES.items():
        assert report["decisions"][name]["option"] != "own"
        assert (
            score(structure.decide(logits, name), gold).value
            > score(structure.task_net_labels(logits, name), gold).value + 0.03
        )


def test_without_validation_rows_the_gains_of_earlier_data_sets_decide():
    logits, gold = rows()
    report = LabelSetStructure(5).fit(logits, gold, logits[:0], gold[:0])
    for name, decision in report["decisions"].items():
        assert decision["option"] == PRIORS["label sets", name].start and "no validation data" in decision["told"]
        assert decision["expected"] == decision["earlier"]


def test_groups_of_validation_rows_count_once():
    given, valid = rows(), rows(60, seed=1)
    wanted = LabelSetStructure(5).fit(*given, *valid)["decisions"]
    again = [part.repeat(4, 1) for part in valid]
    found = LabelSetStructure(5).fit(*given, *again, valid_groups=torch.arange(60).repeat(4))["decisions"]
    for name in LABEL_SET_SCORES:
        assert (found[name]["instances"], found[name]["groups"]) == (240, 60)
        assert found[name]["expected"] == pytest.approx(wanted[name]["expected"])


def test_a_gate_that_is_shut_opens_for_no_gain():
    structure = LabelSetStructure(5)
    structure.is_shut = True
    report = structure.fit(*rows(), *rows(seed=1))
    assert {decision["option"] for decision in report["decisions"].values()} == {"own"}


def test_an_energy_of_random_numbers_leaves_the_own_labels():
    every = all_sets(5).bool()
    structure = LabelSetStructure(5, ["noise_of_the_tests"])
    report = structure.fit(*rows(sets=every), *rows(seed=1, sets=every))
    logits, _ = rows(seed=2, sets=every)
    for name in LABEL_SET_SCORES:
        assert report["decisions"][name]["option"] == "own"
        threshold = report["decisions"][name]["threshold"]
        assert torch.equal(structure.decide(logits, name), logits.sigmoid() >= threshold)


@pytest.mark.parametrize("with_validation", [True, False])
def test_where_no_gold_set_competes_nothing_is_learned_and_the_gate_stays_shut(with_validation, caplog):
    """Each row has another set, so that none knows its own; marginals of the others' sets gain all the same."""
    every = all_sets(9).bool()[torch.randperm(512, generator=torch.Generator().manual_seed(0))]
    parts = [every[:200], *([every[200:400]] if with_validation else [])]
    noise = torch.Generator().manual_seed(1)
    given = [part for gold in parts for part in (0.2 * gold + 2 * torch.randn(gold.shape, generator=noise), gold)]
    structure = LabelSetStructure(9)
    report = structure.fit(*given)
    assert report["gold_competes"] == 0 and report["scale"] == 1 and report["penalties"] == []
    for name in LABEL_SET_SCORES:
        assert report["decisions"][name]["option"] == "own" and not structure.is_followed(name)
    assert sum(record.levelno >= logging.WARNING for record in caplog.records) == 1
    assert "structure.num_likely" in caplog.text


def test_penalties_are_tried_from_the_largest_on_until_one_is_worse():
    (logits, gold), (new, wanted) = rows(60), rows(seed=1)
    # All labels are found too seldom, which a large penalty forbids to mend.
    structure = LabelSetStructure(5, ["label_scores", "set_count"], penalties=(1e-3, 1.0, 10.0, 1000.0))
    report = structure.fit(logits - 4, gold, new - 4, wanted)
    tried = [found["l2"] for found in report["penalties"]]
    losses = [found["validation_loss"] for found in report["penalties"]]
    assert tried == [1000.0, 10.0, 1.0, 1e-3][: len(tried)] and len(tried) > 2
    better = [after < before for before, after in zip(losses, losses[1:])]
    assert all(better[:-1]) and (not better[-1] or len(tried) == 4)
    assert report["l2"] == min(report["penalties"], key=lambda found: found["validation_loss"])["l2"]


def pairs(rows, seed, together):
    """Log-odds that say nothing; the labels 0 and 1 are in gold together or not at all, if `together`."""
    generator = torch.Generator().manual_seed(seed)
    gold = torch.randint(2, (rows, 6), generator=generator).bool()
    if together:
        gold[:, 1] = gold[:, 0]
    return 0.1 * torch.randn(rows, 6, generator=generator), gold


@pytest.mark.parametrize("gains", [True, False])
def test_pairs_of_labels_are_kept_where_they_gain_on_held_out_rows(gains):
    structure = LabelSetStructure(6, ["label_scores", "label_pairs"])
    # All sets are known.
    logits, gold = torch.zeros(128, 6), torch.cartesian_prod(*[torch.tensor([False, True])] * 6).repeat(2, 1)
    of_pairs = pairs(150, 0, together=True)
    report = structure.fit(
        torch.cat([logits, of_pairs[0]]), torch.cat([gold, of_pairs[1]]), *pairs(400, 1, together=gains)
    )
    assert report["left_out"] == ([] if gains else ["label_pairs"])
    assert bool(structure.joint.energies[1].vectors.any()) == gains
    tried = [one["validation_loss"] for one in report["penalties"]]
    assert (tried[-1] < min(tried[:-1])) == gains


def test_what_a_classifier_of_whole_sets_says_alone_is_an_option_for_exact_match():
    """Labels' scores are noise, and of the energies none sees the classifier of whole sets, which is right."""
    generator = torch.Generator().manual_seed(0)
    gold = SETS[torch.randint(4, (120,), generator=generator)]
    right = (gold.unsqueeze(1) == SETS).all(dim=2)
    scores = ClassifierScores(torch.randn(120, 5, generator=generator), SETS, torch.where(right, -0.1, -5.0))
    scores.log_prob[~right[:, 0], 0] = torch.nan
    structure = LabelSetStructure(5, ["set_count"])
    decisions = structure.fit(scores, gold)["decisions"]
    assert decisions["subset_accuracy"]["option"] == "powerset" and "powerset" not in decisions["f1"]["values"]
    assert torch.equal(structure.decide(scores, "subset_accuracy"), gold)
    # It may break a rule.
    ruled = LabelSetStructure(5, ["set_count"], constraints=[AtMostOne(["0", "1"])])
    assert "powerset" not in ruled.fit(scores, gold)["decisions"]["subset_accuracy"]["values"]


def f1_table(sets, empty_f1=1.0):
    """F1 of each two of some sets, `(..., sets, labels)`: `(..., sets, sets)`."""
    sets = sets.float()
    total = sets.sum(dim=-1).unsqueeze(-1) + sets.sum(dim=-1).unsqueeze(-2)
    return torch.where(total == 0, empty_f1, 2 * (sets @ sets.transpose(-1, -2)) / total.clamp(min=1))


def test_what_a_classifier_itself_predicts_needs_its_labels():
    logits, gold = rows()
    structure = LabelSetStructure(5)
    structure.fit(ClassifierScores(0 * logits, labels=gold), gold)
    assert structure.needs_labels and {chosen["option"] for chosen in structure.chosen.values()} == {"predict"}
    new, wanted = rows(seed=1)
    assert torch.equal(structure.decide(ClassifierScores(new, labels=wanted)), wanted)
    assert structure.probabilities_and_threshold(ClassifierScores(new, labels=wanted)) is None
    with pytest.raises(ConfigurationError, match="labels"):
        structure.decide(new)


@pytest.mark.parametrize("num_likely", [0, 6])
def test_the_decisions_against_enumeration(num_likely):
    structure = LabelSetStructure(5, num_likely=num_likely)
    structure.fit(*rows())
    logits, _ = rows(20, seed=2)
    candidates = structure.candidates(logits)
    q = structure.joint.probabilities(candidates)
    every = candidates.outputs(torch.arange(q.shape[1]).expand(20, -1))
    likeliest, expected = (structure.decide_by(logits, name) for name in ("likeliest", "expected_score"))
    marginals = structure.marginals(logits)
    for row in range(20):
        sets = every[row].bool()
        assert torch.equal(likeliest[row], sets[q[row].argmax()])
        f1 = (f1_table(sets) @ q[row]).masked_fill(q[row] < 0.1 * q[row].max(), -1)
        assert torch.equal(expected[row], sets[f1.argmax()])
        torch.testing.assert_close(marginals[row], sum(p * s for p, s in zip(q[row], every[row])))


@pytest.mark.parametrize("empty_f1", [0.0, 1.0])
@pytest.mark.parametrize("num_likely", [0, 6])
def test_the_expected_f1_is_that_of_all_candidates(num_likely, empty_f1):
    """All of them count, however many; the empty set is among the known ones, or the likely ones."""
    torch.manual_seed(0)
    logits, known = torch.randn(7, 6) - 1, all_sets(6).bool()[torch.randperm(64)[:40]]
    likely = LikelySets(logits, num_likely, SetIndex(known)) if num_likely else None
    candidates = LabelSetCandidates(logits, known.float(), torch.ones(40), likely=likely)
    q = (3 * torch.randn(7, 40 + num_likely)).softmax(dim=1)
    found = candidates.expected_f1(q, empty_f1)
    sets = candidates.outputs(torch.arange(q.shape[1]).expand(7, -1))
    assert (sets.sum(dim=2) == 0).any()
    torch.testing.assert_close(found, (f1_table(sets, empty_f1) @ q.unsqueeze(2)).squeeze(2))


@pytest.mark.parametrize("blend", [0, 0.5, 1])
def test_what_labels_are_chosen_by(blend):
    structure = LabelSetStructure(5)
    structure.fit(*rows())
    logits, _ = rows(20, seed=2)
    structure.chosen["f1"] = {"option": f"blend {blend}", "own_threshold": 0.5, "blend": blend, "threshold": 0.4}
    probabilities, threshold = structure.probabilities_and_threshold(logits)
    assert torch.equal(probabilities >= threshold, structure.decide(logits))
    wanted = (1 - blend) * logits.sigmoid() + blend * structure.marginals(logits)
    torch.testing.assert_close(probabilities, wanted)
    structure.chosen["f1"] = {"option": "likeliest", "own_threshold": 0.5, "output": 1}
    assert structure.probabilities_and_threshold(logits) is None


@pytest.mark.parametrize("num_likely", [0, 6])
def test_it_is_loaded_whatever_sets_it_was_made_of(num_likely):
    structure, other = LabelSetStructure(5, num_likely=num_likely), LabelSetStructure(5, num_likely=num_likely)
    structure.fit(*rows())
    other.fit(*rows(30, seed=3))
    other.load_state_dict(structure.state_dict())
    logits, _ = rows(seed=2)
    assert other.chosen == structure.chosen
    for name in LABEL_SET_SCORES:
        assert torch.equal(other.decide(logits, name), structure.decide(logits, name))


def test_the_index_of_the_known_sets_is_made_once(monkeypatch):
    structure, made = LabelSetStructure(5, num_likely=6), []
    structure.fit(*rows())
    original = SetIndex.__init__
    monkeypatch.setattr(SetIndex, "__init__", lambda self, sets: made.append(1) or original(self, sets))
    for seed in range(3):
        structure.decide(rows(20, seed=seed)[0])
    assert made == []
    structure.load_state_dict(structure.state_dict())
    for seed in range(3):
        structure.decide(rows(20, seed=seed)[0])
    assert made == [1]


def one_of_three(count, seed):
    """Each row has one label; how high all scores are says nothing."""
    generator = torch.Generator().manual_seed(seed)
    gold = torch.nn.functional.one_hot(torch.randint(3, (count,), generator=generator), 3).bool()
    return 3.0 * gold - 2.5 + torch.randn(count, 1, generator=generator) * 2, gold


def test_never_nothing_is_own_where_it_is_better():
    structure = LabelSetStructure(3)
    structure.is_shut = True
    structure.fit(*one_of_three(300, 0), *one_of_three(300, 1))
    logits, gold = one_of_three(300, 2)
    for name, score in LABEL_SET_SCORES.items():
        chosen = structure.chosen[name]
        assert chosen["own_never_nothing"] and structure.task_net_labels(logits, name).any(dim=1).all()
        probabilities = logits.sigmoid()
        plain = max(score(probabilities >= t, gold).value for t in torch.linspace(0.01, 0.99, 99).tolist())
        assert score(structure.task_net_labels(logits, name), gold).value > plain + 0.05
    # A state from before there was such a rule.
    del structure.chosen["f1"]["own_never_nothing"]
    assert torch.equal(structure.task_net_labels(logits), probabilities >= structure.chosen["f1"]["own_threshold"])


def test_never_nothing_is_no_rule_where_empty_sets_are_right():
    logits, gold = one_of_three(300, 0)
    empty = logits.amax(dim=1) < 0
    gold[empty] = False
    structure = LabelSetStructure(3)
    structure.fit(logits, gold, logits, gold)
    assert not any(chosen["own_never_nothing"] for chosen in structure.chosen.values())
    assert not structure.task_net_labels(logits)[empty].any()


def test_the_best_threshold_with_a_label_that_always_passes_by_enumeration():
    """Of equal scores in a row one label is taken, not all."""
    probabilities = torch.tensor([[0.0, 0.0, 0.0], [0.4, 0.2, 0.1], [0.9, 0.8, 0.1]])
    gold = torch.tensor([[1, 0, 0], [1, 0, 0], [1, 1, 0]]).bool()
    structure = LabelSetStructure(3)
    structure._count_sets(gold)
    structure._choose(ClassifierScores(probabilities), torch.zeros(3, 3, 3), gold)
    for name in LABEL_SET_SCORES:
        assert structure.chosen[name]["own_never_nothing"] and 0.2 < structure.chosen[name]["own_threshold"] <= 0.8
        assert torch.equal(structure.task_net_labels(probabilities.logit(), name), gold)


def pairs_of_ten(count, seed):
    """Noisy log-odds of ten labels of which an even number holds: 512 sets, most of which a few rows do not have."""
    generator = torch.Generator().manual_seed(seed)
    gold = torch.rand(count, 10, generator=generator) < 0.5
    gold[:, 9] ^= gold.sum(dim=1) % 2 == 1
    return 2.0 * gold - 1 + 0.8 * torch.randn(gold.shape, generator=generator), gold


def test_likely_sets_reach_gold_that_never_occurred():
    data = *pairs_of_ten(300, 0), *pairs_of_ten(300, 1)
    known = LabelSetStructure(10).fit(*data)
    structure = LabelSetStructure(10, num_likely=20)
    report = structure.fit(*data)
    assert known["gold_competes"] < 0.6 and report["gold_competes"] > 0.8
    assert set(report["decisions"]) == set(LABEL_SET_SCORES)
    logits, gold = pairs_of_ten(300, 2)
    score = LABEL_SET_SCORES["subset_accuracy"]
    own = score(structure.task_net_labels(logits, "subset_accuracy"), gold).value
    assert score(structure.decide(logits, "subset_accuracy"), gold).value >= own
    draws = structure.draw(logits, 3)
    assert draws.shape == (300, 3, 10) and set(draws.unique().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("most_rows", [100, 20])
def test_a_group_is_never_learned_from_and_judged(most_rows):
    for groups in (None, torch.arange(40) % 7, torch.zeros(40, dtype=torch.long), torch.arange(40)):
        numbers = torch.arange(40) if groups is None else groups
        parts = cross_fitting_parts(40, 3, groups, most_rows)
        assert all(not set(numbers[rest].tolist()) & set(numbers[held].tolist()) for rest, held in parts)
        judged = torch.stack([held for _, held in parts]).sum(dim=0)
        if most_rows == 100:
            assert (judged == 1).all()
        elif groups is None or len(groups.unique()) > 1:
            assert len(parts) == 1 and 0 < judged.sum() <= 10


def test_groups_of_one_row_each_are_no_groups():
    logits, gold = rows(40)
    reports = [LabelSetStructure(5).fit(logits, gold, groups=groups) for groups in (None, torch.arange(40))]
    assert reports[0] == reports[1]


def test_repeated_rows_do_not_make_their_sets_known():
    gold = all_sets(5).bool().repeat(2, 1)
    # All sets occur once: among the others none is known.
    twice = LabelSetStructure(5).fit(2.0 * gold - 1, gold, groups=torch.arange(32).repeat(2))
    assert twice["gold_competes"] == 0
    assert LabelSetStructure(5).fit(2.0 * gold - 1, gold)["gold_competes"] > 0
