import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.losses import Comparison, RegressionLoss
from seal.samplers import GoldSampler, GradientBasedInference, SamplingProblem, StackedSampler
from seal.samplers.gradient_based_inference import OPTIMIZERS
from tests.label_sets import bowl, infer, label_set, problem_of, random_loss_net

# Starts.


def test_starts():
    torch.manual_seed(0)
    logits = torch.tensor([[2.0, -1.0, 0.5], [0.0, 90.0, -90.0]], dtype=torch.double)
    gold = torch.tensor([[1, 0, 1], [0, 1, 1]])
    problem = SamplingProblem(logits, gold, None, label_set(3), lambda outputs: 0 * outputs.sum(dim=-1))
    expected = {
        "zeros": torch.zeros(2, 1, 3),
        "half": torch.full((2, 1, 3), 0.5),
        "task_net": logits.sigmoid().unsqueeze(1),
        "gold": gold.unsqueeze(1),
    }
    for start, outputs in expected.items():
        # The energy is flat: a candidate stays where it starts.
        assert torch.equal(infer(problem, start=start), outputs.double())
        assert torch.allclose(infer(problem, start=start, space="logit"), outputs.double(), atol=0.0011)
    random = infer(problem, start="random", restarts=500)
    assert random.shape == (2, 500, 3)
    assert (random.mean(dim=1) - 0.5).abs().max() < 0.1 and random.std(dim=1).min() > 0.2
    draw = infer(problem, start="draw", restarts=500)
    assert ((draw == 0) | (draw == 1)).all()
    assert (draw.mean(dim=1) - logits.sigmoid()).abs().max() < 0.1


def test_predicts_without_gold():
    problem = problem_of(bowl(1, 0, 1))
    problem.gold = None
    sampler = GradientBasedInference()
    assert not sampler.needs_gold and sampler(problem).outputs.shape == (1, 1, 3)
    for settings in ({"start": "gold"}, {"objective": "cost_augmented"}, {"objective": "adversarial"}):
        sampler = GradientBasedInference(**settings)
        assert sampler.needs_gold
        with pytest.raises(ConfigurationError, match="needs gold"):
            sampler(problem)


# Its manners.


@pytest.mark.parametrize("objective", ["energy", "cost_augmented", "adversarial"])
@pytest.mark.parametrize("space", ["clip", "logit"])
def test_no_gradient_leaks(objective, space):
    net, features = random_loss_net(3)
    problem = problem_of(lambda outputs: net(features, outputs), batch=2, gold=[[1, 0, 1], [0, 0, 1]])
    problem.logits = torch.randn(2, 3, dtype=torch.double, requires_grad=True)
    settings = {"objective": objective, "space": space, "start": "task_net", "num_steps": 5}
    with_grad = infer(problem, **settings)
    with torch.no_grad():
        without = infer(problem, **settings)
        assert not torch.is_grad_enabled()
    assert torch.equal(with_grad, without)
    assert not torch.allclose(with_grad[:, 0], problem.logits.sigmoid(), atol=1e-3)  # It did move.
    assert problem.logits.grad is None and all(parameter.grad is None for parameter in net.parameters())
    assert all(parameter.requires_grad for parameter in net.parameters())


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"optimizer": {"type": "sgd", "momentum": 0.9}, "step_size": 0.1},
        *({"optimizer": name, "space": "logit", "step_size": 0.1} for name in OPTIMIZERS),
    ],
)
def test_an_instance_does_not_see_its_neighbours(settings):
    centers = torch.tensor([[0.3, 0.9, 0.1], [1.5, 0.2, -0.7]], dtype=torch.double)

    def problem(rows):
        chosen = centers[rows].unsqueeze(1)
        return problem_of(lambda y: 0.5 * (y - chosen).square().sum(dim=-1), batch=len(rows))

    settings = {**settings, "tolerance": 1e-3, "num_steps": 300, "keep": "last"}
    together = infer(problem([0, 1]), **settings)
    for row in (0, 1):
        assert torch.equal(infer(problem([row]), **settings), together[row : row + 1])


def test_tolerance_ends_the_steps():
    calls = []

    def energy(outputs):
        calls.append(1)
        return bowl(1.4, 0.3, -0.2)(outputs)

    found = infer(problem_of(energy), start="half", num_steps=50, tolerance=0.02)
    # 0.3 is neared by halves: 0.5, 0.4, 0.35, 0.325 and 0.3125, a step of 0.0125, which is the last.
    assert len(calls) == 4 and found.flatten().tolist() == pytest.approx([1, 0.3125, 0])
    calls.clear()
    trajectory = infer(problem_of(energy), start="half", num_steps=50, tolerance=0.02, keep="trajectory")
    assert trajectory.shape == (1, 51, 3) and torch.equal(trajectory[:, -1:], found)


def test_half_precision_logits():
    problem = problem_of(lambda outputs: bowl(0.3, 0.3, 0.3)(outputs).float())
    problem.logits = problem.logits.bfloat16()
    found = infer(problem, num_steps=40)
    assert found.dtype == torch.float and torch.allclose(found, torch.tensor(0.3), atol=1e-6)


def test_in_a_stack_with_gold():
    """The two candidates of a deep value network's step, and gold, with the regression loss."""
    net, features = random_loss_net(3)
    problem = problem_of(lambda outputs: net(features, outputs), batch=2, gold=[[1, 0, 1], [0, 0, 1]])
    samplers = [GradientBasedInference(), GradientBasedInference(objective="adversarial"), GoldSampler()]
    candidates = StackedSampler(samplers)(problem)
    found, adversarial = (sampler(problem).outputs for sampler in samplers[:2])
    expected = torch.cat([found, adversarial, problem.gold.double().unsqueeze(1)], dim=1)
    assert torch.equal(candidates.outputs, expected) and not torch.allclose(found, adversarial, atol=0.1)
    energy = net(features, candidates.outputs)
    loss = RegressionLoss()(Comparison(torch.zeros(2), energy, candidates, problem.gold, problem.output_space))
    # By hand: the cross-entropy of sigma(-E) and soft F1, summed over the three.
    for row in range(2):
        values = []
        for candidate, value in zip(expected[row], energy[row].sigmoid()):
            gold = problem.gold[row].double()
            score = 2 * torch.minimum(candidate, gold).sum() / (candidate + gold).sum()
            values.append(-score * (1 - value).log() - (1 - score) * value.log())
        assert torch.isclose(loss[row], sum(values))
