"""The way of tag sequences to the simplex and back to logits, which gradient-based inference takes."""

import pytest
import torch

from seal.samplers.gradient_based_inference import GradientBasedInference
from seal.samplers.sampler import SamplingProblem
from tests.spine import mask_of, one_hot, tag_sequence


def nearest_by_active_sets(point):
    """The nearest point of the simplex: of all sets of coordinates that may be above 0, the best feasible one."""
    best = None
    for active in range(1, 2 ** len(point)):
        chosen = [i for i in range(len(point)) if active >> i & 1]
        shift = (sum(point[i] for i in chosen) - 1) / len(chosen)
        candidate = [point[i] - shift if i in chosen else 0.0 for i in range(len(point))]
        if min(candidate) >= 0:
            distance = sum((a - b) ** 2 for a, b in zip(point, candidate))
            if best is None or distance < best[0]:
                best = distance, candidate
    return best[1]


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_project_by_brute_force(scale):
    torch.manual_seed(0)
    space, mask = tag_sequence(5), mask_of([3, 2])
    points = scale * torch.randn(2, 4, 3, 5, dtype=torch.double)
    projected = space.project(points, mask)
    for b, length in enumerate([3, 2]):
        for k in range(4):
            for t in range(length):
                assert projected[b, k, t].tolist() == pytest.approx(nearest_by_active_sets(points[b, k, t].tolist()))
    assert projected[1, :, 2].abs().max() == 0
    assert torch.equal(space.project(points)[0], projected[0])
    # A projection changes nothing of what is on the simplex.
    assert torch.allclose(space.project(projected, mask), projected)


def test_project_of_what_inference_starts_with():
    space, mask = tag_sequence(4), mask_of([3, 1])
    uniform = space.project(torch.zeros(2, 1, 3, 4), mask)
    assert torch.equal(uniform, 0.25 * mask[:, None, :, None].expand(2, 1, 3, 4))
    # Draws, and gold in the form that the sampler gives it.
    tags = torch.tensor([[[3, 0, 1]], [[2, 0, 0]]])
    for discrete in (tags, tags.double()):
        projected = space.project(discrete, mask)
        assert torch.equal(projected, one_hot(tags, 4).to(projected) * mask[:, None, :, None])
    # Large numbers: rounding must leave no token without a tag.
    far = space.project(torch.tensor([[[[1e8, 1e8 + 16, -1e8, 3.0]]]]))
    assert far.tolist() == [[[[0, 1, 0, 0]]]]


def test_to_logits():
    torch.manual_seed(0)
    space = tag_sequence(4)
    relaxed = torch.randn(2, 3, 5, 4, dtype=torch.double).softmax(-1)
    again = space.relax(space.to_logits(relaxed).flatten(0, 1)).squeeze(1).unflatten(0, (2, 3))
    assert torch.allclose(again, relaxed, atol=2e-3)
    tags = torch.randint(4, (2, 3, 5))
    logits = space.to_logits(tags)
    assert torch.isfinite(logits).all() and torch.equal(logits.argmax(-1), tags)
    assert logits.softmax(-1).amax(-1).min() > 0.99


@pytest.mark.parametrize("space, optimizer", [("clip", "sgd"), ("logit", "adam")])
@pytest.mark.parametrize("start", ["zeros", "half", "random", "task_net", "draw", "gold"])
def test_inference_finds_the_least_energy(space, optimizer, start):
    """Of an energy that is linear in the tags of each token: the least is at a corner of each simplex."""
    torch.manual_seed(0)
    output_space, mask = tag_sequence(3), mask_of([4, 2])
    costs, logits, gold = 5 * torch.randn(2, 4, 3), torch.randn(2, 4, 3), torch.randint(3, (2, 4))
    sampler = GradientBasedInference(num_steps=300, step_size=0.2, optimizer=optimizer, space=space, start=start)
    problem = SamplingProblem(
        logits, gold, mask, output_space, lambda outputs: output_space.inner(costs, outputs, mask)
    )
    outputs = sampler(problem).outputs
    assert outputs.shape == (2, 1, 4, 3)
    assert torch.allclose(outputs.sum(-1), mask.unsqueeze(1).float(), atol=1e-5)
    assert torch.equal(outputs.squeeze(1).argmax(-1)[mask], costs.argmin(-1)[mask])
    assert outputs.amax(-1).squeeze(1)[mask].min() > 0.99
