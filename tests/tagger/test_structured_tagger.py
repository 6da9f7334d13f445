"""`seal.tagger`: structure on top of the emissions of any tagger, and emissions of folds by any training function."""

import itertools
import json
import math
import re
import textwrap
from pathlib import Path
from xml.etree import ElementTree

import numpy
import pytest
import torch

import seal
from seal.common.tag_encodings import tags_to_spans
from seal.constraints import AtMostOne, Constraint, Count, ForbiddenTransitions, Implication
from seal.files.weights import read_tensors, write_tensors
from seal.output_spaces import CrfTagSequence
from seal.registry import ConfigurationError
from seal.tagger import StructuredTagger, cross_fit, log_probabilities
from tests.other_device import Remote, other_device
from tests.test_torch_alone import ALONE, run

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]
#: An `A` of two words, then a `B`, with an `O` between; the emissions do not always say so.
RIGHT = ["B-A", "I-A", "O", "B-B", "I-B"]


def emissions_of(number, seed=0, labels=TAGS, right=RIGHT):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(number, len(right), len(labels), generator=generator)
    scores[:, torch.arange(len(right)), [labels.index(tag) for tag in right]] += 1.8
    return scores


@pytest.fixture(scope="module")
def fitted():
    return StructuredTagger(TAGS).fit(emissions_of(300), [RIGHT] * 300)


def exact(tagger, scores, right=RIGHT, **options):
    return sum(found == right for found in tagger.predict(scores, **options))


def test_structure_predicts_more_sentences_as_a_whole(fitted):
    test = emissions_of(200, seed=1)
    own, ours = exact(fitted, test, own=True), exact(fitted, test, score="exact_match")
    assert fitted.report_["decisions"]["exact_match"]["option"] != "own"
    assert own < 120 and ours > own + 30


def test_what_the_tagger_itself_predicts_is_its_best_legal_sequence(fitted):
    scores = emissions_of(3, seed=2)
    best = fitted.predict(scores, own=True)
    for row, found in zip(scores.log_softmax(dim=2), best):
        legal = [
            tags
            for tags in itertools.product(range(5), repeat=5)
            if all(tag not in (2, 4) or before in (tag - 1, tag) for before, tag in zip((0, *tags), tags))
        ]
        values = [sum(row[at, tag].item() for at, tag in enumerate(tags)) for tags in legal]
        assert found == [TAGS[tag] for tag in legal[numpy.argmax(values)]]


def test_candidates_have_the_probability_the_energy_and_the_joint_probability(fitted):
    scores = emissions_of(4, seed=3)
    for row, candidates in zip(scores.log_softmax(dim=2), fitted.predict_k(scores)):
        assert len(candidates) == 20 and sum(one.chosen for one in candidates) == 1
        scale = float(fitted.structure_.joint.scale)
        joint = [scale * one.log_prob - one.energy for one in candidates]
        expected = (torch.tensor(joint, dtype=torch.double) / fitted.structure_.calibration.temperature).softmax(dim=0)
        assert 0 < sum(one.joint for one in candidates) < 1
        # The likeliest one is calibrated by itself.
        others, rest = expected[1:] / expected[1:].sum(), [one.joint for one in candidates[1:]]
        assert (others * sum(rest)).tolist() == pytest.approx(rest, abs=1e-5)
        assert [one.joint for one in candidates] == sorted((one.joint for one in candidates), reverse=True)
        for one in candidates:
            assert one.log_prob == pytest.approx(
                sum(row[at, TAGS.index(tag)].item() for at, tag in enumerate(one.tags)), abs=1e-4
            )
            assert one.spans == tags_to_spans(one.tags) and len(one.terms) == len(fitted.structure_.joint.energies)
    assert [len(candidates) for candidates in fitted.predict_k(scores, 3)] == [3, 3, 3, 3]


def test_ragged_padded_and_sub_token_input_is_read_alike(fitted):
    lengths = [5, 3, 0, 4, 1]
    whole = emissions_of(5, seed=4)
    ragged = [row[:length] for row, length in zip(whole, lengths)]
    expected = fitted.predict(ragged)
    assert [len(tags) for tags in expected] == lengths
    mask = torch.arange(5) < torch.tensor(lengths).unsqueeze(1)
    # Scores of padding say nothing, whatever they are.
    padded = whole.masked_fill(~mask.unsqueeze(2), 7.0)
    for form in (lengths, torch.tensor(lengths), numpy.array(lengths), mask, mask.numpy(), mask.tolist()):
        assert fitted.predict(padded, form) == expected
    assert fitted.predict([row.tolist() for row in ragged]) == expected
    assert fitted.predict(ragged[0].numpy()[None]) == expected[:1]
    assert fitted.predict((row for row in ragged), (length for length in lengths)) == expected
    left = [torch.cat([torch.zeros(2, 5), row]) for row in ragged]
    assert fitted.predict(left, [[False] * 2 + [True] * length for length in lengths]) == expected
    # [CLS], the first word in two pieces, the last one in three, [SEP]; one more piece is of no word.
    words = [None, 0, 0, *range(1, 5), 4, 4, None]
    places = [0, 0, 0, 1, 2, 3, 4, 4, 4, 0]
    pieces = ragged[0][places] + torch.tensor([word is None for word in words]).float().unsqueeze(1)
    pieces[2], pieces[7:9] = 5.0, 5.0
    assert fitted.predict([pieces], word_ids=[words]) == expected[:1]
    assert fitted.predict([pieces], word_ids=[[-1 if word is None else word for word in words]]) == expected[:1]


