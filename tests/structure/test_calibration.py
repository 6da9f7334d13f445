"""Calibration against data whose probabilities are known, and closed forms."""

import math
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from seal.constraints import AtMostOne
from seal.structure import LabelSetStructure, TagPaths, TagStructure
from seal.structure.calibration import Calibration, CalibrationData, logistic
from seal.tagger import StructuredTagger, cross_fit
from tests.label_sets import all_sets

ROOT = Path(__file__).resolve().parents[2]


def drawn(temperature, share, count=20000, candidates=6):
    """
    Joint scores, log-probabilities, and gold: in the `share` of instances one of the candidates, drawn from their
    softmax at a temperature.
    """
    generator = torch.Generator().manual_seed(0)
    score = 2 * torch.randn(count, candidates, generator=generator)
    log_prob = torch.randn(count, candidates, generator=generator).log_softmax(dim=1) + math.log(0.5)
    gold = torch.multinomial((score / temperature).softmax(dim=1), 1, generator=generator).squeeze(1)
    competes = torch.rand(count, generator=generator) < share
    return score, log_prob, torch.where(competes, gold, -1)


@pytest.mark.parametrize("temperature, share", [(0.5, 0.9), (1.0, 0.5), (2.5, 0.7)])
def test_a_known_temperature_and_share_are_found(temperature, share):
    score, log_prob, gold = drawn(temperature, share)
    calibration = Calibration.fit(CalibrationData.of(score, log_prob, gold))
    assert calibration.temperature == pytest.approx(temperature, rel=0.02)
    expected = share * (score / temperature).softmax(dim=1)
    assert torch.allclose(calibration.log_probabilities(score, log_prob).exp().float(), expected, atol=0.03)


def test_the_share_follows_what_the_task_net_says_of_all_candidates_together():
    generator = torch.Generator().manual_seed(0)
    mass = torch.rand(5000, generator=generator).clamp(0.01, 0.99)
    score, log_prob = torch.zeros(5000, 2), (mass / 2).log().unsqueeze(1).expand(-1, 2)
    competes = torch.rand(5000, generator=generator) < mass
    gold = torch.where(competes, torch.randint(2, (5000,), generator=generator), -1)
    calibration = Calibration.fit(CalibrationData.of(score, log_prob, gold))
    found = calibration.log_probabilities(score, log_prob).exp().sum(dim=1).float()
    assert (found - mass).abs().max() < 0.03


def test_the_share_follows_how_sure_the_joint_score_is():
    """Gold competes mostly where one candidate is far above the others."""
    generator = torch.Generator().manual_seed(0)
    score = 2 * torch.randn(5000, 3, generator=generator)
    log_prob = torch.full((5000, 3), math.log(0.2))
    likeliest = score.softmax(dim=1).amax(dim=1).double()
    share = (0.5 + torch.logit(likeliest)).sigmoid()
    competes = torch.rand(5000, generator=generator) < share
    drawn = torch.multinomial(score.softmax(dim=1), 1, generator=generator).squeeze(1)
    calibration = Calibration.fit(CalibrationData.of(score, log_prob, torch.where(competes, drawn, -1)))
    found = calibration.log_probabilities(score, log_prob).exp().sum(dim=1)
    assert (found - share).abs().max() < 0.03


@pytest.mark.parametrize("likeliest", [None, [0.2, 1.4], [-1.0, 0.5]])
def test_candidates_keep_their_order_and_what_they_leave_is_the_others(likeliest):
    generator = torch.Generator().manual_seed(0)
    score = torch.randn(50, 7, generator=generator).double()
    every = (3 * torch.randn(50, 10, generator=generator)).double().log_softmax(dim=1)
    calibration = Calibration(0.7, [0.3, 0.8, -0.5], likeliest)
    inside = calibration.log_probabilities(score, every[:, :7])
    outside = calibration.log_probability_of_others(score, every[:, :7], every[:, 7:])
    assert bool((inside.gather(1, score.argsort(dim=1)).diff(dim=1) > -1e-9).all())
    assert torch.allclose(torch.cat([inside, outside], dim=1).exp().sum(dim=1), torch.ones(50).double())
    assert torch.allclose(outside.softmax(dim=1), every[:, 7:].softmax(dim=1))


