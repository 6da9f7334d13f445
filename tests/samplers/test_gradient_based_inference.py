import pytest
import torch

from seal.losses.energy_loss import regression_loss
from seal.samplers import GradientBasedInference
from seal.scores import SoftF1
from tests.label_sets import all_sets, bowl, infer, label_set, problem_of, random_loss_net

# Against known trajectories and minima.


def test_the_oracle_trajectory():
    settings = {"step_size": 0.5, "start": "half", "num_steps": 4}
    found = infer(problem_of(bowl(1.4, 0.3, -0.2)), keep="trajectory", **settings)
    expected = [(0.5, 0.5, 0.5), (0.95, 0.4, 0.15), (1, 0.35, 0), (1, 0.325, 0), (1, 0.3125, 0)]
    assert torch.allclose(found, torch.tensor([expected], dtype=torch.double), atol=1e-12, rtol=0)
    for keep in ("last", "best"):
        assert torch.equal(infer(problem_of(bowl(1.4, 0.3, -0.2)), keep=keep, **settings), found[:, -1:])
    limit = infer(problem_of(bowl(1.4, 0.3, -0.2)), num_steps=60)
    assert torch.allclose(limit, torch.tensor([1, 0.3, 0], dtype=torch.double))


@pytest.mark.parametrize("space", ["clip", "logit"])
@pytest.mark.parametrize(
    "optimizer, step_sizes",
    [
        ("sgd", (0.05, 1.0)),
        ("adam", (0.1, 0.1)),
        ({"type": "adamw", "weight_decay": 0.0}, (0.1, 0.1)),
        ("adamax", (0.1, 0.1)),
        ("nadam", (0.1, 0.1)),
        ("radam", (0.1, 0.1)),
        ("adagrad", (0.1, 1.0)),
        ("adadelta", (0.1, 1.0)),
        ("rmsprop", (0.001, 0.005)),
        ({"type": "asgd", "lambd": 0.0}, (0.05, 1.0)),
        ("rprop", (0.1, 0.1)),
        ({"type": "sgd", "momentum": 0.9}, (0.02, 0.5)),
        ({"type": "adam", "betas": [0.5, 0.9]}, (0.1, 0.1)),
    ],
)
def test_a_quadratic_with_a_known_minimum(space, optimizer, step_sizes):
    torch.manual_seed(0)
    root = torch.randn(2, 3, 3, dtype=torch.double)
    matrix = root @ root.transpose(1, 2) + torch.eye(3, dtype=torch.double)
    center = torch.tensor([[0.2, 0.5, 0.7], [0.6, 0.3, 0.1]], dtype=torch.double)

    def energy(outputs):
        away = outputs - center.unsqueeze(1)
        return torch.einsum("bki,bij,bkj->bk", away, matrix, away)

    found = infer(
        problem_of(energy, batch=2),
        optimizer=optimizer,
        space=space,
        step_size=step_sizes[space == "logit"],
        start="half",
        num_steps=1500,
        keep="best",
    )
    assert torch.allclose(found.squeeze(1), center, atol=0.01)


def test_momentum_by_hand():
    """`v <- 0.9 v + (y - center)`, `y <- y - 0.1 v`, away from the bounds; every search begins with `v = 0`."""
    sampler = GradientBasedInference(3, 0.1, {"type": "sgd", "momentum": 0.9}, start="half", keep="trajectory")
    center, point, velocity, way = 0.3, 0.5, 0.0, [0.5]
    for _ in range(3):
        velocity = 0.9 * velocity + point - center
        point -= 0.1 * velocity
        way.append(point)
    for _ in range(2):
        assert sampler(problem_of(bowl(center, center, center))).outputs[0, :, 0].tolist() == pytest.approx(way)
    plain = infer(problem_of(bowl(center, center, center)), num_steps=3, step_size=0.1, start="half")
    assert abs(plain[0, 0, 0].item() - point) > 0.01


