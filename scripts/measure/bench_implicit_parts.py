"""Steps and linear problems of the benchmark of implicit gradients."""

import importlib.util
from collections.abc import Callable
from typing import Any

import torch
from allennlp.common import Params
from allennlp.data import TensorDict

from scripts.measure import bench_multilabel_parts as parts
from seal.hypergradients import Curvature, InverseHessianVector, ParameterLayout
from seal.hypergradients.products import loss_products
from seal.two_player import TASK_NET

# The nets and sizes of bibtex with random data: the time of a step does not depend on what the data mean.
DATASET = "bibtex"
FEATURES, LABELS = 1836, 159
STEPS = 5
DAMPING = 0.1


def solver(kind: str, max_steps: int = STEPS, **settings: Any) -> dict[str, Any]:
    """The config of a solver, without the further product that measuring its residual takes."""
    return {
        "type": kind,
        "max_steps": max_steps,
        "damping": DAMPING,
        "measure_residual": False,
        **settings,
    }


def with_solver(kind: str, *settings: Any, **more: Any) -> dict[str, Any]:
    return {"solver": solver(kind, *settings, **more)}


# By name: the method of `training_configs/lib`, and what is changed in its trainer; None removes a key.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "alternating_margin": ("margin", {}),
    "alternating_ssvm": ("alternating_ssvm", {}),
    "alternating_cd": ("alternating_cd", {}),
    "implicit_ssvm": ("implicit_ssvm", with_solver("neumann")),
    "cd_explicit": ("implicit_cd", {"implicit": False}),
    "cd_neumann_0": ("implicit_cd", with_solver("neumann", 0)),
    "cd_neumann_1": ("implicit_cd", with_solver("neumann", 1)),
    "cd_neumann_2": ("implicit_cd", with_solver("neumann", 2)),
    "cd_neumann_5": ("implicit_cd", with_solver("neumann")),
    "cd_neumann_10": ("implicit_cd", with_solver("neumann", 10)),
    "cd_neumann_5_residual": ("implicit_cd", with_solver("neumann", measure_residual=True)),
    "cd_neumann_5_differences": (
        "implicit_cd",
        {**with_solver("neumann"), "products": "finite_differences"},
    ),
    # With a tolerance of 0, all steps are taken.
    "cd_conjugate_gradient_5": ("implicit_cd", with_solver("conjugate_gradient", tolerance=0.0)),
    "cd_diagonal_5": ("implicit_cd", with_solver("diagonal")),
    "cd_nystroem_5": ("implicit_cd", with_solver("nystroem")),
}
BASELINE = "alternating_margin"


def build_trainer(variant: str, batches: list[TensorDict]) -> Any:
    """The trainer of a variant with learning rates of 0: updates take their usual time and change nothing."""
    method, changes = VARIANTS[variant]
    still = {"task_net_lr": 0.0, "loss_net_lr": 0.0}
    return parts.build_trainer(DATASET, method, batches, trainer_changes=changes, **{**parts.ONE_STEP, **still})


def random_batches(count: int) -> list[TensorDict]:
    return parts.random_batches(count, parts.BATCH_SIZE, FEATURES, LABELS)


class LinearProblem:
    """`(H + damping I) q = v` with the Hessian of a task-net's loss on a batch, and a random `v`."""

    def __init__(self, batch: TensorDict) -> None:
        trainer = build_trainer("cd_neumann_5", [batch])
        model, inner = trainer.model, trainer.implicit.parameters_of(TASK_NET)
        layout = ParameterLayout(inner)
        products = loss_products(lambda: model.joint_loss(batch), layout)
        generator = torch.Generator().manual_seed(0)
        self.rhs = torch.randn(layout.size, generator=generator).to(layout.device)

        def example_gradients() -> torch.Tensor:
            rows = []
            for row in range(len(batch["labels"])):
                loss = model.joint_loss({name: value[row : row + 1] for name, value in batch.items()})
                rows.append(layout.flatten(torch.autograd.grad(loss, layout.tensors, allow_unused=True)))
            return torch.stack(rows)

        self.curvature = Curvature(products.hessian, layout.size, layout.dtype, layout.device, example_gradients)

    def damped(self, vector: torch.Tensor) -> torch.Tensor:
        return self.curvature.product(vector).add(vector, alpha=DAMPING)

    def ours(self, kind: str, **settings: Any) -> Callable[[], torch.Tensor]:
        found = InverseHessianVector.from_params(Params(solver(kind, **settings)))
        return lambda: found.solve(self.curvature, self.rhs).solution

    def solvers(self) -> dict[str, Callable[[], torch.Tensor]]:
        """
        Functions that solve the system, by name: our solvers, with `STEPS` products each except Sherman and Morrison's,
        and those of other libraries if these are installed.
        """
        cases = {
            "neumann": self.ours("neumann"),
            "conjugate_gradient": self.ours("conjugate_gradient", tolerance=0.0),
            "diagonal": self.ours("diagonal"),
            "nystroem": self.ours("nystroem"),
            "sherman_morrison": self.ours("sherman_morrison", max_steps=1024),
        }
        for library, module, add in (
            ("TorchOpt", "torchopt", self._torchopt),
            # There are other packages called `hypertorch` and `hypergrad`, but only this one has the module.
            ("hypertorch", "hypergrad.CG_torch", self._hypertorch),
        ):
            if is_installed(module):
                cases.update(add())
            else:
                print(f"{library} is not installed, so its solvers are not measured.")
        return cases

    def _torchopt(self) -> dict[str, Callable[[], torch.Tensor]]:
        from torchopt import linear_solve

        step = 1 / (1.1 * self._largest())
        gradients = linear_solve.solve_cg(maxiter=STEPS, rtol=0.0, atol=0.0)
        series = linear_solve.solve_inv(ns=True, maxiter=STEPS, alpha=step)
        return {
            "conjugate_gradient of TorchOpt": lambda: gradients(self.damped, self.rhs),
            "neumann of TorchOpt, step given": lambda: series(self.damped, self.rhs),
        }

    def _hypertorch(self) -> dict[str, Callable[[], torch.Tensor]]:
        from hypergrad import CG_torch

        def solve() -> torch.Tensor:
            (found,) = CG_torch.cg(lambda x: [self.damped(x[0])], [self.rhs], max_iter=STEPS, epsilon=0.0)
            return found

        return {"conjugate_gradient of hypertorch": solve}

    def _largest(self) -> float:
        found = InverseHessianVector.from_params(Params(solver("neumann", 10))).solve(self.curvature, self.rhs)
        return max(map(abs, found.curvature)) + DAMPING


def is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # The package that should contain the module is missing.
        return False