def test_the_likeliest_candidate_is_as_likely_as_it_is_right():
    """Where gold is mostly the likeliest one, and otherwise any of the others: of no softmax at any temperature."""
    generator = torch.Generator().manual_seed(0)
    score = torch.randn(8000, 30, generator=generator)
    likeliest = score.argmax(dim=1)
    right = torch.rand(8000, generator=generator) < torch.where(score.amax(dim=1) > 2, 0.9, 0.3)
    gold = torch.where(right, likeliest, torch.randint(30, (8000,), generator=generator))
    log_prob = torch.full((8000, 30), math.log(1 / 31))
    calibration = Calibration.fit(CalibrationData.of(score, log_prob, gold))
    found = calibration.log_probabilities(score, log_prob).exp().amax(dim=1)
    right = (gold == likeliest).double()
    assert float(found.mean()) == pytest.approx(float(right.mean()), abs=0.01)
    earlier = Calibration(calibration.temperature, calibration.weights)
    off = earlier.log_probabilities(score, log_prob).exp().amax(dim=1)
    assert abs(float(off.mean() - right.mean())) > 0.1
    of_gold = gold.unsqueeze(1)
    losses = [-each.log_probabilities(score, log_prob).gather(1, of_gold).mean() for each in (calibration, earlier)]
    assert losses[0] < losses[1]


def test_a_calibration_of_an_earlier_version_has_two_weights():
    score, log_prob, _ = drawn(1.0, 1.0, count=50)
    mass = log_prob.double().exp().sum(dim=1)
    share = (0.4 + 0.6 * torch.logit(mass)).sigmoid()
    found = Calibration(**{"temperature": 2.0, "weights": [0.4, 0.6]}).log_probabilities(score, log_prob)
    assert torch.allclose(found.exp(), share.unsqueeze(1) * (score.double() / 2).softmax(dim=1))


def test_without_data_the_temperature_is_one():
    score, log_prob, _ = drawn(1.0, 1.0, count=3)
    calibration = Calibration.fit(CalibrationData.of(score, log_prob, torch.full((3,), -1)))
    assert calibration.temperature == pytest.approx(1.0)


def test_what_is_ruled_out_shares_what_is_left_and_fillers_have_nothing():
    score = torch.tensor([[1.0, 0.0, -torch.inf, -torch.inf]])
    log_prob = torch.tensor([0.2, 0.3, 0.1, 0.0]).log().unsqueeze(0)
    calibration = Calibration(2.0, [math.log(4), 0.0])
    first = math.exp(0.5) / (math.exp(0.5) + 1)
    expected = torch.tensor([[0.8 * first, 0.8 * (1 - first), 0.2 * 0.1 / 0.5, 0.0]])
    assert torch.allclose(calibration.log_probabilities(score, log_prob).exp().float(), expected, atol=1e-6)
    # Rounding may leave less for the others than one of them has.
    sure = torch.tensor([[0.0, -1e9]])
    others = calibration.log_probability_of_others(score[:, :2], sure, torch.tensor([[-1e-3]])).exp()
    assert float(others) == pytest.approx(0.2)


def test_logistic_regression_by_its_closed_form():
    """Of one feature of two values the weights are differences of log-odds, but for priors of little weight."""
    feature = torch.tensor([0.0, 1.0]).repeat_interleave(10000).double()
    targets = torch.cat([torch.arange(10000) < 2000, torch.arange(10000) < 9000]).double()
    weights = logistic(torch.stack([torch.ones_like(feature), feature], dim=1), targets)
    expected = torch.tensor([math.log(0.2 / 0.8), math.log(0.9 / 0.1) - math.log(0.2 / 0.8)]).double()
    assert torch.allclose(weights, expected, atol=0.01)


def label_sets(count, seed):
    """Log-odds, too sure by a factor of three, and gold of four labels; a quarter of gold has a label more."""
    generator = torch.Generator().manual_seed(seed)
    known = torch.tensor([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 1, 0, 1]], dtype=torch.bool)
    gold = known[torch.randint(4, (count,), generator=generator)]
    gold = gold ^ (torch.rand(count, 4, generator=generator) < 0.07)
    return 3 * (2.0 * gold - 1 + 1.5 * torch.randn(count, 4, generator=generator)), gold