def test_mixed_precision_does_not_reach_the_gradient():
    """A trainer's autocast is around the sampler; an energy that leaves it has its gradient outside of it as well."""
    matrix = torch.randn(3, 3, generator=torch.Generator().manual_seed(0))

    def energy(outputs):
        with torch.autocast("cpu", enabled=False):
            return (outputs @ matrix).square().sum(dim=-1)

    problem = problem_of(energy)
    problem.logits = problem.logits.float()
    expected = infer(problem, start="half", num_steps=5, step_size=0.01)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(infer(problem, start="half", num_steps=5, step_size=0.01), expected)


@pytest.mark.parametrize("seed", range(3))
def test_against_all_label_sets(seed):
    """With negative weights the energy is concave, so its minimum is a label set: that of brute force."""
    net, features = random_loss_net(5, sign=-1, seed=seed)
    energy = net(features, all_sets(5).expand(2, -1, -1)).detach()
    problem = problem_of(lambda outputs: net(features, outputs), num_labels=5, batch=2)
    found = infer(problem, start="random", restarts=20, num_steps=40, step_size=0.3, keep="best")
    assert torch.equal(found.squeeze(1), all_sets(5)[energy.argmin(dim=1)])


def test_a_convex_energy_has_one_minimum():
    net, features = random_loss_net(5, sign=1)
    problem = problem_of(lambda outputs: net(features, outputs), num_labels=5, batch=2)
    found = infer(problem, start="random", restarts=4, num_steps=500, step_size=0.02)
    energy = net(features, found).detach()
    assert torch.allclose(energy, energy[:, :1], atol=1e-6)
    rivals = torch.cat([all_sets(5), torch.rand(2000, 5, dtype=torch.double)]).expand(2, -1, -1)
    assert (net(features, rivals).amin(dim=1) >= energy[:, 0] - 1e-6).all()
    from_logits = infer(problem, space="logit", optimizer="adam", start="half", num_steps=1000, step_size=0.1)
    assert torch.allclose(net(features, from_logits)[:, 0], energy[:, 0], atol=0.02)


# The other objectives.


def test_cost_augmented():
    """`E` and the cost are linear at label sets, so each label is decided alone: by enumeration."""
    torch.manual_seed(1)
    slope, gold = torch.randn(1, 4, dtype=torch.double) * 2, [[1, 0, 1, 0]]
    space = label_set(4)
    problem = problem_of(lambda outputs: space.inner(slope, outputs), num_labels=4, gold=gold)
    sets = all_sets(4).unsqueeze(0)
    value = problem.energy(sets) - (sets - torch.tensor(gold)).abs().sum(dim=-1)
    found = infer(problem, objective="cost_augmented")
    assert torch.equal(found[0, 0], sets[0, value[0].argmin()])
    # It is the cost that makes the difference.
    assert not torch.equal(found, infer(problem))
    # One step from 1/2, by the gradient of the definition.
    (step,) = infer(problem, objective="cost_augmented", start="half", step_size=0.01, num_steps=1)
    slope_of_cost = 1 - 2 * torch.tensor(gold, dtype=torch.double)
    assert torch.allclose(step, 0.5 - 0.01 * (slope - slope_of_cost))


def test_adversarial():
    """One step goes up the regression loss, through energy and score; many reach a worse candidate."""
    net, features = random_loss_net(4)
    problem = problem_of(lambda y: net(features, y), num_labels=4, batch=2, gold=[[1, 0, 1, 0], [0, 1, 0, 0]])

    def loss(outputs):
        score = SoftF1()(problem.output_space, outputs, problem.gold)
        return regression_loss(net(features, outputs), score)

    start, width = torch.full((2, 1, 4), 0.5, dtype=torch.double), 1e-6
    sides = [(loss(start + width * e), loss(start - width * e)) for e in torch.eye(4).double()]
    slope = torch.stack([(above - below) / (2 * width) for above, below in sides], dim=-1)
    step = infer(problem, objective="adversarial", start="half", step_size=0.01, num_steps=1)
    assert slope.abs().min() > 1e-3 and torch.allclose(step, start + 0.01 * slope, atol=1e-7)
    best = infer(problem, objective="adversarial", start="random", restarts=20, num_steps=50, keep="best")
    assert (loss(best)[:, 0] > loss(start)[:, 0]).all()
    # The loss is convex in few places; no label set is worse than what the search finds.
    assert (loss(best)[:, 0] >= loss(all_sets(4).expand(2, -1, -1)).amax(dim=1) - 0.05).all()


