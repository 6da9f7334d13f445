import itertools
import random

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.common.tag_encodings import tags_to_spans
from seal.tasks.srl.crossing_spans import CrossingSpans, expected_crossings
from tests.spine import is_legal, one_hot, seal_model, srl_batch, srl_model

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]


def crossings(outer, later):
    """The pairs of a span of `outer` and one of `later` that begins in it and ends after it."""
    spans = itertools.product(tags_to_spans(outer), tags_to_spans(later))
    return sum(one[1] < other[1] <= one[2] < other[2] for one, other in spans)


def legal_tags(length):
    return next(tags for tags in iter(lambda: random.choices(TAGS, k=length), None) if is_legal(tags))


def relaxed(*rows):
    return one_hot(torch.tensor([[TAGS.index(tag) for tag in row] for row in rows]), len(TAGS))


@pytest.mark.parametrize(
    "outer, later, number",
    [
        # A span of each that overlap in part, one within the other, side by side, and equal.
        ("B-A I-A I-A O", "O B-B I-B I-B", 1),
        ("B-A I-A I-A I-A", "O B-B I-B O", 0),
        ("B-A I-A O O", "O O B-B I-B", 0),
        ("B-A I-A O O", "B-A I-A O O", 0),
        # The end of the outer span is the beginning of the next.
        ("B-A I-A B-B I-B", "O B-A I-A O", 1),
        # A span that crosses two others.
        ("B-A I-A O O B-A I-A", "O B-B I-B I-B I-B O", 1),
    ],
)
def test_spans_by_hand(outer, later, number):
    rows = relaxed(outer.split(), later.split())
    found = CrossingSpans(TAGS)(rows, [{"source": "a:1"}, {"source": "a:1"}])
    other_way = crossings(later.split(), outer.split())
    assert crossings(outer.split(), later.split()) == number
    assert found.item() == pytest.approx((number + other_way) / 2)


def test_of_discrete_tags_it_is_the_number_of_crossing_spans():
    random.seed(0)
    seen = 0
    for _ in range(200):
        frames = [legal_tags(7) for _ in range(3)]
        number = sum(crossings(one, other) for one, other in itertools.permutations(frames, 2))
        found = CrossingSpans(TAGS)(relaxed(*frames), [{"source": "a:1"}] * 3)
        assert found.item() == pytest.approx(number / 3)
        seen += number > 0
    assert seen > 20


def test_of_independent_tags_it_is_the_expectation():
    torch.manual_seed(0)
    outer, later = torch.randn(2, 4, 3).double().softmax(dim=-1)  # of O, B and I

    def pattern(u, v):
        return sum(
            (u[c], v[c]) == ("I", "B")
            and all((u[t], v[t]) == ("I", "I") for t in range(c + 1, e))
            and u[e] != "I"
            and v[e] == "I"
            for c, e in itertools.combinations(range(4), 2)
        )

    expected = 0.0
    for u, v in itertools.product(itertools.product("OBI", repeat=4), repeat=2):
        probability = 1.0
        for place, (one, other) in enumerate(zip(u, v)):
            probability *= outer[place]["OBI".index(one)].item() * later[place]["OBI".index(other)].item()
        expected += probability * pattern(u, v)
    found = expected_crossings(outer[None, :, 2], later[None, :, 1], later[None, :, 2])
    assert found.item() == pytest.approx(expected) and expected > 0.1


def test_its_gradient():
    torch.manual_seed(0)
    rows = torch.rand(3, 2, 6).double().requires_grad_()
    assert torch.autograd.gradcheck(expected_crossings, tuple(rows))
    assert torch.autograd.gradgradcheck(expected_crossings, tuple(rows))


def test_a_frame_is_compared_with_those_of_its_sentence():
    rows = relaxed("B-A I-A O".split(), "O B-A I-A".split(), "O B-A I-A".split())
    rule = CrossingSpans(TAGS)
    sources = [("a:1", "a:2", "a:3"), (None, None, None), ("a:1", "a:2", "a:1"), ("a:1", "a:1", "a:1")]
    found = [rule(rows, [{"source": source} for source in row]).item() for row in sources]
    assert found == pytest.approx([0, 0, 1 / 3, 2 / 3])


def batch_of_two_sentences():
    """Two frames of a sentence, one of another, and a row that asks for predicates."""
    batch = srl_batch([0, 0, 1, 3])
    batch["predicate"][1] = batch["predicate"][0].flip(0)
    for known, source in zip(batch["metadata"], ["a:1", "a:1", "a:2", "a:1"]):
        known["source"] = source
    return batch


@pytest.mark.parametrize("output_space", ["tag_sequence", "crf_tag_sequence"])
def test_the_task_nets_loss(output_space):
    batch, losses = batch_of_two_sentences(), {}
    for weight in (0.0, 2.0):
        model = seal_model(output_space=output_space, crossing_weight=weight)
        state = model.task_state(**batch)
        losses[weight] = model.task_net_loss(state, model.frozen_features(state))
        assert model.joint_loss(batch).item() == pytest.approx(losses[weight].item())
    tags = model.output_space.relax(state.logits, state.mask).squeeze(1)
    begins, inside = (tags[:2, :, [tag[0] == prefix for tag in model._labels]].sum(dim=-1) for prefix in "BI")
    both = expected_crossings(inside, begins.flip(0), inside.flip(0)).sum()
    assert both > 0
    assert (losses[2.0] - losses[0.0]).item() == pytest.approx(2 * both.item() / 3)
    (slope,) = torch.autograd.grad(losses[2.0] - losses[0.0].detach(), [model.task_net._head.weight])
    assert slope.abs().sum() > 0
    assert model.get_metrics()["crossing_loss"] == pytest.approx(2 * both.item() / 3)


def test_a_weight_below_zero():
    with pytest.raises(ConfigurationError, match="model.crossing_weight"):
        srl_model(crossing_weight=-1)