def test_gold_may_be_names_or_indices_of_words_or_of_all_tokens():
    scores, index = emissions_of(60), [TAGS.index(tag) for tag in RIGHT]
    words = [None, 0, 1, 2, 3, 4, 4]
    pieces = [torch.cat([row[:1], row, row[:1]]) for row in scores]
    forms = [
        StructuredTagger(TAGS).fit(scores, [RIGHT] * 60),
        StructuredTagger(TAGS).fit(scores.numpy(), numpy.array([index] * 60)),
        StructuredTagger(dict(enumerate(TAGS))).fit(scores, [list(numpy.array(index))] * 60),
        StructuredTagger(TAGS).fit(pieces, [RIGHT] * 60, word_ids=[words] * 60, groups=range(60)),
        StructuredTagger(TAGS).fit(pieces, [[-100, *index, -100]] * 60, word_ids=[words] * 60, groups=range(60)),
    ]
    assert forms[0].report_ == forms[1].report_ == forms[2].report_
    assert forms[3].report_ == forms[4].report_
    assert forms[0].predict(scores) == forms[1].predict(scores) == forms[2].predict(scores)


def test_long_input_is_read_a_part_at_a_time(fitted):
    taken = 0

    def rows():
        nonlocal taken
        for row in emissions_of(3000, seed=5):
            taken += 1
            yield row

    seen = []
    for places, _ in fitted._batches(rows(), None, None, {}, seen):
        assert len(places) <= 128 and taken <= len(seen) <= 3000 and len(seen) % 1024 in (0, 3000 % 1024)
    assert taken == 3000 == len(seen)


def test_what_does_not_count_may_be_anything(fitted):
    scores = emissions_of(2, seed=4)
    expected = fitted.predict(scores, [5, 3])
    padded = torch.cat([scores, torch.full((2, 2, 5), torch.nan)], dim=1)
    padded[1, 3:] = -torch.inf
    assert fitted.predict(padded, [5, 3]) == expected
    padded[1, 1, 2] = torch.nan
    with pytest.raises(ConfigurationError, match=r"emissions\[1\].*'I-A'.*1.*nan"):
        fitted.predict(padded, [5, 3])


def test_a_crf_may_have_scores_that_are_far_apart():
    """The best path is that of all paths, also where a tag is 50,000 nats better and may follow no other."""
    generator = torch.Generator().manual_seed(0)
    scores = 50_000 * torch.randn(30, 4, 3, generator=generator).round(decimals=2)
    transitions = 50_000 * torch.randn(3, 3, generator=generator).round(decimals=2)
    transitions[0, 1] = -torch.inf
    tagger = StructuredTagger(["D", "N", "V"], None, transitions)
    tagger.fit(scores, [["D", "N", "V", "D"]] * 30)
    paths = list(itertools.product(range(3), repeat=4))
    for row, found in zip(scores.double(), tagger.predict(scores, own=True)):
        values = [
            sum(row[at, tag] for at, tag in enumerate(path))
            + sum(transitions.double()[pair] for pair in itertools.pairwise(path))
            for path in paths
        ]
        assert found == ["DNV"[tag] for tag in paths[int(numpy.argmax(values))]]


@pytest.mark.parametrize(
    "transitions", [None, torch.zeros(5, 5).index_put((torch.tensor(0), torch.tensor(0)), torch.tensor(-torch.inf))]
)
def test_a_sentence_without_a_possible_sequence_has_one_of_few_exceptions(transitions):
    tagger = StructuredTagger(TAGS, transitions=transitions).fit(emissions_of(60), [RIGHT] * 60)
    impossible = torch.full((2, 2, 5), -torch.inf)
    # The first could be `O I-A` alone, which is none of BIO; so could the second, or `B-A O`.
    impossible[0, 0, 0] = impossible[0, 1, 2] = impossible[1, 0, 1] = impossible[1, 1, 0] = 0.0
    found = tagger.predict(impossible, own=True)
    assert found[0] in (["B-A", "I-A"], ["O", "O"], ["O", "B-A"], ["O", "B-B"]) and found[1] == ["B-A", "O"]
    first, second = tagger.predict_k(impossible)
    assert all(math.isfinite(one.joint) for one in first) and [one.tags for one in second] == [["B-A", "O"]]