def test_an_energy_that_is_sure_of_everything():
    """Where all energies are low, the candidate that shows it has a score of 0."""
    gold = [[1, 0, 1]]
    problem = problem_of(lambda outputs: -3 + 0 * outputs.sum(dim=-1), gold=gold)
    found = infer(problem, objective="adversarial", start="half")
    assert SoftF1()(problem.output_space, found, problem.gold).item() == 0


# What is kept.


def test_best_looks_at_the_last_iterate_and_the_first():
    problem = problem_of(bowl(1, 0, 1))
    best = infer(problem, start="half", num_steps=1, keep="best")
    assert best.tolist() == [[[0.75, 0.25, 0.75]]]
    # Steps that overshoot: the start was better.
    steep = problem_of(lambda outputs: 10 * bowl(0.4, 0.4, 0.4)(outputs))
    assert infer(steep, start="half", num_steps=5, keep="best").tolist() == [[[0.5] * 3]]
    assert infer(steep, start="half", num_steps=5).tolist() != [[[0.5] * 3]]


def test_best_is_the_least_of_the_trajectory():
    net, features = random_loss_net(5)
    problem = problem_of(lambda outputs: net(features, outputs), num_labels=5, batch=2)
    found = {}
    for keep in ("last", "best", "trajectory"):
        torch.manual_seed(3)
        found[keep] = infer(problem, start="random", restarts=3, num_steps=7, step_size=0.7, keep=keep)
    assert [found[keep].shape[1] for keep in ("last", "best", "trajectory")] == [3, 1, 24]
    assert torch.equal(found["trajectory"][:, -3:], found["last"])
    energy = net(features, found["trajectory"])
    assert torch.equal(found["best"][:, 0], found["trajectory"][torch.arange(2), energy.argmin(dim=1)])


@pytest.mark.parametrize("keep", ["last", "best", "trajectory"])
@pytest.mark.parametrize("space", ["clip", "logit"])
def test_an_instance_without_a_finite_energy_has_no_candidate(space, keep):
    """The second of three rows, whose gradient is finite as well as not."""
    bad = torch.tensor([[0.0], [float("nan")], [0.0]], dtype=torch.double)
    for added in (lambda y: bad, lambda y: bad * y[..., 0]):
        problem = problem_of(lambda y: bowl(1, 0, 1)(y) + added(y), batch=3)
        found = GradientBasedInference(keep=keep, space=space, start="half", num_steps=3)(problem).outputs
        assert found[1].isnan().all() and found[[0, 2]].isfinite().all()


def test_trajectory_starts_with_the_start():
    torch.manual_seed(2)
    net, features = random_loss_net(4)
    problem = problem_of(lambda outputs: net(features, outputs), num_labels=4, batch=2)
    for space in ("clip", "logit"):
        settings = {"space": space, "start": "half", "step_size": 0.02}
        found = infer(problem, keep="trajectory", num_steps=3, **settings)
        assert found.shape == (2, 4, 4) and (found[:, 0] == 0.5).all()
        for step in (1, 2, 3):
            assert torch.equal(found[:, step : step + 1], infer(problem, num_steps=step, **settings))
            # Each iterate is a place of its own.
            assert ((found[:, step] - found[:, step - 1]).abs().amax(dim=-1) > 0).all()
