import random

import pytest
import torch

from seal.common.tag_encodings import tags_to_spans
from seal.structure import TagPaths, TagStructure
from seal.structure.gain_priors import PRIORS
from seal.structure.serialization import to_bytes
from seal.tasks.srl.srl_score import frame_counts
from tests.structure.makers import ENCODINGS, random_tags


def f1(one, other, keyed=False):
    """Of two sequences of names, of spans or of arguments as `SrlScore` has them; 1 where neither has one."""
    if keyed:
        counts = frame_counts(one, other)
        shared, *sizes = (part.total() for part in (counts.correct, counts.predicted, counts.gold))
        return 2 * shared / sum(sizes) if sum(sizes) else 1.0
    one, other = (set(tags_to_spans(tags)) for tags in (one, other))
    total = len(one) + len(other)
    return 2 * len(one & other) / total if total else 1.0


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_similarity_is_the_f1_of_the_scores(encoding, keyed):
    """A tagger's counts all spans; that of frames joins `C-X` to `X` and leaves predicates out."""
    further = ["B-V", "I-V", "B-C-A", "B-C-V"] if encoding == "BIO" else ["S-V", "S-C-A", "S-C-V", "S-C-none"]
    tags = [*ENCODINGS[encoding], *further]
    structure = TagStructure(tags, encoding, keyed=keyed)
    indices, lengths, mask = random_tags(len(tags), 12, 5, 6, seed=1)
    indices[0] = 0
    candidates = TagPaths(indices, torch.zeros(12, 5), mask).candidates(structure.scheme)
    kept = torch.stack([torch.randperm(5)[:4] for _ in range(12)])
    found = structure.similarity(candidates, kept)
    for row in range(12):
        names = [[tags[tag] for tag in indices[row, place, : lengths[row]].tolist()] for place in kept[row].tolist()]
        assert found[row].tolist() == [pytest.approx([f1(one, other, keyed) for other in names]) for one in names]


def test_exact_frames_are_those_of_the_score():
    """Without the predicate: in one of the two frames alone V is wrong."""
    tags = ["O", "B-V", "I-V", "B-ARG0", "I-ARG0", "B-C-ARG0", "B-C-V"]
    structure = TagStructure(tags, "BIO", keyed=True)
    chance = random.Random(2)
    gold = torch.tensor([[chance.choice([0, 0, 1, 2, 3, 4, 5, 6]) for _ in range(4)] for _ in range(400)])
    found = torch.where(torch.rand(400, 4, generator=torch.Generator().manual_seed(0)) < 0.2, gold.flip(0), gold)
    lengths = [chance.randint(1, 4) for _ in range(400)]
    mask = torch.arange(4) < torch.tensor(lengths).unsqueeze(1)
    exact = structure.scorer.exact_match(found, gold, mask).numerators
    names = [[[tags[tag] for tag in row[:n]] for row, n in zip(part.tolist(), lengths)] for part in (found, gold)]
    assert exact.tolist() == [frame_counts(*both).exact for both in zip(*names)]
    assert 0 < (exact.bool() & ((found != gold) & mask).any(dim=1)).sum()


ROLES = ["O", "B-V", "B-ARG0", "I-ARG0", "B-ARG1", "I-ARG1", "B-ARGM-TMP", "I-ARGM-TMP"]


def frames(count, seed, twice=0):
    """
    Frames of six words, of which gold has ARG0, V, ARG1 and perhaps two times; in the first `twice` ARG0 comes twice.
    With gold compete four others; the likeliest one of them has ARG1 twice, and is near to all of the others.
    """
    generator = torch.Generator().manual_seed(seed)
    candidates = torch.tensor(
        [[2, 1, 4, 6, 6, 0], [2, 1, 4, 6, 4, 0], [2, 1, 4, 0, 0, 0], [0, 1, 4, 6, 0, 0], [2, 1, 2, 6, 6, 0]]
    )
    tags = candidates.expand(count, -1, -1).clone()
    scores = torch.tensor([0.2, 1.0, 0.0, 0.0, -0.3]) + 0.5 * torch.randn(count, 5, generator=generator)
    scores, order = scores.sort(dim=1, descending=True)
    tags = tags.gather(1, order.unsqueeze(2).expand(-1, -1, 6))
    gold = candidates[torch.tensor([0, 2, 3])[torch.randint(3, (count,), generator=generator)]]
    gold[:twice] = candidates[4]
    keys = ["go"] * count
    return TagPaths(tags, scores.log_softmax(dim=1), torch.ones(count, 6, dtype=torch.bool), gold, keys)


def twice(tags):
    return sum(any(list(row).count(tag) > 1 for tag in (2, 4)) for row in tags.tolist())


