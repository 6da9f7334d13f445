"""The energies that see the words and the task-net's scores of tokens, by hand."""

import math

import pytest
import torch

from seal.registry import ConfigurationError
from seal.structure.energies import SpanContext, SpanCounts, TokenScores
from seal.structure.span_features import BUCKETS, SHAPES, SIGN, SpanFeatures, shape
from seal.structure.tag_sequences import TagCandidates
from tests.structure.makers import SCHEME, TAGS, excluded_gold, filled, of_training

A0, A1, V = range(3)
WORDS = [["The", "cat", "sat", "on", "the", "Mat"], ["It", "was", "eaten", "by", "2b"]]
# Of each sentence two candidates: the first one is gold.
STRINGS = [
    [["B-A0", "I-A0", "B-V", "B-A1", "I-A1", "I-A1"], ["B-A0", "I-A0", "B-V", "O", "B-A1", "I-A1"]],
    [["B-A1", "O", "B-V", "B-A0", "I-A0"], ["B-A0", "O", "B-V", "B-A1", "O"]],
]


def candidates(**changes):
    tags = torch.tensor([[[*map(TAGS.index, one), *[0] * (6 - len(one))] for one in two] for two in STRINGS])
    mask = torch.tensor([[True] * 6, [True] * 5 + [False]])
    generator = torch.Generator().manual_seed(0)
    settings = {
        "keys": ["sit", "eat"],
        "token_log_prob": -torch.rand(tags.shape, generator=generator) * mask.unsqueeze(1),
        "words": WORDS,
        "places": [2, 2],
        **changes,
    }
    return TagCandidates(tags, torch.zeros(2, 2), mask, SCHEME, torch.tensor([0, 0]), **settings)


def gold_alone():
    both = candidates()
    seen = {"keys": both.keys, "words": both.words, "places": both.places}
    return TagCandidates(
        both.tags[:, :1], torch.zeros(2, 1), both.mask, SCHEME, torch.zeros(2, dtype=torch.long), **seen
    )


@pytest.mark.parametrize("kind", [SpanContext, SpanCounts, TokenScores])
def test_each_is_0_at_first_and_where_what_it_reads_is_not_given(kind):
    assert not kind(3)(candidates()).any()
    blind = candidates(words=[], places=[], token_log_prob=None)
    energy = filled(kind(3))
    energy.prepare(gold_alone())
    assert not energy(blind).any() and not energy.features(blind)


def test_span_features():
    both = candidates()
    _, found, number = both.distinct_spans
    # The two candidates of each sentence have some spans in common, once.
    assert len(found.row) == len(set(number.tolist())) < len(number) == len(both.listed_spans.role)
    assert found.first[number].tolist() == both.listed_spans.first.tolist()
    assert found.last[number].tolist() == both.listed_spans.last.tolist()
    # The spans of gold of the second sentence: `It`, `eaten`, `by 2b`; those of four candidates follow each other.
    gold = number[6:9]
    assert found.row[gold].tolist() == [1, 1, 1]
    assert found.side[gold].tolist() == [0, 2, 1]
    # 2 words before the predicate, 0 from it, and 1 after it.
    assert found.distance[gold].tolist() == [1, 2 * BUCKETS, BUCKETS]
    assert found.length[gold].tolist() == [0, 0, 1]
    assert found.word("before")[gold[0]] == 0 and found.word("after")[gold[2]] == 0
    assert found.word("predicate_before")[gold[0]] == found.word("before")[gold[1]] != 0
    assert [shape(word) for word in ("cat", "Cat", "NASA", "2b", "...", "I")] == [0, 1, 2, 3, SIGN, 1]


def test_the_code_of_a_string_is_that_of_its_words_in_their_order_wherever_they_stand():
    words = [["a", "b", "c", "a", "b"], ["b", "a", "B", "c", "d"]]
    row, first, last = torch.tensor([[0, 0, 1], [0, 3, 4], [1, 0, 1], [1, 1, 2], [0, 0, 2], [1, 1, 3]]).t()
    found = SpanFeatures(row, first, last, words, 5).string.tolist()
    assert found[0] == found[1] == found[3] != found[2]
    assert found[4] == found[5] != found[0]
    codes, rows = SpanFeatures(row, first, last, words, 5).strings(2)
    assert rows[codes == found[0]].tolist() == [0, 0, 1] and len(codes) == 2 * (5 + 4)


@pytest.mark.parametrize("tokens", [3, 9])
def test_strings_end_with_their_sentence(tokens):
    """However long the longest sentence is."""
    features = SpanFeatures(*torch.tensor([[0], [1], [1]]), [["in", "Paris"], ["we", "in", "Paris"]], tokens)
    codes, rows = features.strings(8)
    assert rows[codes == features.string].tolist() == [0, 1] and len(codes) == len(codes.unique()) + 3 == 3 + 6


