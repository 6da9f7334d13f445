"""What peers compute is what ours does; the libraries are those of requirements-measure.txt."""

import pytest
import torch

torch_struct = pytest.importorskip("torch_struct", reason="torch-struct is in requirements-measure.txt alone")
pytest.importorskip("torchcrf", reason="pytorch-crf is in requirements-measure.txt alone")
pytest.importorskip("TorchCRF", reason="TorchCRF is in requirements-measure.txt alone")

from scripts.measure import bench_peers  # noqa: E402


def test_all_have_the_same_values():
    works = bench_peers._works(3, 6, 4)
    found = {name: case() for name, case in works["best sequence"].items()}
    ours = found["seal"].tolist()
    assert found["pytorch-crf"] == found["TorchCRF"] == ours and [tags for tags, _ in found["AllenNLP"]] == ours
    struct = torch_struct.LinearChainCRF.struct().from_parts(found["torch-struct"].detach())[0]
    assert struct.tolist() == ours
    marginals = works["marginals"]
    theirs = marginals["torch-struct"]()
    expected = marginals["seal"]().squeeze(1)
    torch.testing.assert_close(theirs.sum(dim=3), expected[:, 1:], atol=1e-4, rtol=0)
    for library in ("pytorch-crf", "TorchCRF", "AllenNLP"):
        torch.testing.assert_close(marginals[library](), expected, atol=1e-4, rtol=0)
    k_best, _ = works["5 best sequences"]["seal"]()
    others = works["5 best sequences"]["AllenNLP"]()
    assert [[tags for tags, _ in row] for row in others] == k_best.tolist()


def test_a_case_of_the_benchmark(monkeypatch):
    monkeypatch.setattr(bench_peers, "CELLS", ((2, 5, 3),))
    rows = bench_peers.peers(repeats=1)
    assert {row.case for row in rows} == {
        f"{what}, 2x5x3" for what in ("loss and gradient", "best sequence", "5 best sequences", "marginals")
    }