@pytest.mark.parametrize("broken, declared", [(0, True), (1, True), (4, False)])
def test_what_gold_keeps_is_declared_and_kept_by_every_decision(broken, declared):
    """Of 450 frames one that breaks a rule is no reason to let it go, four are."""
    structure = TagStructure(ROLES, "BIO", keyed=True, energies=["role_ngrams"])
    given = frames(450, 1, broken)
    report = structure.fit([given], [frames(100, 2)])
    kept = report.get("declared", {}).get("at most once", {})
    assert kept.get("ARG1") == 1 and ("ARG0" in kept) == declared
    with_role = int((given.gold == 2).any(dim=1).sum())
    assert "ARGM-TMP" not in kept and (not declared or kept["ARG0"] == pytest.approx(1 - broken / with_role))
    new = frames(100, 3)
    candidates = new.candidates(structure.scheme)
    q = structure.probabilities(candidates)
    breaks = torch.tensor([[twice(new.tags[row, place].unsqueeze(0)) for place in range(5)] for row in range(100)]) > 0
    if declared:
        assert (q[breaks] == 0).all() and int(breaks.sum()) == 200
    for decision in ("likeliest", "expected_score"):
        structure.chosen["f1"] = decision
        assert (twice(structure.decide(new)[0]) == 0) or not declared
    other = TagStructure(ROLES, "BIO", keyed=True, energies=["role_ngrams"])
    other.load_state_dict(structure.state_dict())
    torch.testing.assert_close(other.probabilities(candidates), q)


@pytest.mark.parametrize("count, declared", [(20, False), (100, False), (150, True)])
def test_a_rule_is_declared_of_enough_frames(count, declared):
    """Of ARG1, which all have; the same frames again say nothing."""
    structure = TagStructure(ROLES, "BIO", keyed=True, energies=["role_ngrams"])
    given = frames(count, 1)
    given.words = [[f"w{row}", *"abcde"] for row in range(count)]
    report = structure.fit([given] * 3, [frames(50, 2)])
    assert ("ARG1" in report.get("declared", {}).get("at most once", {})) == declared


def test_a_rule_that_one_of_ten_frames_breaks_is_hardly_ever_declared_of_few():
    torch.manual_seed(0)
    structure = TagStructure(ROLES, "BIO", keyed=True)
    declared = 0
    for _ in range(200):
        gold = torch.tensor([[2, 1, 0]]).repeat(150, 1)
        gold[torch.rand(150) < 0.1, 2] = 2
        mask = torch.ones(150, 3, dtype=torch.bool)
        paths = TagPaths(gold.unsqueeze(1), torch.zeros(150, 1), mask, gold, ["go"] * 150)
        declared += bool(structure._learn_rules(structure.gold_candidates([paths]), torch.arange(150)))
    assert declared == 0


@pytest.mark.parametrize("settings", [{"keyed": False}, {"keyed": True, "declare_from": 1.5}])
def test_nothing_is_declared_of_entities_or_above_one(settings):
    structure = TagStructure(ROLES, "BIO", energies=["role_ngrams"], **settings)
    assert "declared" not in structure.fit([frames(100, 1)], [frames(50, 2)]) and structure.learned_rules is None


def test_a_state_from_before_rules_were_found():
    structure = TagStructure(ROLES, "BIO", keyed=True, energies=["role_ngrams"])
    structure.fit([frames(100, 1)], [frames(50, 2)])
    chosen = {"f1": "expected_score", "exact_match": "own"}
    other = TagStructure(ROLES, "BIO", keyed=True, energies=["role_ngrams"])
    other.load_state_dict({**structure.state_dict(), "_extra_state": to_bytes(chosen)})
    assert other.chosen == chosen and other.learned_rules is None
    assert other.decide(frames(5, 3))[0].shape == (5, 6)


def test_the_gate_is_shown_what_each_decision_scores():
    structure, validation = TagStructure(ROLES, "BIO", keyed=False, energies=["role_counts"]), frames(100, 2)
    decisions = structure.fit([frames(450, 1)], [validation])["decisions"]
    for name, score in zip(structure.scores, (structure.scorer.f1, structure.scorer.exact_match)):
        values = decisions[name]["values"]
        for option, value in values.items():
            structure.chosen[name] = option
            tags, _ = structure.decide(validation, name)
            assert score(tags, validation.gold, validation.mask).value == pytest.approx(value)
        assert len(set(values.values())) == 3


def test_without_validation_frames_the_gains_of_earlier_data_sets_decide():
    structure = TagStructure(ROLES, "BIO", keyed=True, energies=["role_ngrams"])
    report = structure.fit([frames(450, 1)], [])
    for score, chosen in structure.chosen.items():
        assert chosen == PRIORS["spans", score].start
        assert "no validation data" in report["decisions"][score]["told"]