def test_span_context():
    energy = filled(SpanContext(3, ["distance", "first", "predicate_before"], num_words=1))
    energy.prepare(gold_alone())
    distances, words = 3 * BUCKETS, SHAPES + 1

    def place(word):
        # `the` is the only word that occurs twice.
        return SHAPES if word.lower() == "the" else shape(word)

    def cost(role, side, steps, first, beside):
        of_role = energy.cost[role].detach()
        third = distances + words + side * words + place(beside)
        return float(of_role[side * BUCKETS + steps] + of_role[distances + place(first)] + of_role[third])

    # `The cat` is 1 word before `sat`, `on ..` 1 after it and `the Mat` 2; the word before `sat` is `cat`.
    shared = cost(A0, 0, 0, "The", "cat") + cost(V, 2, 0, "sat", "cat")
    wanted = [shared + cost(A1, 1, 0, "on", "cat"), shared + cost(A1, 1, 1, "the", "cat")]
    assert energy(candidates())[0].tolist() == pytest.approx(wanted, abs=1e-5)


def test_span_counts():
    energy = filled(SpanCounts(3, [["last"], ["key", "side"]], shrinkage=2.0))
    energy.prepare(gold_alone())
    # Each role occurs twice in gold.
    share = 2.5 / 7.5

    def cost(role, *counts):
        """The counts are `(n_cr, n_c)` of the two contexts."""
        weight = energy.weight[:, 0] + energy.weight[:, role + 1]
        values = [math.log((with_role + 2 * share) / (of_all + 2) / share) for with_role, of_all in counts]
        return -sum(float(w) * value for w, value in zip(weight, values))

    # The second sentence: gold, and a candidate whose `It` and `by` have roles that they never had.
    gold = cost(A1, (1, 1), (1, 1)) + cost(V, (1, 1), (1, 1)) + cost(A0, (1, 1), (1, 1))
    other = cost(A0, (0, 1), (0, 1)) + cost(V, (1, 1), (1, 1)) + cost(A1, (0, 0), (0, 1))
    assert energy(candidates())[1].tolist() == pytest.approx([gold, other], abs=1e-5)
    # Of training data itself nothing is left where the instance's own gold is taken away.
    none = [(0, 0), (0, 0)]
    wanted = [cost(A1, *none) + cost(V, *none) + cost(A0, *none), cost(A0, *none) + cost(V, *none) + cost(A1, *none)]
    assert energy(candidates(excluded=excluded_gold(gold_alone())))[1].tolist() == pytest.approx(wanted, abs=1e-5)


def test_names_are_counted_in_texts_and_not_only_where_they_are_entities():
    tags = torch.tensor([[[1, 2, 0, 0]], [[0, 0, 0, 3]], [[0, 0, 3, 0]]])
    words = [["New", "York", "is", "new"], ["a", "new", "york", "York"], ["is", "a", "York", "is"]]
    mask, gold = torch.ones(3, 4, dtype=torch.bool), torch.zeros(3, dtype=torch.long)
    train = TagCandidates(tags, torch.zeros(3, 1), mask, SCHEME, gold, words=words)
    energy = filled(SpanCounts(3, [["string"]], shrinkage=1.0))
    energy.prepare(train)
    shares = [1.5 / 4.5, 2.5 / 4.5]

    def cost(role, with_role, of_all):
        weight = float(energy.weight[0, 0] + energy.weight[0, role + 1])
        return -weight * math.log((with_role + shares[role]) / (of_all + 1) / shares[role])

    # `New York` occurs twice, once as A0; `york` four times, twice as A1.
    assert energy(train).flatten().tolist() == pytest.approx([cost(A0, 1, 2), cost(A1, 2, 4), cost(A1, 2, 4)])
    own = energy(of_training(train)).flatten().tolist()
    assert own == pytest.approx([cost(A0, 0, 1), cost(A1, 1, 2), cost(A1, 1, 3)])
    # All of an equal input is left out: the last two are taken for one.
    own = energy(of_training(train, [0, 1, 1])).flatten().tolist()
    assert own == pytest.approx([cost(A0, 0, 1), cost(A1, 0, 1), cost(A1, 0, 1)])
    # Words that are never a span: `is` occurs three times, `is new` and `new is` once and never.
    new = TagCandidates(
        torch.tensor([[[1, 0], [1, 2], [0, 3]]]), torch.zeros(1, 3), mask[:1, :2], SCHEME, words=[["is", "new"]]
    )
    assert energy(new)[0].tolist() == pytest.approx([cost(A0, 0, 3), cost(A0, 0, 1), cost(A1, 0, 3)])