def fitted(**settings):
    structure = LabelSetStructure(4, most_sets=4, **settings)
    return structure, structure.fit(*label_sets(600, 0), *label_sets(600, 1))


@pytest.mark.parametrize("settings", [{}, {"num_likely": 2}, {"constraints": [AtMostOne(["0", "2"])]}])
def test_the_probabilities_of_all_label_sets_sum_to_one(settings):
    structure, _ = fitted(**settings)
    logits, _ = label_sets(20, 2)
    every = all_sets(4).bool()
    found = torch.stack([structure.probability_of(logits, one.expand(20, 4)) for one in every], dim=1)
    assert torch.allclose(found.sum(dim=1), torch.ones(20), atol=1e-4) and bool((found >= 0).all())


def test_sets_and_labels_are_as_likely_as_they_are_right():
    structure, report = fitted()
    assert report["calibration"]["temperature"] == structure.calibration.temperature
    logits, gold = label_sets(5000, 2)
    for score in structure.chosen:
        predicted = structure.decide(logits, score)
        found, right = structure.probability_of(logits, predicted), (predicted == gold).all(dim=1)
        for rows in found.argsort().chunk(5):
            assert abs(float(found[rows].mean() - right[rows].float().mean())) < 0.06
    of_labels = structure.marginals(logits, calibrated=True)
    for rows in of_labels.flatten().argsort().chunk(5):
        assert abs(float(of_labels.flatten()[rows].mean() - gold.flatten()[rows].float().mean())) < 0.03

    def loss(probabilities):
        return float(F.binary_cross_entropy(probabilities.clamp(1e-6, 1 - 1e-6), gold.float()))

    assert loss(of_labels) < min(loss(structure.marginals(logits)), loss(logits.sigmoid())) - 0.01


def test_without_validation_data_the_rows_calibrate_that_the_gate_judges():
    structure = LabelSetStructure(4, most_sets=4)
    structure.fit(*label_sets(1200, 0))
    logits, gold = label_sets(3000, 2)
    found = structure.probability_of(logits, structure.decide_by(logits, "likeliest"))
    right = (structure.decide_by(logits, "likeliest") == gold).all(dim=1)
    assert float(found.mean()) == pytest.approx(float(right.float().mean()), abs=0.04)


def test_where_the_gate_is_shut_probabilities_are_the_task_nets():
    structure = LabelSetStructure(4)
    structure.is_shut = True
    structure.fit(*label_sets(300, 0), *label_sets(300, 1))
    logits, gold = label_sets(10, 2)
    assert torch.equal(structure.marginals(logits, calibrated=True), logits.sigmoid())
    own = torch.where(gold, logits.sigmoid(), (-logits).sigmoid()).prod(dim=1)
    assert torch.allclose(structure.probability_of(logits, gold), own, atol=1e-6)


TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]


def paths(count, seed):
    """Two candidates of five tokens, the right one among them in four of five cases, its log-odds too small."""
    generator = torch.Generator().manual_seed(seed)
    wrong, right = torch.tensor([1, 2, 0, 1, 2]), torch.tensor([1, 2, 0, 3, 4])
    tags = torch.stack([wrong, right]).expand(count, 2, 5)
    scores = torch.tensor([0.3, 0.0]) + 0.3 * torch.randn(count, 2, generator=generator)
    scores, order = scores.sort(dim=1, descending=True)
    tags = tags.gather(1, order.unsqueeze(2).expand(-1, -1, 5))
    gold = right.expand(count, 5).clone()
    gold[torch.rand(count, generator=generator) < 0.2, 2] = 1
    mask = torch.ones(count, 5, dtype=torch.bool)
    return TagPaths(tags, scores.log_softmax(dim=1) - 0.1, mask, gold=gold)