@pytest.mark.parametrize("with_words", [True, False])
def test_frames_of_equal_input_count_once(with_words):
    training, validation = frames(450, 1), frames(40, 2)
    if with_words:
        validation.words = [[f"go {place}"] * 6 for place in range(40)]
    twice = TagPaths(
        *(torch.cat([part, part]) for part in (validation.tags, validation.log_prob, validation.mask, validation.gold)),
        keys=["go"] * 80,
        words=validation.words * 2,
    )
    found = [
        TagStructure(ROLES, "BIO", keyed=True, energies=["role_ngrams"]).fit([training], [part])["decisions"]["f1"]
        for part in (validation, twice)
    ]
    assert [one["groups"] for one in found] == [40, 40] and found[1]["instances"] == 80
    assert found[1]["expected"] == pytest.approx(found[0]["expected"])


VERB_ROLES = ["O", "B-A0", "B-A1", "B-V"]
#: What the default was before there were energies that see the words.
BLIND = ["role_counts", "role_ngrams", "role_sets", "key_roles"]


def verb_frames(rows, seed):
    """Frames of three words whose object is A1 where the verb is `eat` in any form, and A0 where it is `fall`."""
    generator = torch.Generator().manual_seed(seed)
    forms = (["eats", "fell", "eating", "falling"] * rows)[:rows]
    lemmas = (["eat", "fall"] * rows)[:rows]
    right = torch.tensor([[0, 3, 2 if lemma == "eat" else 1] for lemma in lemmas])
    wrong = torch.tensor([[0, 3, 1 if lemma == "eat" else 2] for lemma in lemmas])
    tags = torch.stack([wrong, right], dim=1)
    scores, order = torch.randn(rows, 2, generator=generator).sort(dim=1, descending=True)
    tags = tags.gather(1, order.unsqueeze(2).expand_as(tags))
    token_log_prob = -torch.rand(tags.shape, generator=generator)
    words, mask = [["they", form, "it"] for form in forms], torch.ones(rows, 3, dtype=torch.bool)
    return TagPaths(
        tags, scores.log_softmax(dim=1), mask, right, forms, token_log_prob, words, places=[1] * rows, lemmas=lemmas
    )


def of_verbs(energies=None):
    """A structure that has learned from such frames."""
    structure = TagStructure(VERB_ROLES, "BIO", keyed=True, energies=energies)
    structure.fit([verb_frames(80, 0)], [verb_frames(40, 1)])
    return structure


def test_a_predicate_is_known_by_its_lemma_also_in_a_form_that_training_lacks():
    structure = of_verbs(["key_roles"])
    assert structure.lemmas.of(["eats", "falls"]) == ["eat", "fall"]
    unseen = verb_frames(20, 2)
    # Plain text has no lemmas.
    unseen.keys = [{"eats": "eat", "eating": "eat", "fell": "falls", "falling": "falls"}[key] for key in unseen.keys]
    unseen.lemmas = []
    assert torch.equal(structure.decide(unseen)[0], unseen.gold)


def test_what_is_recorded_is_what_a_structure_learns_from():
    paths = verb_frames(8, 3)
    again = TagPaths(**paths.record(paths.gold))
    for name in ("keys", "words", "places", "lemmas"):
        assert getattr(again, name) == getattr(paths, name)
    torch.testing.assert_close(again.token_log_prob.float(), paths.token_log_prob, atol=1e-3, rtol=0)
    assert torch.equal(again.gold.long(), paths.gold)


def test_a_structure_of_before_there_were_further_energies_predicts_as_it_did():
    old = of_verbs(BLIND)
    old.lemmas.learn([], [])
    state = {name: value for name, value in old.state_dict().items() if not name.startswith("lemmas")}
    new = TagStructure(VERB_ROLES, "BIO", keyed=True)
    assert len(new.joint.energies) == 7
    new.load_state_dict(state)
    assert len(new.joint.energies) == 4 and not new.reads_token_scores
    paths = verb_frames(30, 4)
    for one, other in zip(old.decide(paths), new.decide(paths)):
        assert torch.equal(one, other)


def test_one_of_today_is_loaded_whole():
    structure = of_verbs()
    again = TagStructure(VERB_ROLES, "BIO", keyed=True)
    again.load_state_dict(structure.state_dict())
    paths = verb_frames(30, 4)
    assert torch.equal(
        again.probabilities(again.candidates(paths)), structure.probabilities(structure.candidates(paths))
    )
    assert again.reads_token_scores
