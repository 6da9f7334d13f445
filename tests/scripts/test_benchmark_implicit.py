"""scripts/benchmark.py --suite implicit: that it times what it says, and a run with the smallest settings."""

import pytest
import torch

from scripts.measure import bench_implicit as bench
from scripts.measure import bench_implicit_parts as parts
from scripts.measure.bench_timing import train_epoch
from tests.scripts.benchmarks import steps_of, table_of


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few inputs, so that a step takes no time."""
    monkeypatch.setattr(parts, "FEATURES", 40)
    monkeypatch.setattr(parts, "LABELS", 12)


@pytest.mark.parametrize("variant", parts.VARIANTS)
def test_timed_steps_are_updates_that_change_nothing(variant):
    trainer = parts.build_trainer(variant, parts.random_batches(2))
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    seconds = []
    bench._measured_epoch(trainer, seconds)()
    # One update a batch of each net.
    assert all(steps == {2.0} for steps in steps_of(trainer).values())
    for name, value in trainer.model.state_dict().items():
        assert torch.equal(value, before[name])
    solves = variant.startswith("implicit") or ("explicit" not in variant and "alternating" not in variant)
    assert len(seconds) == 1 and (seconds[0] > 0) == solves


@pytest.mark.parametrize(
    "variant, products", [("cd_neumann_0", 1), ("cd_neumann_1", 1), ("cd_neumann_5", 5), ("cd_neumann_10", 10),
                          ("cd_neumann_5_residual", 6), ("cd_diagonal_5", 5), ("cd_nystroem_5", 5)],
)  # fmt: skip
def test_a_step_takes_as_many_products_as_its_name_says(variant, products):
    trainer = parts.build_trainer(variant, parts.random_batches(1))
    counted = []
    solve = trainer.implicit.settings.solver.solve

    def count(curvature, rhs):
        found = solve(curvature, rhs)
        counted.append(found.products)
        return found

    trainer.implicit.settings.solver.solve = count
    train_epoch(trainer)
    assert counted == [products]


def test_the_solvers_solve_the_same_problem(capsys):
    problem = parts.LinearProblem(parts.random_batches(1)[0])
    # With many steps, and damping against what is not convex.
    settings = {"max_steps": 300, "damping": 10.0}
    norm = torch.linalg.vector_norm
    for kind in ("neumann", "conjugate_gradient"):
        found = problem.ours(kind, **settings)()
        image = problem.curvature.product(found) + 10.0 * found
        assert norm(image - problem.rhs) < 1e-2 * norm(problem.rhs), kind
        assert norm(problem.curvature.product(found)) > 0.01 * norm(problem.rhs)
    gradients = problem.curvature.example_gradients()
    # Their mean is the batch's, of which the products were made.
    assert gradients.shape == (32, len(problem.rhs))
    for name, solve in problem.solvers().items():
        assert solve().shape == problem.rhs.shape, name
    assert "is not installed, so its solvers are not measured." in capsys.readouterr().out


def test_a_small_benchmark(tmp_path, monkeypatch, capsys):
    # Memory is measured in a process of its own, where nothing is small.
    monkeypatch.setattr(bench, "in_own_process", lambda *arguments: {"peak": 300.0, "added": 20.0})
    table = table_of(tmp_path, "implicit", "--methods", "cd_neumann_2", "--batches", "1")
    assert set(table["case"]) == {"step", "solver, 5 products", "memory"}
    step = table[(table["case"] == "step")].set_index(["method", "metric"])
    assert step.loc[("alternating_margin", "cpu_seconds"), "ratio"] == 1
    assert step.loc[("alternating_margin", "solver_seconds"), "value"] == 0
    whole = step.loc[("cd_neumann_2", "seconds"), "value"]
    assert 0 < step.loc[("cd_neumann_2", "solver_seconds"), "value"] < whole
    solvers = table[table["case"].str.startswith("solver") & (table["metric"] == "seconds")]
    assert {"neumann", "conjugate_gradient", "sherman_morrison"} <= set(solvers["method"])
    assert (solvers["value"] > 0).all()
    assert "implicit, data random, batches of 32 rows, 40 features, 12 labels" in capsys.readouterr().out


def test_what_is_installed():
    """Not a package of the name alone: there is another `hypergrad`."""
    assert parts.is_installed("torch.nn")
    assert not parts.is_installed("torch.CG_torch") and not parts.is_installed("no_such_package.CG_torch")
