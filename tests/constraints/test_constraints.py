import itertools
from collections import Counter

import pytest
import torch

from seal.common.tag_encodings import tags_to_spans
from seal.constraints import (
    AtLeastOne,
    AtMostOne,
    Constraint,
    Count,
    Declared,
    ExactlyOne,
    ForbiddenTransitions,
    Implication,
)
from seal.output_spaces import LegalTagSequence
from seal.registry import ConfigurationError
from seal.structure.tag_sequences import TagScheme
from tests.spine import all_sequences, mask_of

LABELS = ["a", "b", "c", "d"]
EVERY_SET = torch.tensor(list(itertools.product([0.0, 1.0], repeat=4)))

RULES = {
    "at most one": (AtMostOne(["a", "b", "c"]), lambda a, b, c, d: a + b + c <= 1),
    "exactly one": (ExactlyOne(["a", "b"]), lambda a, b, c, d: a + b == 1),
    "at least one": (AtLeastOne(["b", "d"]), lambda a, b, c, d: b or d),
    "each of": (AtLeastOne(["b", "d"], each=True), lambda a, b, c, d: b and d),
    "two of": (Count(LABELS, least=2, most=3), lambda a, b, c, d: 2 <= a + b + c + d <= 3),
    "exclusion": (AtMostOne(["a", "d"]), lambda a, b, c, d: not (a and d)),
    "implication": (Implication({"a": "b", "c": ["b", "d"]}), lambda a, b, c, d: (not a or b) and (not c or b and d)),
}


@pytest.mark.parametrize("rule, holds", RULES.values(), ids=RULES.keys())
def test_a_violation_is_zero_exactly_where_the_rule_holds(rule, holds):
    broken = Declared([rule], LABELS, sequences=False)(EVERY_SET.unsqueeze(0))[0, :, 0]
    assert [bool(number == 0) for number in broken] == [bool(holds(*row)) for row in EVERY_SET.tolist()]
    assert torch.equal(broken, broken.round()) and broken.min() >= 0


@pytest.mark.parametrize("rule, holds", RULES.values(), ids=RULES.keys())
def test_relaxed_outputs_have_a_slope_where_they_break_it(rule, holds):
    torch.manual_seed(0)
    declared = Declared([rule], LABELS, sequences=False).double()
    outputs = torch.rand(1, 20, 4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(declared, outputs)
    broken = declared(outputs)
    (slope,) = torch.autograd.grad(broken.sum(), outputs)
    assert (broken[0, :, 0] > 0).any()
    assert torch.equal(broken[0, :, 0] > 0, slope[0].abs().sum(dim=1) > 0)


SCHEMES = {"BIO": ["O", "B-A", "I-A", "B-B", "I-B"], "BIOES": ["O", "B-A", "I-A", "E-A", "S-A", "I-B", "E-B"]}


@pytest.mark.parametrize("encoding", SCHEMES)
def test_spans_are_counted_as_every_other_count_does(encoding):
    """Also in sequences that are not legal, where an `I-X` that continues nothing begins a span."""
    tags, mask = SCHEMES[encoding], mask_of([4])
    declared = Declared([AtMostOne(["A", "B"], each=True), AtLeastOne(["B"])], tags, sequences=True, encoding=encoding)
    every = all_sequences(len(tags), 4).unsqueeze(0)
    spans = [Counter(name for name, _, _ in tags_to_spans([tags[t] for t in row])) for row in every[0].tolist()]
    counts = torch.tensor([[of["A"], of["B"]] for of in spans])
    roles = TagScheme(tags, encoding).spans(every, mask).roles
    assert torch.equal(torch.stack([(roles[0] == role).sum(dim=-1) for role in (0, 1)], dim=-1), counts)
    broken = declared(every, mask)
    assert torch.equal(broken[0, :, 0], (counts - 1).clamp(min=0).sum(dim=-1).float())
    assert torch.equal(broken[0, :, 1], (counts[:, 1] == 0).float())
    relaxed = torch.nn.functional.one_hot(every, len(tags))
    assert torch.equal(declared(relaxed.float(), mask), broken)
    # What stands behind the end of a sentence neither counts nor continues.
    short = declared(every, mask_of([2, 4])[:1])
    ended = [Counter(name for name, _, _ in tags_to_spans([tags[t] for t in row])) for row in every[0, :, :2].tolist()]
    assert short[0, :, 1].tolist() == [float(of["B"] == 0) for of in ended]


def test_of_marginals_of_legal_sequences_it_is_the_expected_number():
    torch.manual_seed(0)
    tags = SCHEMES["BIO"]
    space = LegalTagSequence(tags).double()
    rule = Count(["A"], least=4)  # No sequence of four has so many and a further span, so it counts.
    declared, every = Declared([rule], tags, True, "BIO").double(), all_sequences(5, 4).unsqueeze(0)
    logits = torch.randn(1, 4, 5, dtype=torch.double)
    probability = space.log_prob(logits, every).exp()
    expected = (probability * declared(every)[..., 0]).sum()
    assert declared(space.relax(logits)).item() == pytest.approx(expected.item(), abs=1e-6)


def test_forbidden_transitions_and_padding():
    declared = Declared([ForbiddenTransitions([("x", "y"), ("y", "y")])], ["x", "y"], sequences=True)
    tags = torch.tensor([[[0, 1, 1, 0], [1, 0, 0, 0]], [[0, 1, 1, 1], [0, 0, 1, 1]]])
    assert declared(tags, mask_of([4, 2]))[..., 0].tolist() == [[2, 0], [1, 0]]


def test_names():
    assert AtMostOne(["a", "b"]).name == "at_most_1_a_b"
    assert Count(["a"], 1, 2, each=True).name == "at_least_1_at_most_2_of_each_a"
    assert Implication({3: 0, 1: [0, "2"]}).pairs == [("3", "0"), ("1", "0"), ("1", "2")]
    assert Implication({"a": "b"}).name == "implication_a_b" and AtMostOne(["a"], name="mine").name == "mine"
    assert ForbiddenTransitions([("DET", "VERB")]).name == "forbidden_DET_VERB"
    assert {"count", "at_most_one", "exactly_one", "at_least_one", "implication", "forbidden_transitions"} <= set(
        Constraint.list_available()
    )


@pytest.mark.parametrize(
    "rule, message",
    [
        (lambda: AtMostOne([]), "label"),
        (lambda: AtMostOne("ab"), "list"),
        (lambda: Count(["a"], least=2, most=1), "2 .*1"),
        (lambda: ForbiddenTransitions([("a", "b", "c")]), "pairs"),
        (lambda: Declared([AtMostOne(["a", "z"])], LABELS, False), "'z'.* a, b"),
        (lambda: Declared([ForbiddenTransitions([("a", "b")])], LABELS, False), "tag sequences"),
        (lambda: Declared([Implication({"B-A": "A"})], ["O", "B-A", "I-A"], True, "BIO"), "'B-A'.* A"),
    ],
)
def test_what_is_refused(rule, message):
    with pytest.raises(ConfigurationError, match=message):
        rule()
