import math

import pytest
import torch

from seal.output_spaces import BinaryMask
from seal.samplers import Reranking, SamplingProblem
from tests.label_sets import label_set
from tests.spine import FRAMES, SENTENCES, VOCAB, is_legal, mask_of, seal_model, srl_batch, tag_sequence

LENGTHS = [3, 2]


def problem_of(space, logits, energy, mask=None):
    return SamplingProblem(logits, None, mask, space, energy)


def tag_problem():
    """Of two sentences and three tags, whose energy is a table of numbers for each sequence."""
    torch.manual_seed(0)
    space, mask = tag_sequence(3), mask_of(LENGTHS)
    logits = torch.randn(2, 3, 3, dtype=torch.double)
    table = torch.randn(2, 3, 3, 3, dtype=torch.double)

    def energy(outputs):
        # Padding has tag 0.
        outputs = outputs * mask.unsqueeze(1)
        return torch.stack([table[b][tuple(outputs[b].unbind(1))] for b in range(2)])

    return problem_of(space, logits, energy, mask), table


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_with_many_draws_the_least_of_all_outputs_is_found(weight):
    problem, table = tag_problem()
    found = Reranking(3000, weight)(problem).outputs
    assert found.shape == (2, 1, 3) and found.dtype == torch.long
    log_p = problem.logits.log_softmax(dim=-1)
    for b, length in enumerate(LENGTHS):
        values = {}
        for first in range(3):
            for second in range(3):
                for third in range(3 if length == 3 else 1):
                    tags = [first, second, third]
                    own = sum(log_p[b, t, tag].item() for t, tag in enumerate(tags[:length]))
                    values[first, second, third] = table[b][first, second, third].item() - weight * own
        assert tuple(found[b, 0, :length].tolist()) == min(values, key=values.get)[:length]


def test_the_best_output_competes_and_wins_where_energies_are_alike():
    logits = torch.full((1, 40), 0.3)  # No draw of 40 labels is likely to be all of them.
    space = label_set(40)
    found = Reranking(5)(problem_of(space, logits, lambda outputs: -outputs.sum(dim=-1))).outputs
    assert found.tolist() == [[[1.0] * 40]]
    for value in (0.0, math.nan, math.inf):
        found = Reranking(5)(problem_of(space, logits, lambda outputs: torch.full(outputs.shape[:2], value)))
        assert found.outputs.tolist() == [[[1.0] * 40]]


def test_draws_are_the_same_each_time_and_no_others_are_moved():
    problem, _ = tag_problem()
    seen = []
    inner, problem.energy = problem.energy, lambda outputs: (seen.append(outputs), inner(outputs))[1]
    torch.manual_seed(4)
    expected = torch.rand(3)
    torch.manual_seed(4)
    for seed in (13, 13, 14):
        Reranking(4, seed=seed)(problem)
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(seen[0], seen[1]) and (seen[0].shape != seen[2].shape or not torch.equal(seen[0], seen[2]))


def test_masks():
    torch.manual_seed(0)
    wanted = torch.randint(0, 2, (2, 1, 3, 4)).float()
    logits = (2 * wanted[:, 0] - 1) * 0.8
    found = Reranking(400)(
        problem_of(BinaryMask((3, 4)), logits, lambda outputs: (outputs - wanted).abs().flatten(2).sum(2))
    )
    assert torch.equal(found.outputs, wanted)


@pytest.mark.parametrize("output_space", ["tag_sequence", "legal_tag_sequence", "crf_tag_sequence"])
def test_frames(output_space):
    """An energy that wants what is illegal; only legal sequences compete, and rows without a predicate stay."""
    model = seal_model(output_space=output_space, inference={"type": "rerank", "num_samples": 50}).eval()
    batch = srl_batch()
    with model.predicting_by(None):
        own = model(**batch)
    output = model(**batch)
    assert "loss" not in output and "loss" in own
    labels = [VOCAB.get_token_from_index(i, "srl_tags") for i in range(VOCAB.get_vocab_size("srl_tags"))]
    state = model.task_state(**batch)
    before, after = (model.energy(state, found["tags"][FRAMES].unsqueeze(1)).squeeze(1) for found in (own, output))
    assert (after <= before).all() and (after < before).any()
    for row in FRAMES:
        assert is_legal([labels[tag] for tag in output["tags"][row, : len(SENTENCES[row][0])]])
    logits = model.task_net({name: batch[name] for name in ("tokens", "predicate")}, state_mask(model, batch)).logits
    expected = model.output_space.log_prob(logits, output["tags"].unsqueeze(1), state_mask(model, batch)).squeeze(1)
    assert torch.allclose(output["log_prob"][FRAMES], expected[FRAMES])
    assert torch.equal(output["predicate_prob"], own["predicate_prob"])


def state_mask(model, batch):
    return model._pass(batch["tokens"], batch["predicate"], None, None).mask


def test_refinement_of_frames_from_the_task_nets_output():
    """Gradient-based inference that starts there (implicit-training paper, Remark 3)."""
    inference = {"type": "gradient_based_inference", "start": "task_net", "num_steps": 20, "keep": "best"}
    model, batch = seal_model(inference=inference).eval(), srl_batch()
    state = model.task_state(**batch)
    relaxed = model.output_space.relax(state.logits, state.mask)
    found = model.infer(state).unsqueeze(1)
    assert (model.energy(state, found) < model.energy(state, relaxed)).all()
    tags, nearest = model(**batch)["tags"][FRAMES].unsqueeze(1), found.argmax(dim=-1) * state.mask.unsqueeze(1)
    assert model.output_space.is_legal(tags, state.mask).all()
    legal = model.output_space.is_legal(nearest, state.mask)
    assert torch.equal((tags * state.mask.unsqueeze(1))[legal], nearest[legal])