def test_a_crf_gives_the_probability_of_a_sequence():
    space = CrfTagSequence(TAGS)
    torch.manual_seed(0)
    for values in space.crf.parameters():
        torch.nn.init.normal_(values)
    crf, scores = space.crf.requires_grad_(False), emissions_of(200)
    tagger = StructuredTagger(TAGS, transitions=crf).fit(scores, [RIGHT] * 200)
    by_name = {name: getattr(crf, name).numpy() for name in ("transitions", "start_transitions", "end_transitions")}
    again = StructuredTagger(TAGS, transitions=by_name).fit(scores, [RIGHT] * 200)
    assert tagger.predict_k(scores[:5]) == again.predict_k(scores[:5])
    for row, candidates in zip(scores[:5], tagger.predict_k(scores[:5])):
        total = torch.stack(
            [
                crf.start_transitions[tags[0]]
                + crf.end_transitions[tags[-1]]
                + sum(row[at, tag] for at, tag in enumerate(tags))
                + sum(crf.transitions[a, b] for a, b in itertools.pairwise(tags))
                for tags in map(list, itertools.product(range(5), repeat=5))
            ]
        )
        found = space.log_prob(row[None], torch.tensor([[[TAGS.index(tag) for tag in candidates[0].tags]]]))
        assert candidates[0].log_prob == pytest.approx(found.item(), abs=1e-4)
        assert space.chain(row[None], None).log_partition().item() == pytest.approx(total.logsumexp(0).item(), abs=1e-3)
    alone = StructuredTagger(TAGS, transitions=torch.zeros(5, 5)).fit(scores, [RIGHT] * 200)
    without = StructuredTagger(TAGS).fit(scores, [RIGHT] * 200)
    assert alone.predict(scores) == without.predict(scores)


@pytest.mark.parametrize(
    "encoding, labels, right",
    [
        ("BIOES", ["O", "B-A", "I-A", "E-A", "S-B"], ["B-A", "E-A", "O", "S-B", "O"]),
        ("IO", ["O", "I-A", "I-B"], ["I-A", "I-A", "O", "I-B", "I-B"]),
        ("IO", ["O", "A", "B"], ["A", "A", "O", "B", "B"]),
        (None, ["D", "N", "V"], ["D", "N", "V", "D", "N"]),
    ],
)
def test_other_encodings(encoding, labels, right):
    tagger = StructuredTagger(labels, encoding).fit(emissions_of(200, 0, labels, right), [right] * 200)
    test = emissions_of(200, 1, labels, right)
    found = tagger.predict(test)
    assert sum(one == right for one in found) > exact(tagger, test, right, own=True) + 10
    assert tagger.report_["decisions"][tagger.structure_.main_score]["option"] != "own"
    (best,) = tagger.predict_k(test[:1], 1)
    assert best[0].tags == found[0] or not best[0].chosen
    assert tagger.explain(0, test).candidates[0].spans[0][0] == ("A" if encoding else "D")
    if encoding == "BIOES":
        legal = {"B-A": ("I-A", "E-A"), "I-A": ("I-A", "E-A")}
        for tags in tagger.predict(test, own=True):
            assert all(
                after in legal.get(tag, ("O", "B-A", "S-B", None)) for tag, after in zip(tags, [*tags[1:], None])
            )


def test_keys_say_what_a_sentence_is_about():
    """Two predicates whose arguments differ, of which the emissions know nothing."""
    other = ["B-B", "I-B", "O", "B-A", "I-A"]
    scores = torch.cat([emissions_of(150), emissions_of(150, 1, right=other)]) / 3
    gold, keys = [RIGHT] * 150 + [other] * 150, ["give"] * 150 + ["take"] * 150
    tagger = StructuredTagger(TAGS).fit(scores, gold, keys=keys)
    assert "key_roles" in tagger.predict_k(scores[:1], keys=["give"])[0][0].terms
    with pytest.raises(ConfigurationError, match="keys"):
        tagger.predict(scores)