def test_own_gold_is_left_out_as_if_training_had_never_had_it():
    """Of each of random sentences, padded to the longest: the energy that has counted the others."""
    generator = torch.Generator().manual_seed(0)
    lengths = [4, 2, 6, 3, 1, 5]
    tags = torch.randint(len(TAGS), (6, 3, 6), generator=generator)
    mask = torch.arange(6) < torch.tensor(lengths).unsqueeze(1)
    words = [
        [["Paris", "in", "we", "New"][int(word)] for word in torch.randint(4, (n,), generator=generator)]
        for n in lengths
    ]
    settings = {"words": words, "keys": ["eat", "go"] * 3, "places": [0] * 6}
    gold = TagCandidates(tags[:, :1], torch.zeros(6, 1), mask, SCHEME, torch.zeros(6, dtype=torch.long), **settings)
    energy = SpanCounts(3, [["string"], ["last"], ["key", "side", "first"], ["before"], ["length", "after"]])
    energy.prepare(gold)
    part = TagCandidates(tags, torch.zeros(6, 3), mask, SCHEME, excluded=excluded_gold(gold), **settings)
    for row in range(6):
        filled(energy)
        others = torch.tensor([other for other in range(6) if other != row])
        without = filled(SpanCounts(3, energy._contexts))
        without.prepare(gold.of_rows(others))
        # The share of each role is that of all gold.
        without.share = energy.share
        alone = TagCandidates(tags, torch.zeros(6, 3), mask, SCHEME, **settings).of_rows(torch.tensor([row]))
        assert energy(part)[row].tolist() == pytest.approx(without(alone)[0].tolist(), abs=1e-5)


def test_token_scores():
    energy, part = filled(TokenScores(3)), candidates()

    def log_odds(row, place, token):
        log_p = float(part.token_log_prob[row, place, token])
        return log_p - math.log(1 - math.exp(log_p))

    def wanted(row, place, spans, rest):
        found = 0.0
        for role, first, last in spans:
            z = [log_odds(row, place, token) for token in range(first, last + 1)]
            values = [sum(z) / len(z), min(z), z[0], z[-1], math.log(len(z))]
            found -= sum(float(weight) * value for weight, value in zip(energy.of_role[role], values))
        z = [log_odds(row, place, token) for token in rest]
        return found - sum(float(w) * value for w, value in zip(energy.of_rest, (sum(z), min([0.0, *z]))))

    found = energy(part)
    assert float(found[0, 0]) == pytest.approx(wanted(0, 0, [(A0, 0, 1), (V, 2, 2), (A1, 3, 5)], []), abs=1e-4)
    assert float(found[0, 1]) == pytest.approx(wanted(0, 1, [(A0, 0, 1), (V, 2, 2), (A1, 4, 5)], [3]), abs=1e-4)
    assert float(found[1, 1]) == pytest.approx(wanted(1, 1, [(A0, 0, 0), (V, 2, 2), (A1, 3, 3)], [1, 4]), abs=1e-4)


def test_the_scores_of_tokens_do_not_depend_on_padding():
    """Of an output without a span whose tokens are all likely."""
    energy, found = filled(TokenScores(3)), []
    for tokens in (2, 5):
        mask = torch.arange(tokens).unsqueeze(0) < 2
        log_prob = torch.tensor([-0.1, -0.2, 0, 0, 0])[:tokens].view(1, 1, -1)
        tags = torch.zeros(1, 1, tokens, dtype=torch.long)
        found.append(float(energy(TagCandidates(tags, torch.zeros(1, 1), mask, SCHEME, token_log_prob=log_prob))))
    wanted = -float(energy.of_rest[0]) * sum(-p - math.log(1 - math.exp(-p)) for p in (0.1, 0.2))
    assert found == pytest.approx([wanted] * 2)


def test_a_marginal_of_1_has_finite_log_odds():
    part = candidates()
    part.token_log_prob = torch.zeros_like(part.token_log_prob)
    assert filled(TokenScores(3))(part).isfinite().all()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: SpanContext(3, ["colour"]), "'span_context' .*'colour'"),
        (lambda: SpanCounts(3, [["colour"]]), "'span_counts' .*'colour'"),
        (lambda: SpanCounts(3, shrinkage=0), "shrinkage .*'span_counts'"),
    ],
)
def test_settings_that_are_not_known_are_refused(make, message):
    with pytest.raises(ConfigurationError, match=message):
        make()