def test_a_chosen_sequence_has_its_own_probability_and_no_other_decision():
    structure = TagStructure(TAGS, encoding="BIO", keyed=False, energies=["role_counts"])
    structure.fit([paths(400, 0)], [paths(300, 1)])
    new = paths(500, 2)
    before = {score: structure.decide(new, score) for score in structure.scores}
    tags, log_prob, probability = structure.decide_with_probability(new)
    assert torch.equal(tags, before["f1"][0]) and torch.equal(log_prob, before["f1"][1])
    assert float(probability.mean()) == pytest.approx(0.8, abs=0.05) and float(log_prob.exp().mean()) < 0.6
    together = structure.calibrated(structure.candidates(new)).sum(dim=1)
    assert float(together.mean()) == pytest.approx(0.8, abs=0.05)
    structure.calibration = Calibration(7.0, [-3.0, 1.0])
    for score, (tags, log_prob) in before.items():
        again = structure.decide(new, score)
        assert torch.equal(again[0], tags) and torch.equal(again[1], log_prob)


def test_the_task_nets_own_sequence_has_the_same_probability_where_the_gate_chose_it():
    structure = TagStructure(TAGS, encoding="BIO", keyed=False, energies=["role_counts"])
    structure.fit([paths(400, 0)], [paths(300, 1)])
    new = paths(50, 2)
    structure.chosen = {"f1": "own", "exact_match": "own"}
    tags, _, probability = structure.decide_with_probability(new)
    assert torch.equal(tags, new.tags[:, 0])
    assert torch.allclose(probability.float(), structure.calibrated(structure.candidates(new))[:, 0], atol=1e-6)


def test_a_calibration_is_saved_with_the_structure():
    structure, _ = fitted()
    again = LabelSetStructure(4, most_sets=4)
    again.load_state_dict(structure.state_dict())
    logits, gold = label_sets(30, 2)
    assert torch.equal(again.probability_of(logits, gold), structure.probability_of(logits, gold))
    assert torch.equal(again.marginals(logits, calibrated=True), structure.marginals(logits, calibrated=True))
    # One of before there were calibrations.
    state = structure._state()
    again._set_state({"chosen": state["chosen"]})
    assert again.calibration is None and torch.equal(again.marginals(logits, calibrated=True), logits.sigmoid())


def test_on_the_sample_candidates_are_as_likely_as_they_are_right():
    """With a tagger that counts the tags of words: what it says alone is far from that."""
    sentences, choosing, new = (read_sample(name) for name in ("train", "dev", "test"))
    labels = sorted({tag for _, tags in sentences for tag in tags})
    tagger = StructuredTagger(labels)
    valid = {"emissions": counted_emissions(labels, sentences, choosing), "gold": [tags for _, tags in choosing]}
    tagger.fit(cross_fit(partial(counted_emissions, labels), sentences), [tags for _, tags in sentences], valid=valid)
    found = tagger.predict_k(counted_emissions(labels, sentences, new))
    chosen = [next(one for one in candidates if one.chosen) for candidates in found]
    right = torch.tensor([one.tags == list(tags) for one, (_, tags) in zip(chosen, new)]).float()
    joint = torch.tensor([one.joint for one in chosen])
    alone = torch.tensor([one.log_prob for one in chosen]).exp()
    assert float(joint.mean()) == pytest.approx(float(right.mean()), abs=0.08)
    assert abs(float(alone.mean() - right.mean())) > 0.2
    for half in joint.argsort().chunk(2):
        assert float(joint[half].mean()) == pytest.approx(float(right[half].mean()), abs=0.1)


def read_sample(name):
    """The sentences of the sample of entities, words and tags each."""
    parts = (ROOT / "data" / "tagging_sample" / f"{name}.tsv").read_text(encoding="utf-8").strip().split("\n\n")
    return [tuple(zip(*(line.split("\t")[::2] for line in part.splitlines()))) for part in parts]


def counted_emissions(labels, seen, unseen):
    """The log-odds of each word's tags, by how often it had them and by how often a tag followed the word before."""
    tables = [defaultdict(Counter), defaultdict(Counter)]
    for words, tags in seen:
        for before, word, tag in zip(("", *words), words, tags):
            tables[0][word][tag] += 1
            tables[1][before][tag] += 1
    found = []
    for words, _ in unseen:
        counts = [
            torch.tensor([[table[key][tag] + 0.3 for tag in labels] for key in keys])
            for table, keys in zip(tables, (words, ("", *words[:-1])))
        ]
        found.append(sum(table.log() - table.sum(dim=1, keepdim=True).log() for table in counts))
    return found