def test_words_say_more_than_the_order_of_entities(tmp_path):
    """Emissions know nothing, and each sentence has its `A` where the words `in Paris` stand."""
    starts = [number % 4 for number in range(240)]
    words = [["we"] * start + ["in", "Paris"] + ["we"] * (4 - start) for start in starts]
    gold = [["O"] * (start + 1) + ["B-A"] + ["O"] * (4 - start) for start in starts]
    scores = torch.zeros(240, 6, 5) + torch.tensor([1.0, 0.9, -1, -1, -1])
    scores = scores + 0.01 * torch.rand(scores.shape, generator=torch.Generator().manual_seed(0))
    blind = StructuredTagger(TAGS, num_candidates=40).fit(scores[:200], gold[:200])
    seeing = StructuredTagger(TAGS, num_candidates=40).fit(scores[:200], gold[:200], words=words[:200])
    found = seeing.predict(scores[200:], words=words[200:])
    assert found == gold[200:] != blind.predict(scores[200:])
    terms = seeing.predict_k(scores[:1], 1, words=words[:1])[0][0].terms
    assert terms["span_context"] and terms["token_scores"]
    told, told_by_blind = (str(tagger.explain(0, scores, words=words)) for tagger in (seeing, blind))
    assert "span_context" in told and "span_context" not in told_by_blind
    seeing.save(tmp_path)
    assert StructuredTagger.load(tmp_path).predict_k(scores, words=words) == seeing.predict_k(scores, words=words)
    for given in ({}, {"words": [words[0], ["we", "went"]]}):
        with pytest.raises(ConfigurationError, match="words"):
            seeing.predict(scores[:2], **given)


def test_the_place_of_a_predicate_is_seen():
    """Of two words alike, the one after the predicate is the argument."""
    generator = torch.Generator().manual_seed(0)
    before = torch.randint(2, (200,), generator=generator).tolist()
    words = [["it", "go", "it"]] * 200
    gold = [["B-A", "O", "O"] if first else ["O", "O", "B-A"] for first in before]
    predicates = [1 - first for first in before]
    scores = torch.zeros(200, 3, 5) + torch.tensor([1.0, 0.9, -3, -3, -3])
    given = {"words": words, "predicates": predicates}
    tagger = StructuredTagger(TAGS).fit(scores, gold, valid={"emissions": scores, "gold": gold, **given}, **given)
    assert "predicates" in tagger.needs
    for wrong in (None, [3], [-1], [None], ["go"]):
        with pytest.raises(ConfigurationError, match="predicates"):
            tagger.predict(scores[:1], words=words[:1], predicates=wrong)


def test_declared_rules_are_kept():
    rules = [AtMostOne(["A"], each=True), {"type": "at_most_one", "labels": ["B"]}]
    scores = emissions_of(300) / 2
    tagger = StructuredTagger(TAGS, constraints=rules).fit(scores, [RIGHT] * 300)
    predicted, own = (tagger.predict(emissions_of(100, 1) / 2, own=own) for own in (False, True))

    def most(sentences):
        return max([label for label, _, _ in tags_to_spans(tags)].count("A") for tags in sentences)

    assert most(predicted) == 1 < most(own)


# Files.


def test_a_saved_tagger_gives_the_same_bits(tmp_path):
    scores, keys = emissions_of(200), ["give", "take"] * 100
    crf = {"transitions": numpy.linspace(-0.3, 0.4, 25).reshape(5, 5), "start_transitions": numpy.full(5, 0.1)}
    rules = [Count(["A"], 0, 1, True, "once"), ForbiddenTransitions([("B-A", "B-B")]), Implication({"B": "A"})]
    tagger = StructuredTagger(TAGS, "BIO", crf, ["role_counts", "key_roles"], rules, "exact_match", 7)
    tagger.fit(scores, [RIGHT] * 200, keys=keys)
    tagger.save(tmp_path / "one")
    loaded = StructuredTagger.load(tmp_path / "one")
    loaded.save(tmp_path / "two")
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two and set(one) == {"tagger.json", "tagger.safetensors"}
    assert loaded.predict_k(scores, keys=keys) == tagger.predict_k(scores, keys=keys)
    assert loaded.report_ == json.loads(json.dumps(tagger.report_)) and loaded.score == "exact_match"


def test_every_constraint_of_the_package_can_be_saved(tmp_path):
    given = {
        "at_least_one": {"labels": ["A"]},
        "at_most_one": {"labels": ["A"]},
        "exactly_one": {"labels": ["A", "B"], "each": True},
        "count": {"labels": ["A"], "least": 1, "most": 2},
        "implication": {"implies": {"A": "B"}},
        "forbidden_transitions": {"pairs": [["B-A", "O"]]},
    }
    assert set(given) == {name for name in Constraint.list_available() if "test" not in name}
    rules = [{"type": name, **options} for name, options in given.items()]
    tagger = StructuredTagger(TAGS, constraints=rules).fit(emissions_of(60), [RIGHT] * 60)
    tagger.save(tmp_path)
    names = [one.name for one in StructuredTagger.load(tmp_path).constraints]
    assert names == [one.name for one in tagger.constraints]


