import ast
from pathlib import Path

import torch

import seal.hypergradients
from seal.hypergradients import Curvature


def test_of_a_matrix():
    curvature = Curvature.of_matrix(torch.tensor([[1.0, 2.0], [2.0, 5.0]], dtype=torch.double))
    assert curvature.product(torch.tensor([1.0, -1.0]).double()).tolist() == [-1, -3]
    assert curvature.size == 2 and curvature.dtype == torch.double


def test_draws():
    torch.manual_seed(0)
    curvature = Curvature.of_matrix(torch.eye(20000))
    signs = curvature.signs()
    assert set(signs.tolist()) == {-1, 1} and signs.shape == (20000,) and abs(signs.mean()) < 0.03
    assert curvature.normal(3).shape == (3, 20000) and abs(curvature.normal(3).std() - 1) < 0.02
    torch.manual_seed(0)
    assert torch.equal(curvature.signs(), signs)


def test_nothing_of_the_floors_above_is_imported():
    for path in Path(seal.hypergradients.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                allowed = name.startswith(("seal.hypergradients.", "seal.common.", "seal.registry"))
                assert allowed or not name.startswith("seal"), (path.name, name)