def test_files_of_tensors_are_those_of_the_library(tmp_path):
    library = pytest.importorskip("safetensors.torch")
    tensors = {
        "a": torch.randn(2, 3),
        "b": torch.tensor(5),
        "c": torch.zeros(0, 4, dtype=torch.bool),
        "d": torch.randn(3).to(torch.bfloat16),
        "e": torch.arange(3, dtype=torch.int16).double(),
    }
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    write_tensors(ours, tensors, {"of": "a test"})
    library.save_file(tensors, theirs, {"of": "a test"})
    assert library.safe_open(ours, "pt").metadata() == {"of": "a test"} == read_tensors(theirs)[1]
    for found in (library.load_file(ours), read_tensors(ours)[0], read_tensors(theirs)[0]):
        assert set(found) == set(tensors)
        for name, tensor in tensors.items():
            assert found[name].dtype == tensor.dtype and torch.equal(found[name], tensor)


@pytest.mark.parametrize(
    "spoil", [lambda b: b[:-1], lambda b: b[:20], lambda b: b"", lambda b: b"PK" + b, lambda b: b"[]" * 9]
)
def test_a_file_that_is_not_whole_is_refused(fitted, tmp_path, spoil):
    fitted.save(tmp_path)
    path = tmp_path / "tagger.safetensors"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(ConfigurationError, match="tagger.safetensors"):
        StructuredTagger.load(tmp_path)
    (tmp_path / "tagger.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="tagger.json"):
        StructuredTagger.load(tmp_path)
    with pytest.raises(ConfigurationError, match="none"):
        StructuredTagger.load(tmp_path / "none")


# What is refused, each in a sentence.


@pytest.mark.parametrize(
    "arguments, named",
    [
        ({"labels": ["O"]}, "two tags"),
        ({"labels": ["O", "O", "B-A"]}, r"labels\[1\]"),
        ({"labels": ["O", "A"]}, "'A'"),
        ({"labels": ["O", "I-A"]}, "'I-A'.*'B-A'"),
        ({"labels": ["O", "B-A"], "encoding": "BIOES"}, "'B-A'.*'E-A'"),
        ({"labels": {"O", "B-A"}}, "labels: "),
        ({"labels": {1: "O", 2: "B-A"}}, "labels: .*0 to 1"),
        ({"encoding": "IOB"}, "encoding"),
        ({"score": "accuracy"}, "score"),
        ({"num_candidates": 2.5}, "num_candidates.*2.5"),
        ({"num_candidates": 1}, "num_candidates.*1"),
        ({"energies": ["role_count"]}, "'role_count'"),
        ({"constraints": [{"type": "at_most"}]}, r"constraints\[0\]: 'at_most'"),
        ({"constraints": [{"type": "count", "label": "A"}]}, r"constraints\[0\]: "),
        ({"constraints": [{"type": "at_most_one", "labels": ["C"]}]}, "'C'"),
        ({"transitions": torch.zeros(4, 4)}, r"transitions.*\(4, 4\)"),
        ({"transitions": torch.full((5, 5), torch.nan)}, "transitions.*NaN"),
        ({"transitions": {"pairs": 1}}, "'pairs'"),
        ({"transitions": "crf"}, "transitions"),
    ],
)
def test_a_setting_that_cannot_work_is_named(arguments, named):
    with pytest.raises(ConfigurationError, match=named):
        StructuredTagger(**{"labels": TAGS, **arguments})


def spoilt(place, value):
    scores = emissions_of(3)
    scores[place] = value
    return scores


PROBABILITIES = [torch.zeros(0, 5), *emissions_of(2).softmax(dim=2)]


@pytest.mark.parametrize(
    "changes, named",
    [
        ({"emissions": torch.zeros(3, 5, 4)}, r"emissions\[0\]: \(tokens, 5\).*\(5, 4\)"),
        ({"emissions": torch.zeros(3, 5)}, r"emissions\[0\]: \(tokens, 5\).*\(5,\)"),
        ({"emissions": 5}, "emissions: "),
        ({"emissions": [["a"]] * 3}, r"emissions\[0\]"),
        ({"emissions": PROBABILITIES, "gold": [[], RIGHT, RIGHT]}, "probabilities"),
        ({"emissions": torch.complex(emissions_of(3), emissions_of(3))}, r"emissions\[0\]"),
        ({"emissions": spoilt((1, 2, 3), torch.nan)}, r"emissions\[1\].*'B-B'.*2.*nan"),
        ({"emissions": spoilt((2, 0, 0), torch.inf)}, r"emissions\[2\].*'O'.*0.*inf"),
        ({"emissions": spoilt((0, 3), -torch.inf)}, r"emissions\[0\].*3"),
        ({"gold": None}, "gold: "),
        ({"gold": [RIGHT] * 2}, "gold: .*2"),
        ({"gold": [RIGHT] * 4}, "emissions: .*3"),
        ({"gold": [RIGHT, None, RIGHT]}, r"gold\[1\].*None"),
        ({"gold": [RIGHT, RIGHT[:4], RIGHT]}, r"gold\[1\].*4.*5"),
        ({"gold": [RIGHT, RIGHT, [*RIGHT[:4], "B-C"]]}, r"gold\[2\].*4.*'B-C'"),
        ({"gold": [RIGHT, RIGHT, [*range(4), 5]]}, r"gold\[2\].*4.*5"),
        ({"gold": [RIGHT, RIGHT, [*range(4), -100]]}, r"gold\[2\].*4"),
        ({"mask_or_lengths": [5, 5, 6]}, r"mask_or_lengths\[2\].*6"),
        ({"mask_or_lengths": [5, [True] * 4, 5]}, r"mask_or_lengths\[1\]"),
        ({"word_ids": [range(5)] * 3}, r"word_ids\[0\]"),
        ({"keys": ["a"] * 2}, "keys: .*2"),
        ({"valid": 0}, "valid: "),
        ({"valid": {"emission": 1}}, "valid: 'emission'"),
        ({"valid": {"emissions": emissions_of(2)}}, "valid: 'gold'"),
        ({"emissions": [], "gold": []}, "sentences"),
    ],
)
def test_data_that_cannot_be_learned_from_are_named(changes, named):
    with pytest.raises(ConfigurationError, match=named):
        StructuredTagger(TAGS).fit(**{"emissions": emissions_of(3), "gold": [RIGHT] * 3, **changes})


@pytest.mark.parametrize(
    "call, named",
    [
        (lambda fitted: fitted.predict(emissions_of(3).softmax(dim=2)), "probabilities"),
        (lambda fitted: fitted.predict_k(emissions_of(1), 0), "k: "),
        (lambda fitted: fitted.predict_k(emissions_of(1), 1.5), "k: "),
        (lambda fitted: fitted.explain(50, emissions_of(50)), "50"),
        (lambda fitted: fitted.explain(0, emissions_of(1), words=[["a", "b"]]), r"words\[0\].*5.*2"),
        (lambda _: StructuredTagger(TAGS).predict(emissions_of(1)), "fit"),
        (lambda _: StructuredTagger(TAGS).save("nowhere"), "fit"),
    ],
)
def test_a_call_that_cannot_work_is_named(call, named, fitted):
    with pytest.raises(ConfigurationError, match=named):
        call(fitted)


@pytest.mark.parametrize("given", ["words", "groups", "nothing"])
def test_sentences_that_occur_twice_are_known_no_better(given):
    """Words that no other sentence has say nothing of it, also where it occurs twice."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(100, 4, 5, generator=generator)
    gold = torch.randint(5, (100, 4), generator=generator).tolist()
    gold = [[tag if tag in (0, 1, 3) else 0 for tag in tags] for tags in gold]
    words = [[f"w{row}x{place}" for place in range(4)] for row in range(100)]
    losses = []
    for times in (1, 2):
        texts = words + [[word.upper() for word in of_row] for of_row in words] * (times - 1)
        energies = [{"type": "span_counts", "contexts": [["string"], ["last"]]}] if given == "words" else ["role_sets"]
        tagger = StructuredTagger(TAGS, energies=energies)
        groups = list(range(100)) * times if given == "groups" else None
        valid = {"emissions": scores, "gold": gold, "words": words}
        tagger.fit(
            scores.repeat(times, 1, 1),
            gold * times,
            words=texts if given == "words" else None,
            groups=groups,
            valid=valid,
        )
        losses.append([one["loss"] for one in tagger.report_["penalties"]][0])
    assert losses[1] == pytest.approx(losses[0], abs=0.01)


def test_impossible_tags_may_be_minus_infinity(fitted):
    scores = emissions_of(4, seed=6)
    scores[:, :, 3:] = -torch.inf
    for candidates in fitted.predict_k(scores):
        assert all(math.isfinite(one.log_prob) and math.isfinite(one.joint) for one in candidates)
    assert {tag for tags in fitted.predict(scores, own=True) for tag in tags} <= {"O", "B-A", "I-A"}


# Explanations.


def test_an_explanation_is_a_table_and_a_picture(fitted):
    scores, words = emissions_of(50, seed=1), [["the", "cat", "saw", "a", "dog"]] * 50
    both = zip(fitted.predict(scores, own=True), fitted.predict(scores))
    changed = next(place for place, (own, ours) in enumerate(both) if own != ours)
    found = fitted.explain(changed, scores, words=words)
    lines = str(found).splitlines()
    terms = ["role_counts", "role_ngrams", "role_sets", "token_scores"]
    assert lines[0].split() == ["log", "P", *terms, "energy", "joint"]
    (marked,) = [line for line in lines if line.startswith("*")]
    chosen = next(one for one in found.candidates if one.chosen)
    assert chosen.tags == fitted.predict(scores)[changed]
    assert f"{chosen.joint:.3f}" in marked and marked.endswith(found.text(chosen))
    assert found.text(chosen).count("[") == len(chosen.spans) and "cat" in found.text(chosen)
    root = ElementTree.fromstring(found.svg())
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "the cat saw a dog" in texts and f"{chosen.joint:.2f} ✓" in texts
    assert fitted.explain(changed, scores).words == list("01234")


# Folds.

SENTENCES = [(["w", str(number % 40)], ["O", "B-A"]) for number in range(60)]


def test_each_example_is_scored_by_a_tagger_that_has_not_seen_an_equal_one():
    calls = []

    def train(seen, unseen):
        calls.append((seen, unseen))
        assert not {tuple(words) for words, _ in seen} & {tuple(words) for words, _ in unseen}
        return [torch.full((2, 5), float(words[1])) for words, _ in unseen]

    found = cross_fit(train, SENTENCES, say=lambda _: None)
    assert len(calls) == 3 and sum(len(unseen) for _, unseen in calls) == 60
    assert [row[0, 0].item() for row in found] == [number % 40 for number in range(60)]


def test_groups_are_held_out_together_and_equal_inputs_are_not_learned_from():
    def train(seen, unseen):
        assert not {number // 10 for number in seen} & {number // 10 for number in unseen}
        return numpy.zeros((len(unseen), 2, 5))

    cross_fit(train, range(60), folds=2, groups=[number // 10 for number in range(60)], say=lambda _: None)

    def with_equal(seen, unseen):
        assert not {example["words"] for example in seen} & {example["words"] for example in unseen}
        return [numpy.zeros((1, 5))] * len(unseen)

    data = [{"words": str(number % 30), "tags": [number]} for number in range(60)]
    cross_fit(with_equal, data, folds=2, groups=[number % 7 for number in range(60)], say=lambda _: None)


class Sentence:
    def __init__(self, number):
        self.words, self.number = ["w", str(number % 20)], number


@pytest.mark.parametrize(
    "make",
    [
        lambda words, number: {"id": number, "tokens": words, "ner_tags": [number]},
        lambda words, number: {"text": "  ".join(words), "spans": [number]},
        lambda words, number: [words, [number, number]],
        lambda words, number: ["\t".join(words), [number]],
        lambda words, number: ({"words": words, "id": number}, [number]),
        lambda words, number: [(word, f"B-{number}") for word in words],
        lambda words, number: Sentence(number),
        lambda words, number: numpy.array(words),
        lambda words, number: words,
    ],
)
def test_equal_sentences_are_seen_in_any_form(make):
    """Also where case differs."""
    numbers = range(60)
    data = [make([("W" if number > 30 else "w"), str(number % 20), "a", "b"], number) for number in numbers]
    place_of = {id(example): place for place, example in enumerate(data)}
    told = []

    def train(seen, unseen):
        assert not {place_of[id(one)] % 20 for one in seen} & {place_of[id(one)] % 20 for one in unseen}
        return [numpy.zeros((1, 5))] * len(unseen)

    cross_fit(train, data, say=told.append)
    assert len(told) == 3


def test_the_inputs_of_examples_may_be_given():
    """Two of a hundred words each time; with `exact` those of another case are others."""
    inputs = [["a", str(number % 20)] if number < 30 else ["A", str(number % 20)] for number in range(60)]
    for exact in (False, True):

        def train(seen, unseen):
            names = [
                {tuple(inputs[number]) if exact else inputs[number][1] for number in part} for part in (seen, unseen)
            ]
            assert not names[0] & names[1]
            mixed.append({inputs[number][1] for number in seen} & {inputs[number][1] for number in unseen})
            return [numpy.zeros((1, 5))] * len(unseen)

        mixed = []
        cross_fit(train, range(60), say=lambda _: None, inputs=inputs, exact=exact)
        assert any(mixed) == exact
    told = []
    cross_fit(lambda seen, unseen: [numpy.zeros((1, 5))] * len(unseen), [object() for _ in range(9)], say=told.append)
    assert "9 examples" in told[0] and "inputs=" in told[0]


def test_a_killed_run_goes_on_and_other_data_are_refused(tmp_path):
    calls = []

    def train(seen, unseen):
        calls.append(len(unseen))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return [torch.full((2, 5), float(words[1]) + torch.rand(())) for words, _ in unseen]

    with pytest.raises(KeyboardInterrupt):
        cross_fit(train, SENTENCES, folder=tmp_path)
    first = read_tensors(str(tmp_path / "fold-1.safetensors"))[0]["emissions"]
    found = cross_fit(train, SENTENCES, folder=tmp_path, say=lambda _: None)
    assert len(calls) == 4
    assert torch.equal(torch.cat(cross_fit(train, SENTENCES, folder=tmp_path)), torch.cat(found)) and len(calls) == 4
    assert set(first.flatten().tolist()) <= set(torch.cat(found).flatten().tolist())
    # Another gold tag is another data set, as a fold has learned from it.
    others = [*SENTENCES[:-1], (SENTENCES[-1][0], ["O", "O"])]
    for data, options in ((others, {}), (SENTENCES, {"seed": 1}), (SENTENCES, {"folds": 2})):
        with pytest.raises(ConfigurationError, match="fold"):
            cross_fit(train, data, folder=tmp_path, **options)


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"folds": 1}, r"folds: .*1"),
        ({"folds": 2.5}, r"folds: .*2.5"),
        ({"folds": 10**6}, r"folds: .*1000000"),
        ({"data": SENTENCES[:1]}, "folds: .*1.*3"),
        ({"groups": [1, 2]}, "groups: .*60.*2"),
        ({"inputs": [1, 2]}, "inputs: .*60.*2"),
    ],
)
def test_folds_that_cannot_be_made(options, sentence):
    with pytest.raises(ConfigurationError, match=sentence):
        cross_fit(lambda seen, unseen: None, **{"data": SENTENCES, **options})


@pytest.mark.parametrize(
    "returned, sentence",
    [
        (lambda unseen: [torch.zeros(2, 5)], "1"),
        (lambda unseen: [torch.zeros(5)] * len(unseen), r"\(5,\)"),
        (lambda unseen: [torch.full((2, 5), torch.nan)] * len(unseen), "NaN"),
        (lambda unseen: None, "None"),
    ],
)
def test_a_training_function_that_gives_something_else_is_told(returned, sentence):
    with pytest.raises(ConfigurationError, match=sentence):
        cross_fit(lambda seen, unseen: returned(unseen), SENTENCES, say=lambda _: None)


# Where it runs.

ALONE_PROGRAM = """
    import time, numpy, torch
    start = time.process_time()
    from seal.tagger import StructuredTagger, cross_fit
    took = time.process_time() - start
    labels, generator = ["O", "B-A", "I-A"], torch.Generator().manual_seed(0)
    scores = torch.randn(90, 3, 3, generator=generator)
    gold = [["B-A", "I-A", "O"]] * 90
    def train(seen, unseen):
        return [scores[number] for number in unseen]
    tagger = StructuredTagger(labels).fit(cross_fit(train, range(90), say=lambda _: None), gold)
    tagger.save("saved")
    assert StructuredTagger.load("saved").predict(scores) == tagger.predict(scores)
    print(took < 0.3 or took)
"""


def test_torch_and_numpy_are_enough_and_the_import_is_quick(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(seal.__file__).parents[1]))
    monkeypatch.chdir(tmp_path)
    ended = run(f"{textwrap.dedent(ALONE)}\n{textwrap.dedent(ALONE_PROGRAM)}")
    assert ended.stdout == "True\n", ended.stdout + ended.stderr


def test_emissions_may_be_on_another_device(fitted):
    scores = emissions_of(6, seed=7)
    expected = fitted.predict(scores)
    with other_device():
        assert fitted.predict([Remote(row) for row in scores]) == expected
        tagger = StructuredTagger(TAGS).fit([Remote(row) for row in emissions_of(60)], [RIGHT] * 60)
    here = StructuredTagger(TAGS).fit(emissions_of(60), [RIGHT] * 60)
    # Sums are taken in another order there.
    assert tagger.predict(scores) == here.predict(scores)
    assert tagger.report_["scale"] == pytest.approx(here.report_["scale"], abs=1e-4)


def test_the_program_of_the_page_runs_and_more_sentences_are_right(tmp_path, monkeypatch, capsys):
    root = Path(__file__).resolve().parents[2]
    page = (root / "docs" / "taggers.md").read_text(encoding="utf-8")
    program = max(re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL), key=len)
    (tmp_path / "data").symlink_to(root / "data")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(program, "taggers.md", "exec"), names)
    printed = capsys.readouterr().out
    before, after = map(int, re.search(r"\[(\d+), (\d+)\] of 200", printed).groups())
    assert after > before + 20 and f"of 200\n{names['explained'].table(3)}\n" in printed
    assert names["picture"].startswith("<svg")
    assert names["again"].predict(names["emissions"], words=names["texts"]) == names["after"]
    # Numbers differ between machines; the table on the page is of the same form.
    heads = ["log P", *names["explained"].candidates[0].terms, "energy", "joint"]
    assert all(head in page and head in printed for head in heads)


# Other libraries.


def test_probabilities_by_name_are_emissions():
    marginals = [[{"O": 0.25, "B-A": 0.75}, {"O": 1.0}], []]
    first, second = log_probabilities(marginals, TAGS)
    assert first.exp().tolist()[0] == pytest.approx([0.25, 0.75, 0, 0, 0], abs=1e-6) and second.shape == (0, 5)
